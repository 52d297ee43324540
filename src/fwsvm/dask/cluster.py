"""The parts of a fit on the workers of a cluster: who has them, asking, waiting, and losing some.

A question is one task for each worker, tied to the worker that has the parts. Parts are futures
that the scheduler makes anew elsewhere when a worker is lost, if what they are made of can be
computed; they know everything else from the next message. Nothing waits longer than ``timeout``.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from distributed import CancelledError, Client, Future, KilledWorker, wait
from distributed.comm import CommClosedError

from .. import _native
from ..rows import Rows
from ..shards import Part, answer
from ..solvers.scan import CheckTime

AT_ONCE = 0.2  # seconds of waiting between two looks at the clock
WORKERS_WATCHED = 2.0  # seconds between two looks at which workers are there
ATTEMPTS = 10  # at a round in which workers are lost
LOSSES = (CancelledError, KilledWorker, CommClosedError, OSError)


class LostRowsError(RuntimeError):
    """Rows of the training set are gone with their worker and cannot be computed again."""


class NoAnswerError(RuntimeError):
    """The cluster has not answered in time."""


class Cluster:
    """Runs functions on the workers of a client, and keeps the parts of a fit there."""

    def __init__(self, client: Client, timeout: float) -> None:
        self.client, self.timeout = client, timeout
        self.form = Rows(np.empty((0, 0)))
        self.parts: list[Future] = []
        self._homes: dict[str, list[int]] = {}  # the parts of each worker

    def keep(self, parts: list[Future], form: Rows) -> None:
        """The parts of a fit, by number, and what their rows have in common."""
        self.parts, self.form = parts, form

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.parts = []  # the scheduler drops what nobody holds

    # -------------------------------------------------------------------------------- asking parts

    def ask(
        self,
        question: str,
        *arguments: Any,
        check_time: CheckTime,
        among: Sequence[int] | None = None,
    ) -> dict[int, Any]:
        """What the parts (all, or those of some numbers) answer, whichever workers are lost."""
        answers: dict[int, Any] = {}
        missing = set(range(len(self.parts)) if among is None else among)
        for _ in range(ATTEMPTS):
            answers |= self._ask_once(question, arguments, missing, check_time)
            missing -= set(answers)
            if not missing:
                return answers
            self._homes = {}  # workers came or went
        raise NoAnswerError(
            f"Workers were lost {ATTEMPTS} times while the same question was asked. Look at their "
            "logs: they may have run out of memory."
        )

    def _ask_once(
        self, question: str, arguments: tuple[Any, ...], missing: set[int], check_time: CheckTime
    ) -> dict[int, Any]:
        """The answers of the workers that did not get lost."""
        homes = self._find_parts(check_time)
        asked: dict[Future, list[int]] = {}
        try:
            message = self._send(arguments)
            for address, numbers in homes.items():
                if wanted := [number for number in numbers if number in missing]:
                    parts = [self.parts[number] for number in wanted]
                    options = {"workers": [address], "pure": False}
                    asked[self.client.submit(answer, parts, question, message, **options)] = wanted
            self._wait(asked, check_time, list(homes))
        except TimeoutError:
            raise  # the run is over
        except LOSSES:
            pass  # those that have answered have answered
        return self._collect(asked)

    def _send(self, arguments: tuple[Any, ...]) -> Future:
        """The arguments on all workers."""
        try:
            (message,) = self.client.scatter([arguments], broadcast=True, hash=False)
        except TimeoutError:
            raise self._no_answer() from None
        return message

    def _collect(self, asked: dict[Future, list[int]]) -> dict[int, Any]:
        answers: dict[int, Any] = {}
        for future, numbers in asked.items():
            try:
                given = future.result() if future.done() else []
            except _native.OutOfTimeError:
                raise
            except LOSSES:
                continue
            given = [None] * len(numbers) if given is None else given
            answers |= dict(zip(numbers, given, strict=False))
        if late := [future for future in asked if not future.done()]:
            self.client.cancel(late)
        return answers

    def _find_parts(self, check_time: CheckTime) -> dict[str, list[int]]:
        """The parts of each worker, once all are somewhere."""
        if not self._homes:
            self.wait(self.parts, "The rows", check_time)
            homes = defaultdict(list)
            where = self.client.who_has(self.parts)
            for number, part in enumerate(self.parts):
                if holders := sorted(where.get(part.key, ())):
                    homes[holders[0]].append(number)
            self._homes = dict(homes)
        return self._homes

    # ------------------------------------------------------------------------------------- waiting

    def wait(self, futures: Sequence[Future], what: str, check_time: CheckTime) -> None:
        """Until all are done; an error where one cannot be."""
        with suppress(CancelledError):  # said below, with a reason
            self._wait(futures, check_time, None)
        for future in futures:
            if future.status in ("cancelled", "lost"):
                raise LostRowsError(
                    f"{what} were lost with a worker, and Dask cannot compute them again: they "
                    "came from the memory of a client (scatter) or of a worker. Load them in "
                    "tasks, for example with dask.array.from_zarr or dask.dataframe.read_parquet."
                )
            if future.status == "error":
                _raise_with_reason(future)

    def _wait(
        self, futures: Iterable[Future], check_time: CheckTime, workers: list[str] | None
    ) -> None:
        """Until all are done, or a worker is lost that has to answer."""
        ends, watched = time.monotonic() + self.timeout, time.monotonic() + WORKERS_WATCHED
        futures = list(futures)
        while not all(future.done() for future in futures):
            try:
                wait(futures, timeout=AT_ONCE)
                return
            except TimeoutError:
                check_time()
            now = time.monotonic()
            if now > ends:
                self.client.cancel(futures)
                raise self._no_answer()
            if workers and now > watched:
                watched = now + WORKERS_WATCHED
                if not set(workers) <= set(self.client.nthreads()):
                    raise CommClosedError

    def _no_answer(self) -> NoAnswerError:
        there = len(self.client.nthreads())
        return NoAnswerError(
            f"The cluster has not answered within timeout={self.timeout:g} seconds; it has {there} "
            "workers now. Start workers, look at their logs, or allow more time."
        )

    # ----------------------------------------------------------------------------- before the fit

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *arguments: Any, what: str
    ) -> list[Any]:
        """The results of a function of each item, at the client."""
        futures = self.submit_each(function, items, *arguments)
        self.wait(futures, what, lambda: None)
        results: list[Any] = self.client.gather(futures)
        return results

    def submit_each(
        self, function: Callable[..., Any], items: Sequence[Any], *arguments: Any
    ) -> list[Future]:
        """A future for each item."""
        return [self.client.submit(function, i, *arguments, pure=False) for i in items]


def _raise_with_reason(future: Future) -> None:
    try:
        future.result()
    except KilledWorker as error:
        raise LostRowsError(
            f"Workers died again and again while they made their rows: {error} They may not have "
            "memory enough; use more workers or smaller chunks."
        ) from error


def part_here(block: Any, *arguments: Any) -> Part:
    """A part on this worker, which may use all of its threads."""
    from distributed import get_worker

    part = Part.of(block, *arguments)
    part.n_jobs = get_worker().state.nthreads
    return part
