"""One trainer on one problem, in a process of its own: prints what it measured as lines of JSON.

    python benchmarks/trainers.py "w8a" fwsvm --threads 2 --limit 300

A line for the fit and one for the prediction, so that a run that is stopped or dies in between
leaves what it had. `run` starts such a process and reads its lines.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from runner import ending

LANDMARKS = 500
CACHE_MB = 200  # of kernel values, the default of all who have such a cache
Trainer = Callable[[float, float, int], Any]  # of C, gamma and threads


def _fwsvm(C: float, gamma: float, threads: int) -> Any:
    return importlib.import_module("fwsvm").SVC(
        C=C, gamma=gamma, cache_size=CACHE_MB, n_jobs=threads
    )


def _scikit_learn(C: float, gamma: float, threads: int) -> Any:
    return importlib.import_module("sklearn.svm").SVC(C=C, gamma=gamma, cache_size=CACHE_MB)


def _sklearnex(C: float, gamma: float, threads: int) -> Any:
    return importlib.import_module("sklearnex.svm").SVC(C=C, gamma=gamma, cache_size=CACHE_MB)


def _thundersvm(C: float, gamma: float, threads: int) -> Any:
    return importlib.import_module("thundersvm").SVC(C=C, gamma=gamma, n_jobs=threads)


def _nystroem(C: float, gamma: float, threads: int) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    features = Nystroem(gamma=gamma, n_components=LANDMARKS, random_state=0)
    return make_pipeline(features, LinearSVC(C=C, random_state=0))


TRAINERS: dict[str, Trainer] = {
    "fwsvm": _fwsvm,
    "sklearnex": _sklearnex,
    "sklearnex dense": _sklearnex,
    "scikit-learn": _scikit_learn,
    "thundersvm": _thundersvm,
    "nystroem": _nystroem,
}
OURS = "fwsvm"
APPROXIMATE = ("nystroem",)
ON_DENSE = ("sklearnex dense", "thundersvm")  # sparse sets made dense before the clock starts
ONLY_FOR_SPARSE = ("sklearnex dense",)

# ------------------------------------------------------------------------- in the parent process


def run(
    problem: str, trainer: str, *, threads: int, limit: float, scans: int = 0
) -> dict[str, Any]:
    """What one run in a fresh process measured, with its "status": "ok" or what went wrong."""
    command = [sys.executable, __file__, problem, trainer]
    command += ["--threads", str(threads), "--limit", str(limit), "--scans", str(scans)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    start, others = time.perf_counter(), _seconds_of_others()
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    others = (_seconds_of_others() - others) / (time.perf_counter() - start)
    measured: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            measured |= json.loads(line)
    return measured | {
        "status": ending(done.returncode, done.stderr, limit),
        "cpus_of_others": round(others, 2),
    }


def _seconds_of_others() -> float:
    """CPU seconds since the start of the machine that our children did not use, stolen ones too."""
    statistics_of_cpus = Path("/proc/stat")
    if not statistics_of_cpus.exists():
        return 0.0
    user, nice, system, _, _, *interrupts_and_stolen = (
        int(ticks) for ticks in statistics_of_cpus.read_text().split("\n")[0].split()[1:9]
    )
    busy = (user + nice + system + sum(interrupts_and_stolen)) / os.sysconf("SC_CLK_TCK")
    ours = resource.getrusage(resource.RUSAGE_CHILDREN)
    return busy - ours.ru_utime - ours.ru_stime


# ---------------------------------------------------------------------------- in the own process


def measure(problem: str, trainer: str, threads: int, limit: float, scans: int) -> None:
    from problems import as_dense, load, problem_of

    data = load(problem)
    X, y, X_test, y_test = (data[key] for key in ("X", "y", "X_test", "y_test"))
    if trainer in ON_DENSE:
        X, X_test = (as_dense(part) for part in (X, X_test))
    model = TRAINERS[trainer](problem_of(problem).C, float(data["gamma"]), threads)
    fit_seconds, _ = _limited(limit, lambda: model.fit(X, y))
    _print(fit_seconds=fit_seconds, n_support=_n_support(model), **_of_ours(model))
    predict_seconds, predicted = _limited(limit, lambda: model.predict(X_test))
    accuracy = 100 * float(np.mean(np.asarray(predicted) == y_test))
    loaded = sum(_size(array) for array in (X, y, X_test, y_test))
    _print(
        predict_seconds=predict_seconds,
        accuracy=accuracy,
        data_mb=loaded / 2**20,
        peak_mb=_peak_mb(),
    )
    if scans:
        _print(scan_seconds=_scan_seconds(model, X, scans, threads))


def _limited(limit: float, function: Callable[[], Any]) -> tuple[float, Any]:
    """Its seconds and result; past the limit the process ends, whatever it is doing."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limit)
    start = time.perf_counter()
    result = function()
    seconds = time.perf_counter() - start
    signal.setitimer(signal.ITIMER_REAL, 0)
    return seconds, result


def _of_ours(model: Any) -> dict[str, Any]:
    """What only our models know: whether the gap is certified, and how large it is."""
    if not hasattr(model, "gap_"):
        return {}
    return {"converged": bool(model.converged_), "gap": float(np.max(model.gap_))}


def _n_support(model: Any) -> int:
    counts = getattr(model, "n_support_", None)
    return LANDMARKS if counts is None else int(np.sum(counts))


def _scan_seconds(model: Any, X: Any, repeats: int, threads: int) -> float:
    """Median seconds of one product of all rows with all support vectors."""
    from fwsvm import Rows

    rows = Rows(X).in_fastest_storage(ignores_shifts=model._kernel.ignores_shifts)
    support, coefficients = rows.take(model.support_), model.dual_coef_
    if scipy.sparse.issparse(coefficients):
        coefficients = coefficients.toarray()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        model._kernel.product(rows, support, coefficients[0], n_jobs=threads)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def _size(array: Any) -> int:
    parts = [getattr(array, name) for name in ("data", "indices", "indptr") if hasattr(array, name)]
    return sum(part.nbytes for part in parts) if len(parts) == 3 else array.nbytes


def _peak_mb() -> float:
    """Largest memory of this process since it was started (not that of its parent)."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def _print(**measured: Any) -> None:
    print(json.dumps(measured), flush=True)


def _keep_to(threads: int) -> None:
    """Every library sees so many CPUs, whatever its own way of asking."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problem")
    parser.add_argument("trainer", choices=TRAINERS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of fit, of predict")
    parser.add_argument("--scans", type=int, default=0, help="products of all rows to time")
    options = parser.parse_args()
    _keep_to(options.threads)
    measure(options.problem, options.trainer, options.threads, options.limit, options.scans)


if __name__ == "__main__":
    main()
