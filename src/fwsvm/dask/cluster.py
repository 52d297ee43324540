"""The parts of a fit on the workers of a cluster: who has them, asking, waiting, and losing some.

A question is one task for each worker, tied to the worker that has the parts. Parts are futures
that the scheduler makes anew elsewhere when a worker is lost, if what they are made of can be
computed; they know everything else from the next message. Nothing waits longer than ``timeout``.
"""

from __future__ import annotations

import asyncio
import pickle
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import dask.config
import numpy as np
from distributed import CancelledError, Client, Future, KilledWorker, wait
from distributed.comm import CommClosedError

from .. import _native
from ..rows import Rows
from ..shards import Part, answer
from ..solvers.scan import CheckTime

AT_ONCE = 0.2  # seconds of waiting between two looks at the clock
WORKERS_WATCHED = 2.0  # seconds between two looks at which workers are there
SMALL_MESSAGES = 2**22  # bytes to all workers that may go through the scheduler
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
        wanted = set(range(len(self.parts)) if among is None else among)
        for _ in range(ATTEMPTS):
            try:
                homes = self._find_parts(check_time)
                return self._ask_once(question, arguments, homes, wanted, check_time)
            except _native.OutOfTimeError:
                raise
            except LOSSES:
                self._homes = {}
        raise NoAnswerError(
            f"Workers were lost {ATTEMPTS} times while the same question was asked. Look at their "
            "logs: they may have run out of memory."
        )

    def _ask_once(
        self,
        question: str,
        arguments: tuple[Any, ...],
        homes: dict[str, list[int]],
        wanted: set[int],
        check_time: CheckTime,
    ) -> dict[int, Any]:
        """The answers of all parts, if no worker is lost."""
        asked, message = [], self._sent(pickle.dumps(arguments), len(homes))
        chosen = {
            address: numbers
            for address, there in homes.items()
            if (numbers := [number for number in there if number in wanted])
        }
        for address, numbers in chosen.items():
            parts = [self.parts[n] for n in numbers]
            options = {"workers": [address], "pure": False}
            asked.append(self.client.submit(_answer, parts, question, message, **options))
        answers = self._gather(asked, list(chosen), check_time)
        return {
            number: None if given is None else given[i]
            for numbers, given in zip(chosen.values(), answers, strict=True)
            for i, number in enumerate(numbers)
        }

    def _sent(self, message: bytes, n_workers: int) -> bytes | Future:
        """What workers get: a large message once, and from there on from each other."""
        if len(message) * n_workers < SMALL_MESSAGES:
            return message
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            return self.client.submit(bytes, message, pure=False)  # a task outlives any worker

    def _find_parts(self, check_time: CheckTime) -> dict[str, list[int]]:
        """The parts of each worker, once all are somewhere."""
        if not self._homes:
            self.wait(self.parts, "The rows", check_time)
            homes = defaultdict(list)
            where = self.client.who_has(self.parts)
            for number, part in enumerate(self.parts):
                holders = sorted(where.get(part.key, ()))
                if not holders:
                    raise CommClosedError(f"part {number} was lost just now")
                homes[holders[0]].append(number)
            self._homes = dict(homes)
        return self._homes

    # ------------------------------------------------------------------------------------- waiting

    def wait(self, futures: Sequence[Future], what: str, check_time: CheckTime) -> None:
        """Until all are done; an error where one cannot be."""
        with suppress(CancelledError):  # said below, with a reason
            self._wait(futures, check_time)
        for future in futures:
            if future.status in ("cancelled", "lost"):
                raise LostRowsError(
                    f"{what} were lost with a worker, and Dask cannot compute them again: they "
                    "came from the memory of a client (scatter) or of a worker. Load them in "
                    "tasks, for example with dask.array.from_zarr or dask.dataframe.read_parquet."
                )
            if future.status == "error":
                _raise_with_reason(future)

    def _wait(self, futures: Sequence[Future], check_time: CheckTime) -> None:
        """Until all are done."""
        ends = time.monotonic() + self.timeout
        while True:
            try:
                wait(futures, timeout=AT_ONCE)
                return
            except TimeoutError:
                self._still_waiting(ends, check_time)

    def _gather(
        self, futures: Sequence[Future], workers: Sequence[str], check_time: CheckTime
    ) -> list[Any]:
        """The results, unless a worker is lost that has to give one."""
        loop = self.client.loop.asyncio_loop
        gathering = self.client.gather(futures, asynchronous=True)
        results = asyncio.run_coroutine_threadsafe(gathering, loop)
        ends, watched = time.monotonic() + self.timeout, time.monotonic()
        try:
            while True:
                try:
                    given: list[Any] = results.result(AT_ONCE)
                    return given
                except TimeoutError:
                    if results.done():
                        raise
                    self._still_waiting(ends, check_time)
                if time.monotonic() > watched + WORKERS_WATCHED:
                    watched = time.monotonic()
                    if not set(workers) <= set(self.client.nthreads()):
                        raise CommClosedError
        finally:
            results.cancel()

    def _still_waiting(self, ends: float, check_time: CheckTime) -> None:
        check_time()
        if time.monotonic() > ends:
            raise self._no_answer()

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
        return self._gather(futures, [], lambda: None)

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


def _answer(parts: list[Part], question: str, message: bytes) -> list[Any] | None:
    return answer(parts, question, pickle.loads(message))


def part_here(block: Any, *arguments: Any) -> Part:
    """A part on this worker, which may use all of its threads."""
    from distributed import get_worker

    part = Part.of(block, *arguments)
    part.n_jobs = get_worker().state.nthreads
    return part
