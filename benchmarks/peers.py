"""fwsvm beside other trainers of kernel machines: the same data, C and gamma for all of them.

    python benchmarks/peers.py [--sets a9a w8a] [--trainers fwsvm sklearnex] [--tables]

Every run is a process of its own, the trainers take turns, and the median counts. The peers solve
the hinge problem to their default tolerance, ours the squared hinge to a certified gap of 1e-3.
Results are merged into benchmarks/results/peers.json; what was measured on another machine or
with other versions is dropped. --tables only prints what is there.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from peers_tables import disturbed, document
from problems import PROBLEMS, load, problem_of
from runner import RESULTS, machine, merge, stop_runs_when_stopped, stored
from trainers import ONLY_FOR_SPARSE, OURS, TRAINERS, run

KEYS = ("set", "trainer")
SCANS = 3
Row = dict[str, Any]


def main() -> None:
    options = _options()
    stop_runs_when_stopped()
    common = {"threads": options.threads, **versions()}
    for name in [] if options.tables else options.sets:
        done = {tuple(row[key] for key in KEYS) for row in stored(options.output, **common)}
        trainers = [t for t in options.trainers if _applies(t, name)]
        if options.resume:
            trainers = [t for t in trainers if (name, t) not in done]
        if trainers:
            merge(options.output, measure(name, trainers, options), KEYS, **common)
    if rows := stored(options.output, **common):
        print(document(rows, order=list(PROBLEMS)))
    else:
        sys.exit(f"No results of this machine and these versions in {options.output.name}.")


def measure(name: str, trainers: Sequence[str], options: argparse.Namespace) -> list[Row]:
    """The median of some runs of each trainer; the trainers take turns."""
    load(name)  # prepares the arrays, should they not be there yet
    runs: dict[str, list[Row]] = {trainer: [] for trainer in trainers}
    start = time.strftime("%Y-%m-%d %H:%M:%S")
    for _ in range(options.repeats):
        for trainer, before in runs.items():
            if before and not _worth_repeating(before[-1], options.once_over):
                continue
            scans = SCANS if trainer == OURS and problem_of(name).scans else 0
            before.append(
                run(name, trainer, threads=options.threads, limit=options.limit, scans=scans)
            )
            print(f"{name}: {trainer} {_short(before[-1])}", file=sys.stderr, flush=True)
    commit = machine()["commit"]
    return [
        {"set": name, "trainer": trainer, **_median(rows), "run": start, "commit": commit}
        for trainer, rows in runs.items()
    ]


def _applies(trainer: str, name: str) -> bool:
    return trainer not in ONLY_FOR_SPARSE or problem_of(name).is_sparse


def _worth_repeating(row: Row, once_over: float) -> bool:
    return row["status"] == "ok" and row["fit_seconds"] <= once_over


def _median(rows: Sequence[Row]) -> Row:
    """Medians, but the worst of memory, gap and certificate; the status of the last run.

    Runs that had the CPUs to themselves count alone, if there are any.
    """
    quiet = [row for row in rows if row["status"] == "ok" and not disturbed(row)]
    rows = quiet if quiet and rows[-1]["status"] == "ok" else rows
    worst = {"peak_mb": max, "gap": max, "converged": min}
    merged: Row = {"status": rows[-1]["status"], "repeats": len(rows)}
    for key in dict.fromkeys(key for row in rows for key in row if key != "status"):
        values = [row[key] for row in rows if key in row]
        merged[key] = worst.get(key, statistics.median_low)(values)
        if key.endswith("_seconds"):
            merged[f"all_{key}"] = [round(value, 4) for value in values]
    return merged


def _short(row: Row) -> str:
    figures = [f"{k}={v:.4g}" for k, v in row.items() if isinstance(v, int | float)]
    return " ".join([row["status"], *figures])


def versions() -> dict[str, str]:
    found = {}
    for package in ("scikit-learn-intelex", "thundersvm-cpu"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    named = [name for name, problem in PROBLEMS.items() if problem.bar or problem.scans]
    parser.add_argument("--sets", nargs="+", default=named, metavar="SET", help=", ".join(PROBLEMS))
    parser.add_argument("--trainers", nargs="+", default=list(TRAINERS), choices=TRAINERS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300, help="seconds of one fit")
    parser.add_argument("--once-over", type=float, default=60, help="no repeats from here on")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS / "peers.json")
    parser.add_argument("--resume", action="store_true", help="only what is not there yet")
    parser.add_argument("--tables", action="store_true", help="print what is there, run nothing")
    options = parser.parse_args()
    for name in options.sets:
        try:
            problem_of(name)
        except ValueError as error:
            parser.error(str(error))
    return options


if __name__ == "__main__":
    main()
