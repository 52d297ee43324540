"""The demo: fwsvm next to scikit-learn on real and on large data, and pictures of what it does.

``problems`` says on what, ``comparison`` measures, ``pictures`` draws, ``report`` writes the page.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .. import plots
from ..estimators import SVC
from . import pictures, report
from .comparison import Line, compared, run_for
from .problems import Problem, clusters, real_problems, spiral

__all__ = ["run"]


def run(folder: str | os.PathLike[str], *, quiet: bool = False) -> tuple[Path, list[Line]]:
    """Measure, print a table, and write ``report.html``; its path, and the lines of the table."""
    plots.require_matplotlib()
    place = Path(folder) / "report.html"
    place.parent.mkdir(parents=True, exist_ok=True)
    width = None if sys.stdout.isatty() else 110
    console = Console(highlight=False, quiet=quiet, width=width)
    lines: list[Line] = []
    models: list[tuple[Problem, SVC]] = []
    for problem in (*real_problems(), spiral(), clusters()):
        console.print(f"{problem.name}: {len(problem.y):,} rows of {problem.X.shape[1]} features")
        ours, theirs, svc = compared(problem)
        lines += [ours, theirs]
        models.append((problem, svc))
    console.print()
    console.print(_table(lines))
    for note in report.notes(lines):
        console.print(note)
    console.print("\ndrawing the report ...")
    place.write_text(report.page(lines, _figures(*models[-2:])), encoding="utf-8")
    console.print(f"wrote {place}: open it in a browser")
    return place, lines


def _figures(
    in_the_plane: tuple[Problem, SVC], large: tuple[Problem, SVC]
) -> dict[str, list[pictures.Picture]]:
    problem, svc = large
    seconds = report.SECONDS_OF_OTHER_SOLVERS
    runs = {
        "fwsvm (auto)": svc,
        "MFW, 59 random rows a step": run_for(problem, seconds, solver="mfw", selection=59),
        "pairwise steps, all rows": run_for(problem, seconds, solver="swap"),
    }
    return {
        "ball": pictures.ball(),
        "boundary": pictures.rows_and_boundary(*in_the_plane),
        "convergence": pictures.convergence(runs),
    }


def _table(lines: list[Line]) -> Table:
    table = Table(box=None, padding=(0, 3, 0, 0))
    for k, heading in enumerate(report.HEADINGS):
        table.add_column(heading, justify="left" if k < 2 else "right")
    for line in lines:
        table.add_row(*report.cells(line), style="bold" if line.program == "fwsvm" else "")
    return table
