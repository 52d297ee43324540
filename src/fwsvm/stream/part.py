"""A block of a source that takes part in a fit: what is kept of its rows between two looks.

Of each row that is the number of its class, and for each binary problem at hand how far w may go
in all before the row can have slack: margin - |z| (moved - then) >= 1 as long as
moved <= then + (margin - 1) / |z|. Some random rows are kept themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..dual import DualProblem, Floats, Ints
from ..rows import Rows
from ..shards.messages import Binary, Sighting
from ..solvers.scan import Level, random_numbers


@dataclass
class Piece:
    """Some rows of a block, with their classes and weights."""

    rows: Rows
    labels: Ints
    weights: Floats  # of rows and their classes together

    def problem(self, binary: Binary, n_jobs: int | None) -> DualProblem:
        return binary.dual(self.rows, self.labels, self.weights, n_jobs)


@dataclass
class StreamedPart:
    """What is known of a block."""

    number: int
    first: int  # number of its first row in the source
    labels: NDArray[Any]  # numbers of classes, in the smallest integers
    kept: Ints  # numbers of the rows in the block that are kept
    rows: Any  # these rows: as they were given, and `Rows` once all have been read
    weights: Floats
    safe: dict[int, NDArray[np.float32]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Of what would not be there if no rows were kept."""
        rows = self.rows
        parts = (rows.data, rows.indices, rows.indptr) if issparse(rows) else (rows,)
        return sum(int(part.nbytes) for part in (*parts, self.weights, self.kept))

    def trim(self, stays: NDArray[np.bool_]) -> None:
        """Keeps some of the kept rows."""
        if isinstance(self.rows, Rows):
            self.rows = self.rows.take(np.flatnonzero(stays)).compact()
        else:
            self.rows = self.rows[stays]
        self.weights, self.kept = self.weights[stays], self.kept[stays]

    def keep_examples(self) -> None:
        """One of each class."""
        _, first = np.unique(self.labels[self.kept], return_index=True)
        if len(first) < len(self.kept):
            self.trim(np.isin(np.arange(len(self.kept)), first))

    def chosen(self, problem: Binary) -> Ints:
        """The numbers in the block of the rows of a binary problem."""
        return problem.chosen(self.labels)

    def size(self, problem: Binary) -> int:
        return len(self.chosen(problem))

    def wanted(
        self, problem: Binary, seed: int, level: Level | None, moved: float, inside: Ints
    ) -> Ints:
        """The rows of a level, or all that may have slack, but for those in the core set."""
        if level is None:
            among = ~(self.safe_until(problem) >= np.float64(moved))
        else:
            numbers = random_numbers(seed, self.first, len(self.labels))[self.chosen(problem)]
            among = (numbers >= level.low) & (numbers < level.high)
        among[inside] = False
        return np.flatnonzero(among)

    def safe_until(self, problem: Binary) -> NDArray[np.float32]:
        if problem.number not in self.safe:
            size = self.size(problem)
            self.safe[problem.number] = np.full(size, -np.inf, dtype=np.float32)
        return self.safe[problem.number]

    def remember(self, problem: Binary, rows: Ints, until: Floats) -> None:
        """How far w may go; roundings make it less."""
        with np.errstate(over="ignore"):
            down = np.nextafter(until.astype(np.float32), np.float32(-np.inf))
        self.safe_until(problem)[rows] = down


def safe_until(margins: Floats, length2: Floats, moved: float) -> Floats:
    """Of rows whose margins are those of a w that had gone so far; length2 is |z|^2."""
    with np.errstate(divide="ignore", invalid="ignore"):
        until: Floats = moved + (margins - 1.0) / np.sqrt(length2)
    return np.where(np.isnan(until), -np.inf, until)


def nothing(form: Rows) -> Sighting:
    """Seen where no row may have slack."""
    none, rows = np.empty(0), np.empty(0, dtype=np.int64)
    return Sighting(rows, none, 0.0, 0, form, np.empty(0, dtype=bool), none, none, 0, 0.0)
