"""The driver's side of one binary problem over shards: the collective of the default solver."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Protocol

import numpy as np

from ..dual import DualProblem, Floats, Ints
from ..rows import Rows
from ..solvers import Result
from ..solvers.collective import Found
from ..solvers.core_set import CoreSet, Mask, Point
from ..solvers.scan import CheckTime, Level
from .messages import Binary, Extent, Gathered, Left, News, Sighting


class Shards(Protocol):
    """The parts, wherever they are."""

    form: Rows  # none, but of the type and storage of all

    def ask(
        self, question: str, *arguments: Any, check_time: CheckTime, among: Sequence[int] | None
    ) -> dict[int, Any]:
        """What the parts (all, or those of some numbers) answer; None where they missed news."""


@dataclass
class Traffic:
    """What a binary problem cost beside its arithmetic."""

    rounds: int = 0
    bytes_sent: int = 0  # to each worker
    bytes_received: int = 0
    seconds: float = 0.0  # from asking to having all answers
    seconds_of_parts: float = 0.0  # in all parts together; a worker has several


class Gathering:
    """The rows of a binary problem: those gathered so far are at hand, the others are in parts."""

    def __init__(
        self,
        shards: Shards,
        problem: Binary,
        cache_bytes: int,
        n_jobs: int | None,
        check_time: CheckTime,
    ) -> None:
        self.shards, self.binary = shards, problem
        extents = self._in_order(shards.ask("extent", problem, check_time=check_time, among=None))
        self.first = np.array([0, *accumulate(extent.size for extent in extents)])
        self.size = int(self.first[-1])
        self.problem = self._first_problem(extents, cache_bytes, n_jobs)
        self.traffic = Traffic()
        self.seconds_of_a_value = 1e-9
        self.level = 0.0  # that has been looked at
        self.at_round: Callable[[CoreSet], None] = lambda core: None
        self._told = 0  # so many of the gathered rows
        self._left: list[Left] = []

    @staticmethod
    def _in_order(answers: dict[int, Any]) -> list[Any]:
        return [answers[number] for number in sorted(answers)]

    def _first_problem(
        self, extents: list[Extent], cache_bytes: int, n_jobs: int | None
    ) -> DualProblem:
        """Of one row of each class."""
        found: dict[float, tuple[int, int, float, Rows]] = {}
        for number, extent in enumerate(extents):
            for row, sign, ridge, data in extent.examples:
                found.setdefault(sign, (number, row, ridge, data))
        parts, rows, ridges, (one, other) = zip(*found.values(), strict=True)
        data = one.beside(self.shards.form).followed_by(other.beside(self.shards.form))
        self.gathered = Gathered(data, np.array(parts), np.array(rows))
        problem = DualProblem(
            data,
            np.array(list(found)),
            np.array(ridges),
            self.binary.kernel,
            cache_bytes,
            n_jobs,
        )
        problem.most_rows = self.size
        problem.delta2 = max(extent.delta2 for extent in extents)
        return problem

    def numbers(self, places: Ints) -> Ints:
        """Of gathered rows, among the rows of all parts."""
        return np.asarray(self.first[self.gathered.part[places]] + self.gathered.row[places])

    def recall(self, numbers: Ints) -> Ints:
        """The places of rows of these numbers, which are gathered again."""
        self._gather(self._in_order(self._ask_all("recall", self.binary, self.first, numbers)))
        return self._places(numbers)

    def with_numbers_in_x(self, result: Result) -> Result:
        """The result with numbers of X, ascending; rows that are equal are apart again."""
        given = self.binary, self.first, self.numbers(result.rows), result.weights
        found, parts = zip(*self._in_order(self._ask_all("split", *given)), strict=True)
        rows, weights = np.concatenate(found), np.concatenate(parts)
        order = np.argsort(rows)
        return replace(result, rows=rows[order], weights=weights[order])

    def forget(self) -> None:
        """The parts need not remember this problem."""
        self._ask_all("forget", self.binary)

    def _ask_all(self, question: str, *arguments: Any) -> dict[int, Any]:
        return self.shards.ask(question, *arguments, check_time=lambda: None, among=None)

    # ----------------------------------------------------------------------------- the collective

    def look(self, core: CoreSet, level: Level | None, check_time: CheckTime) -> Found:
        self.at_round(core)
        news = self._news(core, core.point(), level, check_time)
        began = time.perf_counter()
        sightings: list[Sighting] = self._in_order(self._ask("look", news, check_time))
        self._count(sightings, len(news.support), time.perf_counter() - began)
        self.level = level.high if level else self.level
        return self._found(sightings)

    def remember(self, core: CoreSet, leaving: Mask) -> None:
        margins, moved = core.margins[leaving], core.certain_move()
        self._left.append(Left(core.rows[leaving], margins, moved))

    def penalty(self, core: CoreSet, coefficients: Floats) -> float:
        news = self._news(core, core.point().exactly(coefficients), None, lambda: None)
        return float(sum(self._in_order(self._ask("penalty", news, lambda: None))))

    # --------------------------------------------------------------------------------- the rounds

    def _ask(self, question: str, news: News, check_time: CheckTime) -> dict[int, Any]:
        """The answers of all parts; those that missed something are told everything."""
        answers = self.shards.ask(question, news, check_time=check_time, among=None)
        behind = [number for number, given in answers.items() if given is None]
        if behind:
            news = News(**{**vars(news), "begin": 0, "gathered": self.gathered})
            answers |= self.shards.ask(question, news, check_time=check_time, among=behind)
        self._told, self._left = len(self.gathered), []
        self.traffic.rounds += 1
        self.traffic.bytes_sent += news.nbytes
        return answers

    def _news(
        self, core: CoreSet, point: Point, level: Level | None, check_time: CheckTime
    ) -> News:
        return News(
            problem=self.binary,
            first=self.first[:-1],
            begin=self._told,
            gathered=self.gathered.after(self._told),
            support=core.rows[core.coefficients != 0],
            coefficients=point.coefficients,
            inside=core.rows,
            left=self._left,
            moved=point.moved,
            rounding=point.rounding,
            dtype=point.dtype,
            level=level,
            seconds=check_time(),
        )

    def _count(self, sightings: list[Sighting], n_support: int, seconds: float) -> None:
        work, traffic = self.problem.work, self.traffic
        work.evaluations += sum(s.evaluations for s in sightings)
        traffic.bytes_received += sum(s.nbytes for s in sightings)
        traffic.seconds += seconds
        traffic.seconds_of_parts += sum(s.seconds for s in sightings)
        values = n_support * sum(s.n_rows for s in sightings)
        if values > 1_000_000:
            self.seconds_of_a_value = seconds / values

    def _found(self, sightings: list[Sighting]) -> Found:
        """The places of what was found, once rows that are new have been gathered."""
        numbers = [first + s.rows for first, s in zip(self.first, sightings, strict=False)]
        self._gather(sightings)
        places = self._places(np.concatenate(numbers))
        margins = np.concatenate([s.margins for s in sightings])
        penalty = sum(s.penalty for s in sightings)
        return Found(places, margins, penalty, sum(s.n_rows for s in sightings))

    def _places(self, numbers: Ints) -> Ints:
        known = self.numbers(np.arange(len(self.gathered)))
        in_order = np.argsort(known)
        return np.asarray(in_order[np.searchsorted(known, numbers, sorter=in_order)])

    def _gather(self, sightings: list[Sighting]) -> None:
        new = [s for s in sightings if s.is_new.any()]
        if not new:
            return
        rows = new[0].data.followed_by(*(s.data for s in new[1:]))
        self.problem.append(
            rows,
            np.concatenate([s.signs[s.is_new] for s in new]),
            np.concatenate([s.ridge[s.is_new] for s in new]),
        )
        part = [np.full(len(s.data), number) for number, s in enumerate(sightings)]
        row = [s.rows[s.is_new] for s in sightings]
        self.gathered = Gathered(
            self.problem.rows,
            np.concatenate([self.gathered.part, *part]),
            np.concatenate([self.gathered.row, *row]),
        )
