"""The paper's solvers in the paper's setting: where does their time go?

    python benchmarks/paper_solvers.py [data set ...]

gamma by mean_distance, epsilon = 1e-6, random start, samples of 59, one thread. "engine" is the
share of the time inside the engine: kernel values, from the cache or computed, and their weighted
sums. Every run is a process of its own; "MB" is its peak memory beyond that of the loaded data.
"""

import argparse
import json
import lzma
import resource
import subprocess
import sys
import warnings

import numpy as np
from runner import data_folder, report
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning

from fwsvm import Rows
from fwsvm.dual import DualProblem
from fwsvm.kernels import RBF
from fwsvm.parameters import ALGORITHMS, gamma_of
from fwsvm.solvers import Stopping, random_start, solve

# name: (features, C, label of the positive class)
DATA = {"w8a": (300, 10.0, 1), "a9a": (123, 1.0, 1), "kdd99-10pc": (119, 10.0, 1)}
SAMPLE = 59
MOST_SECONDS = 120.0


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(name: str, solver: str) -> dict[str, object]:
    n_features, C, positive = DATA[name]
    folder = data_folder()
    assert folder is not None
    with lzma.open(folder / f"{name}.xz") as file:
        X, y = load_svmlight_file(file, n_features=n_features, dtype=np.float32)
    before = peak_mb()
    rows = Rows(X)
    signs = np.where(y == positive, 1.0, -1.0)
    gamma = gamma_of("mean_distance", rows, np.ones(len(rows)))
    problem = DualProblem(rows, signs, np.full(len(rows), 1 / C), RBF(gamma), n_jobs=1)
    stopping = Stopping(epsilon=1e-6, max_time=MOST_SECONDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve(problem, ALGORITHMS[solver](), random_start, stopping, selection=SAMPLE)
    work = problem.work
    return {
        "data": name,
        "solver": solver,
        "status": result.status.name,
        "iterations": result.n_iter,
        "seconds": result.seconds,
        "engine": f"{work.seconds / result.seconds:.0%}",
        "evaluations": float(work.evaluations),
        "cache hits": f"{work.hits / max(1, work.hits + work.misses):.0%}",
        "active": result.n_active[1],
        "gap": result.gap,
        "MB": peak_mb() - before,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", help="of " + ", ".join(DATA))
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run(*options.one)))
        return
    if data_folder() is None:
        sys.exit("This benchmark needs the real data sets: set FWSVM_DATA to their folder.")
    rows = []
    for name in options.data or DATA:
        for solver in ALGORITHMS:
            command = [sys.executable, __file__, "--one", name, solver]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            rows.append(json.loads(output))
            print(rows[-1], file=sys.stderr)
    report("paper_solvers", rows)


if __name__ == "__main__":
    main()
