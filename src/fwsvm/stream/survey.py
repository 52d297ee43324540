"""The first pass over a source: what it is like, and random rows that stay in memory.

They are those of the smallest random numbers, and so the rows of the first levels of the solver:
levels up to their number need no pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .. import parameters, shards
from ..dual import Floats, Ints
from ..kernels import Kernel
from ..rows import Rows
from ..shards import Summary
from ..shards.messages import NO_CLASS
from ..solvers.scan import random_numbers
from .part import Piece, StreamedPart
from .passes import Passes
from .source import (
    BLOCKS_AT_ONCE,
    BYTES_OF_BLOCK,
    MEGABYTE,
    Block,
    Source,
    changed,
    located,
    too_small,
)

FOR_PYTHON = 300 * MEGABYTE  # the interpreter and its libraries
BYTES_OF_ROW = 8  # that stay of every row: class, and how long it is safe
LEAST_ROOM = 32 * MEGABYTE  # for rows
PART_KEPT = 0.5  # of the room for rows; the others are for those that matter to the solution
SLIGHTLY_MORE = 1.001  # than a power of 2: a level has a row more or less


@dataclass(frozen=True)
class Surveyed:
    """What the driver knows of the training set."""

    passes: Passes
    kernel: Kernel
    counts: Ints  # rows of positive weight of each class


class Survey:
    """Reads all rows once."""

    def __init__(self, source: Source, cache_size: float, wants_moments: bool, seed: int) -> None:
        self.source, self.seed, self.wants_moments = source, seed, wants_moments
        self.room = _room(source.settings.memory_limit, cache_size)
        self.parts: list[StreamedPart] = []
        self.summaries: list[Summary] = []
        self.n_rows = 0
        self._bound = 2.0  # on the random numbers of kept rows
        self._first_of_class: dict[Any, tuple[int, int]] = {}

    def read(self) -> None:
        for number, block in self.source.blocks(count()):
            with located(self.source, number):
                self._add(number, block)
            self._trim()
        if not sum(s.n_present for s in self.summaries):
            raise ValueError(
                "Invalid input: "
                + ("all rows have zero weights." if self.n_rows else "the source has no rows.")
            )

    def _add(self, number: int, block: Block) -> None:
        checked = shards.Block.checked(block.X, block.y, block.weight)
        summary = shards.survey(checked, self.wants_moments, 1)
        codes = np.searchsorted(summary.classes, checked.targets)
        labels = np.full(checked.n_given, NO_CLASS, dtype=_smallest(len(summary.classes)))
        labels[checked.present] = codes
        keeps = random_numbers(self.seed, self.n_rows, checked.n_given) < self._bound
        for place, name in enumerate(summary.classes.tolist()):
            if name not in self._first_of_class:
                row = int(checked.present[np.argmax(codes == place)])
                self._first_of_class[name] = number, row
                keeps[row] = True
        kept = np.flatnonzero(keeps & (labels != NO_CLASS))
        weights = checked.weights[np.searchsorted(checked.present, kept)]
        self.summaries.append(summary)
        self.parts.append(StreamedPart(number, self.n_rows, labels, kept, block.X[kept], weights))
        self.n_rows += checked.n_given

    def _trim(self) -> None:
        """Half of the kept rows go, until the others fit."""
        for_rows = self.room - BYTES_OF_ROW * self.n_rows
        if for_rows < LEAST_ROOM / 2:
            raise too_small(
                self.source, f"for what has to be known of its {self.n_rows:,} rows so far"
            )
        while sum(part.nbytes for part in self.parts) > PART_KEPT * for_rows:
            if self._bound < 1.0 / self.n_rows:
                return  # the first rows of each class
            self._bound = min(SLIGHTLY_MORE, self._bound) / 2
            for part in self.parts:
                numbers = random_numbers(self.seed, part.first, len(part.labels))[part.kept]
                part.trim((numbers < self._bound) | self._is_first_of_class(part))

    def _is_first_of_class(self, part: StreamedPart) -> NDArray[np.bool_]:
        rows = [row for number, row in self._first_of_class.values() if number == part.number]
        return np.isin(part.kept, rows)

    # ---------------------------------------------------------------------- when all is read

    def finish(self, model: Any, n_jobs: int | None) -> Surveyed:
        """Sets what the model knows of its data; classes and rows get the form of all."""
        known = self._of_one_width()
        present = [s for s in known if s.n_present]
        counts, factors = shards.set_classes(model, present)
        model.n_features_in_ = shards.common_width(present)
        model.shape_fit_ = self.n_rows, model.n_features_in_
        if self.source.feature_names is None:
            vars(model).pop("feature_names_in_", None)
        else:
            model.feature_names_in_ = np.asarray(self.source.feature_names, dtype=object)
        kernel = model._kernel = parameters.kernel_of(model, shards.Moments(present), np.empty(0))
        form = shards.common_form(self._samples(), kernel)
        kind = _smallest(len(model.classes_))
        for part, summary in zip(self.parts, known, strict=True):
            names = np.append(np.searchsorted(model.classes_, summary.classes), NO_CLASS)
            part.labels = names[part.labels].astype(kind)  # NO_CLASS is the last
            part.rows = Rows(part.rows, storage="auto").formed_like(form)
        again = _Again(self.source, self.parts, model.classes_, factors, form)
        room = self.room - BYTES_OF_ROW * self.n_rows
        passes = Passes(self.source, self.parts, form, factors, again, self.seed, n_jobs, room)
        return Surveyed(passes, kernel, counts)

    def _of_one_width(self) -> list[Summary]:
        """Blocks of sparse text are as wide as what they hold."""
        widths = [s.n_features for s in self.summaries if s.n_present]
        if self.source.n_features is not None:
            return self.summaries
        width = self.source.n_features = max(widths)
        for part in self.parts:
            part.rows = widened(part.rows, width)
        return [_wide(summary, width) for summary in self.summaries]

    def _samples(self) -> list[Summary]:
        """Some of the rows that are kept."""
        step = -(-sum(len(part.kept) for part in self.parts) // shards.ROWS_SAMPLED)
        return [
            summary._replace(sample=Rows(part.rows[::step]))
            for part, summary in zip(self.parts, self.summaries, strict=True)
            if len(part.kept)
        ]


@dataclass(frozen=True)
class _Again:
    """Makes a block that is read again what it was."""

    source: Source
    parts: list[StreamedPart]
    classes: NDArray[Any]
    factors: Floats
    form: Rows

    def __call__(self, number: int, block: Block) -> Piece:
        with located(self.source, number):
            part = self.parts[number]
            labels = part.labels.astype(np.int64)
            has_class = labels != NO_CLASS
            targets = np.asarray(block.y).reshape(-1)
            if len(targets) != len(labels) or not np.array_equal(
                self.classes[labels[has_class]], targets[has_class]
            ):
                raise changed(self.source.name_of(number))
            rows = Rows(widened(block.X, self.form.shape[1])).formed_like(self.form)
            weights = np.ones(len(labels)) if block.weight is None else np.asarray(block.weight)
            return Piece(rows, labels, weights * self.factors[labels])


def _room(limit: int, cache_size: float) -> float:
    """For rows, beside everything else."""
    fixed = FOR_PYTHON + BLOCKS_AT_ONCE * BYTES_OF_BLOCK + cache_size * MEGABYTE
    if limit < fixed + LEAST_ROOM:
        raise ValueError(
            f"memory_limit must be at least {(fixed + LEAST_ROOM) / 1e6:,.0f} MB: "
            f"{FOR_PYTHON / 1e6:.0f} for Python and its libraries, "
            f"{BLOCKS_AT_ONCE * BYTES_OF_BLOCK / 1e6:.0f} for blocks on their way, "
            f"{cache_size * MEGABYTE / 1e6:.0f} for cache_size, {LEAST_ROOM / 1e6:.0f} for rows. "
            f"Got {limit / 1e6:,.0f} MB."
        )
    return limit - fixed


def _smallest(n_classes: int) -> Any:
    return next(t for t in (np.int8, np.int16, np.int32) if n_classes <= np.iinfo(t).max)


def widened(X: Any, width: int) -> Any:
    """CSR or an array with columns of zeros up to a width."""
    if X.shape[1] >= width:
        return X
    if scipy.sparse.issparse(X):
        return scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
    return np.pad(X, ((0, 0), (0, width - X.shape[1])))


def _wide(summary: Summary, width: int) -> Summary:
    missing = width - summary.n_features
    moments = summary.moments
    if moments is not None:
        moments = np.pad(moments[0], (0, missing)), np.pad(moments[1], (0, missing))
    return summary._replace(n_features=width, moments=moments)
