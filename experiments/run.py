"""Runs what is missing: workers take one job after the other, and every cell is kept at once."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from benchmarks.runner import environment_of_results, machine, stop_runs_when_stopped

from .cells import Cell, Results, Row
from .plan import Job, expected_seconds, missing
from .worker import THREADS, Worker

Missing = Callable[[Job, Results], list[Cell]]


def results_of_here(path: Path) -> Results:
    """The results in a file, if they were measured here; else the file is moved away."""
    results = Results(path)
    if results.environments and environment() not in results.environments.values():
        kept = results.begin_anew()
        print(
            f"{path.name} was measured elsewhere or with other versions, and is now {kept.name}: "
            "everything is run anew",
            file=sys.stderr,
        )
    return results


def environment() -> Row:
    """Where and with what cells are measured; THREADS is that of a fit."""
    return {**environment_of_results(), "threads": THREADS}


def run(
    jobs: Sequence[Job],
    results: Results,
    *,
    workers: int = 2,
    minutes: float | None = None,
    missing_of: Missing = missing,
) -> int:
    """Runs the missing cells of the jobs; how many are missing yet, as time was over."""
    stop_runs_when_stopped()
    Run(jobs, results, workers, minutes, missing_of).go()
    return sum(len(missing_of(job, results)) for job in jobs)


class Run:
    """Workers side by side on a list of jobs."""

    def __init__(
        self,
        jobs: Sequence[Job],
        results: Results,
        workers: int,
        minutes: float | None,
        missing_of: Missing,
    ) -> None:
        self.jobs, self.results, self.workers, self.missing = jobs, results, workers, missing_of
        self.end = float("inf") if minutes is None else time.monotonic() + 60 * minutes
        self.commit = machine()["commit"]
        self.environment = results.number_of(environment())
        self._begun: set[Job] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._at_work: list[Worker] = []

    def go(self) -> None:
        self._show = Display(len(self.results), self._left()) if self._left() else None
        executor = ThreadPoolExecutor(self.workers)
        try:
            for future in [executor.submit(self._work) for _ in range(self.workers)]:
                future.result()
        finally:
            self._stopped = True
            for worker in self._at_work:
                worker.stop()
            executor.shutdown(cancel_futures=True)
            if self._show:
                self._show.close()

    def _work(self) -> None:
        worker = Worker()
        self._at_work.append(worker)
        try:
            while (job := self._next_job()) is not None:
                while self._may_go_on and (cells := self.missing(job, self.results)):
                    self._run_cell(worker, cells[0])
        finally:
            worker.close()

    @property
    def _may_go_on(self) -> bool:
        return not self._stopped and time.monotonic() < self.end

    def _next_job(self) -> Job | None:
        with self._lock:
            for job in self.jobs if self._may_go_on else ():
                if job not in self._begun and self.missing(job, self.results):
                    self._begun.add(job)
                    return job
        return None

    def _run_cell(self, worker: Worker, cell: Cell) -> None:
        measured = worker.run(cell)
        if self._stopped:  # the worker was ended, not the cell
            return
        measured |= {"commit": self.commit, "date": time.strftime("%Y-%m-%d %H:%M")}
        self.results.add(cell, measured, self.environment)
        if self._show:
            self._show.finished(cell, measured, self._left(), self.results, self.workers)

    def _left(self) -> list[Cell]:
        return [cell for job in self.jobs for cell in self.missing(job, self.results)]


class Display:
    """A progress bar on a terminal, else a line for each cell."""

    def __init__(self, done: int, left: Sequence[Cell]) -> None:
        console = Console(stderr=True)
        self._bar: Progress | None = None
        if console.is_terminal:
            columns = (
                BarColumn(20),
                TextColumn("{task.completed}/{task.total} {task.description}"),
            )
            self._bar = Progress(*columns, console=console)
            self._task: TaskID = self._bar.add_task("", total=done + len(left), completed=done)
            self._bar.start()

    def finished(
        self, cell: Cell, row: Row, left: Sequence[Cell], results: Results, workers: int
    ) -> None:
        minutes = expected_seconds(left, results) / 60 / workers
        text = f"cells, about {minutes:.0f} minutes left"
        if self._bar:
            text, done = f"{text}; {cell.set} {cell.solver}", len(results)
            self._bar.update(self._task, completed=done, total=done + len(left), description=text)
        else:
            print(f"{len(left)} {text}; {_short(cell, row)}", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._bar:
            self._bar.stop()


def _short(cell: Cell, row: Row) -> str:
    name = f"{cell.experiment} {cell.set} {cell.solver} C={cell.C:g} seed {cell.seed} {cell.part}"
    if row["status"] != "ok":
        return f"{name}: {row['status']}"
    return f"{name}: {row['fit_seconds']:.2f} s, {row['accuracy']:.2f} %, gap {row['gap']:.1e}"
