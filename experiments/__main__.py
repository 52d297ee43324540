"""Runs the experiments that were not run yet, then writes the report.

python -m experiments            all of them
python -m experiments --quick    a part of them, compared with the stored results of the full run
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.runner import data_folder

from . import quick
from .cells import RESULTS, Row, is_disturbed, is_stopped
from .plan import jobs
from .report import REPORT, write_report
from .run import results_of_here, run


def main() -> None:
    options = _options()
    if data_folder() is None:
        sys.exit("The experiments need the real data sets: set FWSVM_DATA to their folder.")
    if options.quick:
        sys.exit(quick.main(options.results, options.workers))
    results = results_of_here(options.results)
    if options.again:
        forgotten = results.forget(_is_unfair)
        print(f"{forgotten} cells are run again")
    chosen = [
        job
        for job in jobs()
        if job.experiment in (options.only or [job.experiment])
        and job.set in (options.sets or [job.set])
    ]
    left = run(chosen, results, workers=options.workers, minutes=options.minutes)
    print(f"report: {write_report(results, options.output)}")
    if left:
        print(f"{left} cells are left: the same command goes on with them.")


def _is_unfair(row: Row) -> bool:
    """Stopped by a clock that also ran for others; not in tuning, on which other cells depend."""
    return row["part"] == "test" and is_stopped(row) and is_disturbed(row)


def _options() -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m experiments", None, __doc__, formatter_class=form)
    names = sorted({job.set for job in jobs()})
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=["tables", "C", "polynomial"])
    parser.add_argument("--sets", nargs="+", choices=names, metavar="SET", help=", ".join(names))
    parser.add_argument(
        "--again", action="store_true", help="also what was stopped while others used the CPU"
    )
    parser.add_argument("--workers", type=int, default=2, help="cells side by side (2)")
    parser.add_argument("--minutes", type=float, help="begin no new cell after so many")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of finished cells")
    parser.add_argument("--output", type=Path, default=REPORT, help="folder of the report")
    return parser.parse_args()


if __name__ == "__main__":
    main()
