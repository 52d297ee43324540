"""Runs cells in a process of its own: reads a cell a line, prints what it measured a line.

`Worker` starts such a process and talks to it. A cell that hangs or kills its process is recorded
as such, and the next cell gets a new process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from benchmarks.runner import ending
from fwsvm import SVC, dual, parameters

from .cells import Cell, Row
from .sets import load

EPSILON, SAMPLE, FOLDS, VALIDATION = 1e-6, 59, 10, 0.3
THREADS = 1  # as the programs of the paper
GRACE = 300.0  # seconds past the limit after which a fit counts as hung

# ------------------------------------------------------------------------- in the parent process


class Worker:
    """A process that runs one cell after another."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._errors = TemporaryFile("w+")  # noqa: SIM115

    def run(self, cell: Cell) -> Row:
        """What was measured, with its "status": "ok" or what went wrong."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            print(json.dumps(asdict(cell)), file=process.stdin, flush=True)
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return {"status": "ok", **json.loads(line)}
        self._process = None
        process.communicate()
        self._errors.seek(0)
        return {"status": ending(process.returncode, self._errors.read(), cell.limit + GRACE)}

    def stop(self) -> None:
        """Ends the process, also while another thread waits in `run`."""
        if process := self._process:
            process.kill()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        self._errors.close()

    def _start(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "experiments.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
            cwd=Path(__file__).parents[1],
        )
        return self._process


# ---------------------------------------------------------------------------- in the own process


class Stopwatch:
    """CPU seconds spent in the solvers, and in the certificates that they compute."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()

    @contextmanager
    def running(self) -> Iterator[None]:
        solve, certificate = parameters.solve_with, dual.DualProblem.certificate
        parameters.solve_with = self._timed("solver", solve)
        dual.DualProblem.certificate = self._timed("certificate", certificate)
        try:
            yield
        finally:
            parameters.solve_with, dual.DualProblem.certificate = solve, certificate

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            start = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                self.spent[name] += time.process_time() - start

        return timed


def model_of(cell: Cell) -> SVC:
    """The paper's setting for its algorithms; the default solver as it is."""
    is_polynomial = cell.kernel == "poly"
    kernel = {"kernel": "poly", "degree": 2, "coef0": 0.0} if is_polynomial else {"kernel": "rbf"}
    papers = {} if cell.solver == "auto" else {"epsilon": EPSILON, "selection": SAMPLE}
    return SVC(
        C=cell.C,
        gamma=cell.gamma,
        solver=cell.solver,
        max_time=cell.limit,
        n_jobs=THREADS,
        random_state=cell.seed,
        **kernel,
        **papers,
    )


def measure(cell: Cell) -> Row:
    """The figures of a cell; of folds their sums, mean accuracy and worst gap."""
    rows = []
    for arrays in _parts(cell):
        rows.append(_fit(cell, *arrays))
        if rows[-1]["statuses"]["max_time"]:
            break  # as the other folds would be
    worst = {"gap": max, "accuracy": _mean, "statuses": _sum_of_counters}
    return {key: worst.get(key, sum)([row[key] for row in rows]) for key in rows[0]}


def _fit(cell: Cell, X: Any, y: Any, X_test: Any, y_test: Any) -> Row:
    model, watch = model_of(cell), Stopwatch()
    wall, cpu = time.perf_counter(), time.process_time()
    with watch.running(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    predicting = time.process_time()
    accuracy = 100 * float(np.mean(model.predict(X_test) == y_test))
    return {
        "accuracy": accuracy,
        "solver_seconds": watch.spent["solver"],
        "certificate_seconds": watch.spent["certificate"],
        "fit_seconds": cpu,
        "fit_wall_seconds": wall,
        "predict_seconds": time.process_time() - predicting,
        "gap": float(model.gap_.max()),
        "median_gap": float(np.median(model.gap_)),
        "statuses": Counter(model.status_),
        "iterations": int(model.n_iter_.sum()),
        "kernel_evaluations": sum(trace[-1].kernel_evaluations for trace in model.trace_),
        "n_support": len(model.support_),
        "n_train": len(y),
        "n_test": len(y_test),
    }


_load = lru_cache(maxsize=1)(load)  # one after another are mostly of the same set


def _parts(cell: Cell) -> Iterator[tuple[Any, Any, Any, Any]]:
    """X, y, X_test, y_test, once or for each fold."""
    data = _load(cell.set)
    X, y = data["X"], data["y"]
    if cell.part == "test":
        yield X, y, data["X_test"], data["y_test"]
    elif cell.part == "validation":
        chosen = np.random.default_rng(0).random(len(y)) < VALIDATION
        yield X[~chosen], y[~chosen], X[chosen], y[chosen]
    else:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        for train, test in folds.split(np.zeros(len(y)), y):
            yield X[train], y[train], X[test], y[test]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _sum_of_counters(counters: list[Counter[str]]) -> Counter[str]:
    return sum(counters, Counter())


def _end_with_the_parent() -> None:
    """A fit does not go on when nobody waits for it any more."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    _end_with_the_parent()
    for line in sys.stdin:
        cell = Cell(**json.loads(line))
        signal.alarm(int(cell.limit * (FOLDS if cell.part == "folds" else 1) + GRACE))
        try:
            measured = measure(cell)
        except ValueError as error:  # as of a kernel that a solver refuses
            measured = {"status": f"refused: {error}"}
        signal.alarm(0)
        print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
