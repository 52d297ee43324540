"""A block of the training rows where it is kept, and what it answers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from .. import _native
from ..dual import Floats, Ints
from ..rows import Rows
from ..solvers.core_set import Point
from ..solvers.scan import CheckTime, Scan, Seen
from .messages import Binary, Extent, Gathered, News, Sighting


@dataclass(frozen=True)
class Block:
    """The rows of positive weight of a block, as they were given."""

    rows: Rows
    targets: NDArray[Any]
    weights: Floats
    present: Ints  # their numbers in the block
    n_given: int

    @classmethod
    def checked(cls, X: Any, y: Any, sample_weight: Any) -> Block:
        """From a block of X, y and the weights, which may be None."""
        rows, targets = Rows(_as_array(X), storage="auto"), np.asarray(y)
        if targets.shape not in ((len(rows),), (len(rows), 1)):
            raise ValueError(
                "The blocks of y must be as long as those of X and have one column. Got a block "
                f"of {len(rows)} rows with targets of shape {targets.shape}."
            )
        if sample_weight is not None and np.shape(sample_weight) != (len(rows),):
            raise ValueError(
                "The blocks of sample_weight must be as long as those of X. Got a block of "
                f"{len(rows)} rows with weights of shape {np.shape(sample_weight)}."
            )
        weights = np.full(len(rows), 1.0 if sample_weight is None else 0.0)
        # scikit-learn refuses weights that are all zero; a block may have them.
        if np.any(sample_weight):
            weights = _check_sample_weight(
                np.asarray(sample_weight), rows, dtype=np.float64, ensure_non_negative=True
            )
        present = np.flatnonzero(weights > 0)
        if len(present) < len(rows):
            rows = rows.take(present).compact()
        targets = targets.reshape(-1)[present]
        return cls(rows, targets, weights[present], present, len(weights))


def _as_array(X: Any) -> Any:
    return X.to_numpy() if hasattr(X, "to_numpy") else X


class Summary(NamedTuple):
    """What has to be known of all blocks before they become parts."""

    n_given: int
    n_present: int
    n_features: int
    dtype: Any
    classes: NDArray[Any]
    counts: Ints  # rows of each of these classes
    weights: Floats  # and the sum of their weights
    moments: tuple[Floats, Floats] | None  # means of the features and of their squares
    sample: Rows


def survey(block: Block, wants_moments: bool, most_sampled: int) -> Summary:
    """Of a block; the sample is so many rows at most."""
    rows = block.rows
    classes, labels = np.unique(block.targets, return_inverse=True)
    weights = np.bincount(labels, block.weights, minlength=len(classes)).astype(np.float64)
    moments = rows.feature_moments(block.weights) if wants_moments and len(rows) else None
    step = max(1, -(-len(rows) // most_sampled))
    sample = rows.take(np.arange(0, len(rows), step)).compact()
    return Summary(
        block.n_given,
        len(rows),
        rows.shape[1],
        rows.dtype,
        classes,
        np.bincount(labels, minlength=len(classes)).astype(np.int64),
        weights,
        moments,
        sample,
    )


@dataclass
class Part:
    """A block that takes part in a fit, and its share of each binary problem."""

    number: int
    rows: Rows
    labels: Ints  # numbers of classes
    weights: Floats  # of rows and their classes together
    numbers: Ints  # in X
    n_jobs: int | None = None
    shares: dict[int, Share] = field(default_factory=dict)

    @classmethod
    def of(
        cls, block: Block, number: int, first: int, form: Rows, classes: Any, weights: Floats
    ) -> Part:
        """Of the block whose first row has a number in X, in the storage of all."""
        labels = np.searchsorted(classes, block.targets)
        rows = block.rows.formed_like(form)
        return cls(number, rows, labels, block.weights * weights[labels], first + block.present)

    def share(self, problem: Binary) -> Share:
        """Made when it is first asked for, also where the part had to be made anew."""
        if problem.number not in self.shares:
            self.shares[problem.number] = Share(self, problem)
        return self.shares[problem.number]

    def __sizeof__(self) -> int:
        return self.rows.nbytes + self.labels.nbytes + self.weights.nbytes + self.numbers.nbytes

    # ------------------------------------------------------------------------------------ answers

    def extent(self, problem: Binary) -> Extent:
        return self.share(problem).extent()

    def look(self, news: News) -> Sighting:
        return self.share(news.problem).look(news)

    def penalty(self, news: News) -> float:
        return self.share(news.problem).penalty(news)

    def recall(self, problem: Binary, first: Ints, numbers: Ints) -> Sighting:
        """Those of the rows of all shares that are here, as if they had just been found."""
        rows = numbers[self._here(first, numbers)] - first[self.number]
        seen, dual = Seen(rows, np.zeros(len(rows)), 0.0, 0), self.share(problem).merged.problem
        return Sighting.of(seen, rows, dual, rows[:0])

    def split(
        self, problem: Binary, first: Ints, numbers: Ints, weights: Floats
    ) -> tuple[Ints, Floats]:
        """A point's rows that are here as numbers in X, equal ones apart, and their weights."""
        share = self.share(problem)
        here = self._here(first, numbers)
        rows = numbers[here] - first[self.number]
        found, parts = share.merged.split(rows, weights[here])
        return self.numbers[share.chosen[found]], parts

    def fetch(self, numbers: Ints) -> tuple[Ints, Ints, Rows]:
        """Those of these rows of X that are here: numbers, classes and data."""
        here, places, _ = np.intersect1d(self.numbers, numbers, return_indices=True)
        return here, self.labels[places], self.rows.take(places).compact()

    def forget(self, problem: Binary) -> None:
        self.shares.pop(problem.number, None)

    def _here(self, first: Ints, numbers: Ints) -> NDArray[np.bool_]:
        """Which of the numbered rows of all shares are in this part's."""
        return np.asarray((first[self.number] <= numbers) & (numbers < first[self.number + 1]))


