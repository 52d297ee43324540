"""python -m experiments: runs what is missing, then writes the report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.runner import data_folder

from .cells import RESULTS
from .plan import jobs
from .run import results_of_here, run


def main() -> None:
    options = _options()
    if data_folder() is None:
        sys.exit("The experiments need the real data sets: set FWSVM_DATA to their folder.")
    results = results_of_here(options.results)
    chosen = [
        job
        for job in jobs()
        if job.experiment in (options.only or [job.experiment])
        and job.set in (options.sets or [job.set])
    ]
    left = run(chosen, results, workers=options.workers, minutes=options.minutes)
    if left:
        print(f"{left} cells are left: the same command goes on with them.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    names = sorted({job.set for job in jobs()})
    parser.add_argument("--only", nargs="+", choices=["tables", "C", "polynomial"])
    parser.add_argument("--sets", nargs="+", choices=names, metavar="SET", help=", ".join(names))
    parser.add_argument("--workers", type=int, default=2, help="cells side by side (2)")
    parser.add_argument("--minutes", type=float, help="begin no new cell after so many")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of finished cells")
    return parser.parse_args()


if __name__ == "__main__":
    main()
