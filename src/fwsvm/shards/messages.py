"""What the driver and the parts tell each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..dual import Floats, Ints
from ..kernels import Kernel
from ..rows import Rows
from ..solvers.scan import Level


@dataclass(frozen=True)
class Binary:
    """One of the binary problems of a fit: enough for a part to make its share of it."""

    number: int
    classes: tuple[int, int]  # positive and negative class; -1: all the others
    C: float
    kernel: Kernel
    seed: int


@dataclass(frozen=True)
class Gathered:
    """The rows that ever were in the core set, in the order in which they were found."""

    rows: Rows
    part: Ints  # where each came from
    row: Ints  # and its number there

    def __len__(self) -> int:
        return len(self.part)

    def after(self, begin: int) -> Gathered:
        """Those from a number on."""
        rows = self.rows.take(np.arange(begin, len(self))).compact()
        return Gathered(rows, self.part[begin:], self.row[begin:])

    def extended(self, begin: int, others: Gathered) -> Gathered:
        """With others, of which the first is numbered so; some of them may be here already."""
        new = others.after(len(self) - begin)
        part, row = np.append(self.part, new.part), np.append(self.row, new.row)
        return Gathered(self.rows.followed_by(new.rows), part, row)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.part.nbytes + self.row.nbytes


class Left(NamedTuple):
    """Rows that left the core set, with their margins and how far w had certainly gone."""

    places: Ints  # among the gathered rows
    margins: Floats
    moved: float


@dataclass(frozen=True)
class News:
    """Where w is, and which rows are in the core set: places are among the gathered rows."""

    problem: Binary
    first: Ints  # the number of the first row of each part
    begin: int  # so many rows have been told before
    gathered: Gathered  # and these are new
    support: Ints  # places
    coefficients: Floats  # b_i y_i
    inside: Ints  # places
    left: list[Left]
    moved: float
    rounding: float
    dtype: Any
    level: Level | None
    seconds: float | None  # that are left

    @property
    def nbytes(self) -> int:
        """About what it takes to send it."""
        left = sum(part.places.nbytes + part.margins.nbytes for part in self.left)
        arrays = self.first, self.support, self.coefficients, self.inside
        return self.gathered.nbytes + left + sum(array.nbytes for array in arrays)


class Extent(NamedTuple):
    """A part's share of a binary problem."""

    size: int  # rows, equal ones counted once
    delta2: float
    examples: list[tuple[int, float, float, Rows]]  # one of each sign: number, sign, ridge, row


class Sighting(NamedTuple):
    """What a part found."""

    rows: Ints  # with margins below 1 + NEARBY
    margins: Floats
    penalty: float
    n_rows: int  # that were looked at
    data: Rows  # of those that had not been gathered before
    is_new: Any  # which these are
    signs: Floats
    ridge: Floats
    evaluations: int
    seconds: float

    @property
    def nbytes(self) -> int:
        arrays = self.rows, self.margins, self.is_new, self.signs, self.ridge
        return self.data.nbytes + sum(array.nbytes for array in arrays)
