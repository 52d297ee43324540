"""The parts of a source as shards: a question is one pass over the blocks that it needs.

Rows that are kept in memory answer by themselves; a block is read where others are wanted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..dual import DualProblem, Floats, Ints, penalty_of
from ..rows import Rows
from ..shards import Binary
from ..shards.messages import Extent, Gathered, News, Sighting
from ..shards.part import deadline
from ..solvers.core_set import Point
from ..solvers.scan import CheckTime, Seen, are_near
from .part import Piece, StreamedPart, nothing, safe_until
from .source import Block, Source, located, too_small

COPIES = 3  # of the rows gathered, while others are added


class Passes:
    """Asks the parts of a source, in this process."""

    def __init__(
        self,
        source: Source,
        parts: list[StreamedPart],
        form: Rows,
        class_weights: Floats,
        piece_of_block: Callable[[int, Block], Piece],
        seed: int,
        n_jobs: int | None,
        room: float,
    ) -> None:
        self.source, self.parts, self.form = source, parts, form
        self.class_weights, self.seed, self.n_jobs = class_weights, seed, n_jobs
        self.room = room
        self._piece_of_block = piece_of_block
        self._gathered: dict[int, Gathered] = {}
        self._lock = threading.Lock()  # a pass has the disk for itself

    def ask(
        self,
        question: str,
        *arguments: Any,
        check_time: CheckTime,
        among: Sequence[int] | None = None,
    ) -> dict[int, Any]:
        """What the parts answer."""
        with self._lock, deadline(check_time()):
            answers: dict[int, Any] = getattr(self, f"_{question}")(*arguments, check_time)
        return answers

    # ---------------------------------------------------------------------------------- questions

    def _extent(self, binary: Binary, check_time: CheckTime) -> dict[int, Extent]:
        """Sizes, and examples among the rows that are kept: at least one of each class is."""
        answers, seen = {}, set[float]()
        for part in self.parts:
            chosen = part.chosen(binary)
            places = np.flatnonzero(np.isin(part.kept, chosen))
            examples, delta2 = [], 0.0
            if len(places):
                problem = self._problem(part, self._kept(part, places), binary)
                delta2 = problem.delta2
                for i in {int(problem.signs.argmin()), int(problem.signs.argmax())}:
                    sign = float(problem.signs[i])
                    if sign not in seen:
                        seen.add(sign)
                        row = int(np.searchsorted(chosen, part.kept[places[i]]))
                        data = problem.rows.take([i]).compact()
                        examples.append((row, sign, float(problem.ridge[i]), data))
            answers[part.number] = Extent(len(chosen), delta2, examples)
        return answers

    def _look(self, news: News, check_time: CheckTime) -> dict[int, Sighting]:
        binary, known, inside, point = self._told(news)
        wanted = [
            part.wanted(binary, self.seed, news.level, point.moved, own)
            for part, own in zip(self.parts, inside, strict=True)
        ]
        answers = {part.number: nothing(self.form) for part in self.parts}
        then = point.moved - point.rounding
        for part, rows, piece in self._visit(binary, wanted, check_time):
            problem, began = self._problem(part, piece, binary), time.perf_counter()
            margins = self._margins(part, problem, point)
            length2 = problem.diagonal - problem.ridge
            part.remember(binary, rows, safe_until(margins, length2, then))
            near, penalty = np.flatnonzero(are_near(margins)), penalty_of(margins, problem.ridge)
            seen = Seen(rows[near], margins[near], penalty, len(rows))
            spent = problem.work.evaluations, time.perf_counter() - began
            answers[part.number] = Sighting.of(seen, near, problem, known[part.number], *spent)
        return answers

    def _penalty(self, news: News, check_time: CheckTime) -> dict[int, float]:
        binary, _, inside, point = self._told(news)
        wanted = [
            part.wanted(binary, self.seed, None, point.moved, own)
            for part, own in zip(self.parts, inside, strict=True)
        ]
        answers = dict.fromkeys(range(len(self.parts)), 0.0)
        for part, _, piece in self._visit(binary, wanted, check_time):
            problem = self._problem(part, piece, binary)
            margins = self._margins(part, problem, point)
            answers[part.number] = penalty_of(margins, problem.ridge)
        return answers

    def _recall(
        self, binary: Binary, first: Ints, numbers: Ints, check_time: CheckTime
    ) -> dict[int, Sighting]:
        wanted = self._own(first, numbers)
        answers = {part.number: nothing(self.form) for part in self.parts}
        for part, rows, piece in self._visit(binary, wanted, check_time):
            problem, everyone = self._problem(part, piece, binary), np.arange(len(rows))
            seen = Seen(rows, np.zeros(len(rows)), 0.0, 0)
            answers[part.number] = Sighting.of(seen, everyone, problem, rows[:0])
        return answers

    def _split(
        self, binary: Binary, first: Ints, numbers: Ints, weights: Floats, check_time: CheckTime
    ) -> dict[int, tuple[Ints, Floats]]:
        """Numbers in the source; equal rows were not merged."""
        answers = {}
        order = np.argsort(numbers)
        bounds = np.searchsorted(numbers[order], first)
        for part, (begin, end) in zip(self.parts, pairwise(bounds), strict=True):
            own = order[begin:end]
            rows = numbers[own] - first[part.number]
            answers[part.number] = part.first + part.chosen(binary)[rows], weights[own]
        return answers

    def _fetch(self, numbers: Ints, check_time: CheckTime) -> dict[int, tuple[Ints, Ints, Rows]]:
        """Classes and data of rows of the source."""
        ends = [part.first + len(part.labels) for part in self.parts]
        bounds = np.searchsorted(numbers, [0, *ends])
        own = [
            numbers[begin:end] - part.first
            for part, (begin, end) in zip(self.parts, pairwise(bounds), strict=True)
        ]
        none = np.empty(0, dtype=np.int64)
        answers = {part.number: (none, none, self.form) for part in self.parts}
        for part, rows, piece in self._pieces(own, check_time):
            answers[part.number] = part.first + rows, piece.labels, piece.rows.compact()
        return answers

    def _forget(self, binary: Binary, check_time: CheckTime) -> dict[int, Any]:
        self._gathered.pop(binary.number, None)
        for part in self.parts:
            part.safe.pop(binary.number, None)
        return {}

    # ------------------------------------------------------------------------------------- passes

    def _visit(
        self, binary: Binary, wanted: list[Ints], check_time: CheckTime
    ) -> Iterator[tuple[StreamedPart, Ints, Piece]]:
        """The wanted rows of a binary problem, part by part."""
        in_block = [
            part.chosen(binary)[rows] if len(rows) else rows
            for part, rows in zip(self.parts, wanted, strict=True)
        ]
        for part, _, piece in self._pieces(in_block, check_time):
            yield part, wanted[part.number], piece

    def _pieces(
        self, wanted: list[Ints], check_time: CheckTime
    ) -> Iterator[tuple[StreamedPart, Ints, Piece]]:
        """Rows by their numbers in the blocks: first those at hand, then those to be read."""
        to_read = []
        for part in self.parts:
            rows = wanted[part.number]
            if not len(rows):
                continue
            if np.isin(rows, part.kept).all():
                check_time()
                yield part, rows, self._kept(part, np.searchsorted(part.kept, rows))
            else:
                to_read.append(part.number)
        for number, block in self.source.blocks(to_read):
            check_time()
            rows, piece = wanted[number], self._piece_of_block(number, block)
            del block
            some = Piece(piece.rows.take(rows), piece.labels[rows], piece.weights[rows])
            yield self.parts[number], rows, some

    def _problem(self, part: StreamedPart, piece: Piece, binary: Binary) -> DualProblem:
        with located(self.source, part.number):
            return piece.problem(binary, self.n_jobs)

    def _margins(self, part: StreamedPart, problem: DualProblem, point: Point) -> Floats:
        with located(self.source, part.number):
            return problem.margins_from(point.support, point.coefficients, None, point.dtype)

    def _kept(self, part: StreamedPart, places: Ints) -> Piece:
        """Of the rows that a part keeps."""
        labels = part.labels[part.kept[places]].astype(np.int64)
        return Piece(
            part.rows.take(places), labels, part.weights[places] * self.class_weights[labels]
        )

    # ------------------------------------------------------------------------------ what was told

    def _told(self, news: News) -> tuple[Binary, list[Ints], list[Ints], Point]:
        """For each part the rows that were gathered and those in the core set; and w."""
        binary, before = news.problem, self._gathered.get(news.problem.number)
        if before is None or news.begin == 0:
            gathered = news.gathered
        else:
            gathered = before.extended(news.begin, news.gathered)
        self._gathered[binary.number] = gathered
        self._make_room()
        self._remember(news, gathered)
        known = self._of_parts(gathered.part, gathered.row)
        inside = self._of_parts(gathered.part[news.inside], gathered.row[news.inside])
        support = gathered.rows.beside(self.form).take(news.support)
        point = Point(support, news.coefficients, news.moved, news.rounding, news.dtype)
        return binary, known, inside, point

    def _make_room(self) -> None:
        """For the rows gathered; those kept in memory could be read instead."""
        wanted = COPIES * sum(gathered.nbytes for gathered in self._gathered.values())
        if wanted + sum(part.nbytes for part in self.parts) > self.room:
            for part in self.parts:
                part.keep_examples()
        if wanted > self.room:
            n_rows = sum(map(len, self._gathered.values()))
            raise too_small(self.source, f"for the {n_rows:,} rows that matter to the solution")

    def _remember(self, news: News, gathered: Gathered) -> None:
        """Rows left the core set with margins that are safe for a while."""
        for places, margins, moved in news.left:
            length2 = news.problem.kernel.diagonal(gathered.rows.take(places)) + 1.0
            until = safe_until(margins, length2, moved)
            for number, own in enumerate(self._places(gathered.part[places])):
                if len(own):
                    rows = gathered.row[places[own]]
                    self.parts[number].remember(news.problem, rows, until[own])

    def _of_parts(self, part: Ints, row: Ints) -> list[Ints]:
        return [row[own] for own in self._places(part)]

    def _places(self, part: Ints) -> list[Ints]:
        """For each part, where its number is."""
        order = np.argsort(part, kind="stable")
        bounds = np.searchsorted(part[order], np.arange(len(self.parts) + 1))
        return [order[begin:end] for begin, end in pairwise(bounds)]

    def _own(self, first: Ints, numbers: Ints) -> list[Ints]:
        """For each part the numbers of its rows among them."""
        numbers = np.sort(numbers)
        cuts = pairwise(np.searchsorted(numbers, first))
        return [numbers[begin:end] - first[k] for k, (begin, end) in enumerate(cuts)]
