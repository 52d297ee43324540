"""The quick run: a part of the cells once more, held against the stored results of the full run.

Its cells are those of `plan.QUICK_SETS` with the first seed, but for those that took the full run
more than `plan.QUICK_LIMIT` seconds. They are measured anew each time, in build/, and must come out
as stored: what is random has a seed. Roundings of another machine can lead it elsewhere, but not
further than other seeds do.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from . import plan
from .cells import Cell, Results, is_stopped
from .plan import Job
from .report import write_report
from .run import run
from .sets import PREPARED

FOLDER = PREPARED / "quick"
TOLERANCES = {"accuracy": 0.005, "n_support": 0.05}  # as shares of the stored value
DEVIATIONS = 4.0  # where repetitions differ by more


def main(stored: Path, workers: int) -> int:
    """Runs, writes a report, compares; 1 where something is not as stored."""
    path = FOLDER / "cells.jsonl"
    path.unlink(missing_ok=True)
    full, results = Results(stored), Results(path)
    run(jobs(), results, workers=workers, missing_of=lambda job, so_far: missing(job, so_far, full))
    print(f"report: {write_report(results, FOLDER / 'report')}")
    wrong = list(differences(results, full))
    compared = sum(cell in full for cell, _ in results)
    print(f"{len(results)} cells; {compared} are in {stored.name} and were compared")
    print(*wrong, sep="\n", file=sys.stderr)
    return bool(wrong)


def jobs() -> list[Job]:
    return [job for job in plan.jobs() if job.set in plan.QUICK_SETS and job.experiment != "C"] + [
        Job("C", name) for name in plan.SETS_OF_C if name in plan.QUICK_SETS
    ]


def missing(job: Job, results: Results, full: Results) -> list[Cell]:
    """The first seeds of what is missing, without what is slow."""
    return [
        cell
        for cell in plan.missing(job, results)
        if cell.seed == 0 and cell not in results and not _is_slow(cell, full)
    ]


def _is_slow(cell: Cell, full: Results) -> bool:
    if cell.part != "test" or cell not in full:
        return False  # without the tuning nothing can be run
    return is_stopped(full[cell]) or full[cell]["fit_seconds"] > plan.QUICK_LIMIT


def differences(results: Results, full: Results) -> Iterator[str]:
    """What is not as in the full run; cells that time ended may differ."""
    for cell, row in results:
        if cell in full and not (is_stopped(row) or is_stopped(full[cell])):
            for name, share in TOLERANCES.items():
                most = _tolerance(cell, name, share, full)
                if abs(row[name] - full[cell][name]) > most:
                    yield f"{cell}: {name} is {row[name]:g}, was {full[cell][name]:g} ± {most:.2g}"


def _tolerance(cell: Cell, name: str, share: float, full: Results) -> float:
    """A share of the value, or what it differs by among repetitions."""
    seeds = [replace(cell, seed=seed) for seed in range(plan.REPETITIONS)]
    values = [full[each][name] for each in seeds if each in full and name in full[each]]
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return float(max(share * full[cell][name], DEVIATIONS * deviation))
