"""DaskSVC on 2 workers with 1 thread each, beside SVC on 2 threads: the same machine and problem.

    python benchmarks/distributed_training.py [--sets kdd99 generated] [--rows 5000000]

Rows are persisted before the clock starts. "solve" is the client's work on the core set, "scan"
the rounds with what the client does of them, "workers" what each worker computed in these.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait
from problems import load, problem_of
from runner import report

from fwsvm import SVC
from fwsvm.dask import DaskSVC

FEATURES, CENTRES, DISTANCE, NOISE = 30, 12, 2.0, 0.001
WORKERS = 2


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", nargs="+", default=["kdd99", "generated"])
    options.add_argument("--rows", type=int, default=5_000_000, help="of the generated set")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--name", default="distributed_training", help="of the file of results")
    chosen = options.parse_args()
    rows = [row for name in chosen.sets for row in measure(name, chosen.rows, chosen.repeats)]
    report(chosen.name, rows)


def measure(name: str, n_rows: int, repeats: int) -> list[dict[str, Any]]:
    """Two lines: one process, and the cluster."""
    if name == "generated":
        X, y = generated(n_rows)
        settings: dict[str, Any] = {"C": 1.0, "gamma": 1 / 300}
    else:
        arrays, problem = load(name), problem_of(name)
        X, y = arrays["X"], arrays["y"]
        settings = {"C": problem.C, "gamma": arrays["gamma"]}
    settings["random_state"] = 0
    single = [timed(SVC(n_jobs=WORKERS, **settings), X, y) for _ in range(repeats)]
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        chunk = -(-len(y) // (2 * WORKERS))
        dX = da.from_array(X, chunks=(chunk, -1)).persist()
        dy = da.from_array(y, chunks=chunk).persist()
        wait([dX, dy])
        model = DaskSVC(client=client, n_jobs=WORKERS, **settings)
        several = [timed(model, dX, dy) for _ in range(repeats)]
    best = median_row(single)
    return [
        {"set": name, "rows": len(y), "trainer": "SVC", **best, "overhead": 1.0},
        {
            "set": name,
            "rows": len(y),
            "trainer": f"DaskSVC, {WORKERS} workers",
            **(row := median_row(several)),
            "overhead": row["fit seconds"] / best["fit seconds"],
        },
    ]


def generated(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows about a dozen centres that take turns in their class, one in a thousand of the other."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((CENTRES, FEATURES)).astype(np.float32) * DISTANCE
    X, y = np.empty((n_rows, FEATURES), np.float32), np.empty(n_rows, np.int64)
    for begin in range(0, n_rows, 500_000):
        some = slice(begin, min(begin + 500_000, n_rows))
        which = rng.integers(0, CENTRES, some.stop - begin)
        X[some] = rng.standard_normal((len(which), FEATURES), dtype=np.float32) + centres[which]
        y[some] = (which % 2) ^ (rng.random(len(which)) < NOISE)
    return X, y


def timed(model: Any, X: Any, y: Any) -> dict[str, Any]:
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    last = [trace[-1] for trace in model.trace_]
    traffic = getattr(model, "traffic_", [])
    rounds, in_parts = (
        sum(getattr(t, name) for t in traffic) for name in ("rounds", "seconds_of_parts")
    )
    in_workers = in_parts / WORKERS
    return {
        "fit seconds": seconds,
        "solve": sum(row.solve_seconds for row in last),
        "scan": sum(row.scan_seconds for row in last),
        "workers": in_workers,
        "rounds": rounds,
        "ms a round beside": 1e3 * (sum(t.seconds for t in traffic) - in_workers) / max(1, rounds),
        "MB sent": sum(t.bytes_sent for t in traffic) / 1e6,
        "MB received": sum(t.bytes_received for t in traffic) / 1e6,
        "support vectors": int(model.n_support_.sum()),
        "gap": float(model.gap_.max()),
    }


def median_row(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The run of median time."""
    middle = statistics.median_low(row["fit seconds"] for row in rows)
    return next(row for row in rows if row["fit seconds"] == middle)


if __name__ == "__main__":
    main()
