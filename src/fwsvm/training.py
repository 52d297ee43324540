"""One fit: its binary problems, side by side where they are small."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from .multiclass import BinaryTask
from .progress import Clock, Progress
from .solvers import Report, Result, TraceRow
from .threads import single_threaded_blas, thread_count

# A problem of more rows keeps all threads busy by itself.
MOST_ROWS_SIDE_BY_SIDE = 50_000

# Solves the task of a number on so many threads (None: all) within some seconds (None: no limit).
Solve = Callable[[int, int | None, float | None, Report], Result]


class CancelledError(Exception):
    """The fit has ended without this problem."""


@dataclass
class Training:
    """The binary problems of a fit and what they share: threads, time, and who watches."""

    tasks: list[BinaryTask]
    solve: Solve
    n_jobs: int | None
    clock: Clock
    watch: Progress

    def run(self) -> list[Result]:
        """The results in the order of the tasks; they do not depend on the number of threads."""
        threads = thread_count(self.n_jobs)
        small = [i for i, t in enumerate(self.tasks) if len(t.rows) <= MOST_ROWS_SIDE_BY_SIDE]
        if threads == 1 or len(small) < 2 or self.watch.watches_closely:
            small = []
        results: dict[int, Result] = {}
        with single_threaded_blas():
            for number in sorted(set(range(len(self.tasks))) - set(small)):
                seconds = self.clock.share(len(self.tasks) - len(results))
                with self.watch.binary_problem(number) as report:
                    results[number] = self.solve(number, self.n_jobs, seconds, report)
            self._run_side_by_side(small, threads, results)
        return [results[i] for i in range(len(self.tasks))]

    def _run_side_by_side(
        self, numbers: list[int], threads: int, results: dict[int, Result]
    ) -> None:
        """One thread for each problem, the largest first."""
        numbers = sorted(numbers, key=lambda i: -len(self.tasks[i].rows))
        stop, cancelled = False, False

        def solve(place: int) -> Result:
            def report(row: TraceRow | None) -> bool:
                if cancelled:
                    raise CancelledError
                return stop or (row is not None and self.watch.glimpsed(numbers[place], row))

            seconds = self.clock.share(-(-(len(numbers) - place) // threads))
            return self.solve(numbers[place], 1, seconds, report)

        executor = ThreadPoolExecutor(threads)
        try:
            futures = [executor.submit(solve, place) for place in range(len(numbers))]
            for number, future in zip(numbers, futures, strict=True):
                with self.watch.binary_problem(number):
                    results[number] = future.result()
                stop = self.watch.stopped
        except BaseException:
            cancelled = True
            raise
        finally:
            executor.shutdown(cancel_futures=True)
