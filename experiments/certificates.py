"""How far from the optimum each run stopped."""

from __future__ import annotations

from typing import Any

from .cells import SOLVERS, Results
from .figures import NAMES
from .page import Part, Table
from .script import main
from .summary import summaries


def part(results: Results) -> Part:
    found = summaries(results, "tables")
    columns = {"set": "", "rows": ",", "C": "g"} | {NAMES[s]: ".1e" for s in SOLVERS}
    columns |= {f"{NAMES[s]}, iterations": ",.0f" for s in SOLVERS}
    rows = []
    for name in dict.fromkeys(name for name, _ in found):
        of_set = {solver: found[name, solver] for solver in SOLVERS if (name, solver) in found}
        first = next(iter(of_set.values()))
        row: dict[str, Any] = {"set": name, "rows": first.n_train, "C": first.C}
        for solver, each in of_set.items():
            row[NAMES[solver]] = each.gap, "*" if each.is_stopped else ""
            row[f"{NAMES[solver]}, iterations"] = each.iterations
        rows.append(row)
    return Part(
        "The certified gaps",
        [
            "The gap (P - D) / P between the primal and the dual value of the model, computed from "
            "all rows at the end: how far from the optimum a run can be, in parts of the "
            "objective. The rule of the paper, epsilon = 1e-6 relative to the radius of the ball, "
            "bounds it less and less as sets grow; the default solver stops by the gap, at 1e-3. "
            "Of several binary problems and repetitions the worst counts.",
            Table("certified_gaps", columns, rows, "* stopped by the limit of time"),
        ],
    )


if __name__ == "__main__":
    main(part, "tables")
