"""Tables 2 and 3 of the paper, accuracies and times on all sets, and the speed-ups they give."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from .cells import OF_PAPER, SOLVERS, Results
from .figures import NAMES
from .page import Part, Table
from .script import main
from .sets import SETS
from .significance import accuracies_of_paper, seconds_of_paper
from .summary import Summaries, Summary, speed_up, summaries

STOPPED = "* stopped by the limit of time"
ABSENT = f"Absent here: {', '.join(name for name, each in SETS.items() if not each.data)}."


def part(results: Results) -> Part:
    found = summaries(results, "tables")
    return Part(
        "Tables 2 and 3: accuracies, times, speed-ups",
        [
            "Means of the repetitions, with the standard deviation where there are several. The "
            "paper's values stand first. Their machine was another one, so the third table "
            "compares speed-ups over CVM: the last columns are ours divided by the paper's.",
            _table("table_2_accuracy", found, accuracies_of_paper(), _accuracy, ".2f",
                   f"Test accuracy in percent (Table 2). {ABSENT}"),
            _table("table_3_seconds", found, seconds_of_paper(), _seconds, "3",
                   "Training time in seconds (Table 3): theirs of 2010, ours CPU time of one "
                   f"thread, in the solver. {STOPPED}."),
            _speed_ups(found),
        ],
    )  # fmt: skip


def _accuracy(each: Summary) -> tuple[float, float]:
    return each.accuracy, each.accuracy_std


def _seconds(each: Summary) -> tuple[float, float]:
    return each.seconds, each.seconds_std


def _table(
    name: str,
    found: Summaries,
    papers: Mapping[str, Mapping[str, float]],
    values: Callable[[Summary], tuple[float, float]],
    form: str,
    caption: str,
) -> Table:
    columns: dict[str, str | None] = {"set": ""} | {f"{NAMES[s]}, paper": form for s in OF_PAPER}
    for solver in SOLVERS:
        columns |= {NAMES[solver]: form, f"deviation of {NAMES[solver]}": None}
    rows = []
    for set_name in SETS:
        row: dict[str, Any] = {"set": set_name}
        row |= {f"{NAMES[s]}, paper": papers[s][set_name] for s in OF_PAPER}
        for solver in SOLVERS:
            if each := found.get((set_name, solver)):
                mean, deviation = values(each)
                mark = "" if math.isnan(deviation) else f" ± {deviation:.1g}"
                row[NAMES[solver]] = mean, mark + ("*" if each.is_stopped else "")
                row[f"deviation of {NAMES[solver]}"] = deviation
        rows.append(row)
    return Table(name, columns, rows, caption)


def _speed_ups(found: Summaries) -> Table:
    columns = {"set": "", "rows": ","}
    for solver in OF_PAPER[1:]:
        columns |= {f"{NAMES[solver]}, paper": "3"}
    columns |= {NAMES[solver]: "3" for solver in SOLVERS[1:]}
    for solver in OF_PAPER[1:]:
        columns |= {f"{NAMES[solver]}, ours / paper's": "3"}
    papers, rows = seconds_of_paper(), []
    for name in dict.fromkeys(name for name, _ in found):
        row: dict[str, Any] = {"set": name, "rows": found[name, _any_solver(found, name)].n_train}
        for solver in SOLVERS[1:]:
            ours = speed_up(found, name, solver)
            if ours is None:
                continue
            row[NAMES[solver]] = ours, "*" if found[name, solver].is_stopped else ""
            if solver in OF_PAPER and name in papers[solver]:
                theirs = papers["cvm"][name] / papers[solver][name]
                row[f"{NAMES[solver]}, paper"] = theirs
                row[f"{NAMES[solver]}, ours / paper's"] = ours / theirs
        rows.append(row)
    caption = f"Speed-up over CVM: its time by that of the solver. {STOPPED}, so at most this much."
    return Table("speed_ups", columns, rows, caption)


def _any_solver(found: Summaries, name: str) -> str:
    return next(solver for set_name, solver in found if set_name == name)


if __name__ == "__main__":
    main(part, "tables")