class Share:
    """A part's rows of one binary problem, and what is known of their margins."""

    def __init__(self, part: Part, problem: Binary) -> None:
        self.part = part
        self.chosen = chosen = problem.chosen(part.labels)
        rows = part.rows if len(chosen) == len(part.labels) else part.rows.take(chosen)
        whole = problem.dual(rows, part.labels[chosen], part.weights[chosen], part.n_jobs)
        self.merged = whole.merged()
        self.scan = Scan(self.merged.problem, problem.seed)
        self.gathered = Gathered(rows.form(), *np.empty((2, 0), dtype=np.int64))

    def extent(self) -> Extent:
        problem = self.merged.problem
        places = {int(problem.signs.argmin()), int(problem.signs.argmax())} if problem.size else ()
        examples = [
            (i, problem.signs[i], problem.ridge[i], problem.rows.take([i]).compact())
            for i in places
        ]
        return Extent(problem.size, problem.delta2, examples)

    def look(self, news: News) -> Sighting:
        work = self.merged.problem.work
        evaluations, began = work.evaluations, time.perf_counter()
        own, inside = self._own(news)
        self._remember(news, own)
        with deadline(news.seconds) as check_time:
            seen = self.scan.look(self._point(news), inside, news.level, check_time)
        spent = work.evaluations - evaluations, time.perf_counter() - began
        return Sighting.of(seen, seen.rows, self.merged.problem, own, *spent)

    def penalty(self, news: News) -> float:
        own, inside = self._own(news)
        self._remember(news, own)
        return self.scan.penalty(self._point(news), inside)

    def _own(self, news: News) -> tuple[Ints, Ints]:
        """For all gathered rows their numbers here, or -1; and those that are in the core set."""
        self.scan.first = int(news.first[self.part.number])
        own = np.where(self.gathered.part == self.part.number, self.gathered.row, -1)
        inside = own[news.inside]
        return own, inside[inside >= 0]

    def _remember(self, news: News, own: Ints) -> None:
        for places, margins, moved in news.left:
            here = own[places] >= 0
            self.scan.remember(own[places[here]], margins[here], moved)

    def _point(self, news: News) -> Point:
        support = self.gathered.rows.beside(self.part.rows).take(news.support)
        return Point(support, news.coefficients, news.moved, news.rounding, news.dtype)


@contextmanager
def deadline(seconds: float | None) -> Iterator[CheckTime]:
    """Ends calls of the engine in this thread after some seconds, and what asks for the time."""
    ends = None if seconds is None else time.perf_counter() + seconds

    def check_time() -> float | None:
        left = None if ends is None else ends - time.perf_counter()
        if left is not None and left <= 0.0:
            raise _native.OutOfTimeError
        return left

    _native.set_deadline(seconds)
    try:
        yield check_time
    finally:
        _native.set_deadline(None)


def answer(parts: Sequence[Part], question: str, arguments: tuple[Any, ...]) -> list[Any] | None:
    """What each of the parts on a worker answers; None where they have missed some news."""
    if isinstance(arguments[0], News) and not _are_told(parts, arguments[0]):
        return None
    return [getattr(part, question)(*arguments) for part in parts]


def _are_told(parts: Sequence[Part], news: News) -> bool:
    """Whether the parts now know all gathered rows: one copy for all of them."""
    shares = [part.share(news.problem) for part in parts]
    gathered = max((share.gathered for share in shares), key=len)
    if len(gathered) < news.begin:
        return False
    if len(gathered) < news.begin + len(news.gathered):
        gathered = gathered.extended(news.begin, news.gathered)
    for share in shares:
        share.gathered = gathered
    return True
