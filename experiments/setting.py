"""What was run, where, and what is not as in the paper."""

from __future__ import annotations

from collections import Counter
from typing import Any

from . import plan
from .cells import DISTURBED, Results, Row, is_disturbed, is_stopped
from .figures import NAMES
from .page import Part, Table
from .sets import SETS, listed_sizes
from .summary import grouped, summaries
from .worker import EPSILON, FOLDS, SAMPLE, VALIDATION


def part(results: Results) -> Part:
    return Part(
        "What was run",
        [
            _protocol(),
            _rules(),
            _extent(results),
            _sets(results),
            _cuts(results),
            *_machines(results),
        ],
    )


def _protocol() -> str:
    return (
        "The protocol is the paper's: the Gaussian kernel exp(-|x - z|^2 / (2 sigma^2)) with "
        "sigma^2 the mean squared distance of training rows; C of 1, 2, 4 ... 4096 with the best "
        f"accuracy of CVM on a random {VALIDATION:.0%} of the training set, the least of equals; "
        f"for Pendigits and USPS sigma^2 and C by {FOLDS}-fold cross-validation on a grid. All "
        f"solvers use these. The paper's stop at epsilon = {EPSILON:g}, start from a ball of 20 "
        f"random rows, look at {SAMPLE} rows a step and cache kernel values (200 MB); swap and "
        "blended, pairwise steps, are run in the same way. auto is the default of the package. "
        "Several classes are pairs, one against one. A fit uses one thread, as the programs of the "
        "paper; the time is CPU time in the solver, without checking input. Of the paper's "
        "algorithms it leaves out the final scan of all rows that certifies the gap, which their "
        "programs do not make; that of the default solver contains everything."
    )


def _rules() -> str:
    limits, repeated = plan.LIMITS, plan.REPEATED
    return (
        "Rules keep the whole within about two hours on two cores, in code and before the run: "
        f"\n- A fit is stopped after {limits['tables']:g} s ({limits['polynomial']:g} s with the "
        f"polynomial kernel, {limits['C']:g} s in the experiment on C, "
        f"{plan.LIMIT_OF_LARGEST:g} s on KDD-full, {limits['tuning']:g} s in tuning, "
        f"{limits['grid']:g} s on the grid); it keeps its best model and is marked. The binary "
        "problems of several classes share the time."
        f"\n- A cell is repeated, {plan.REPETITIONS} times at most, while its repetitions "
        f"stay within {repeated['tables']:g} CPU seconds ({repeated['polynomial']:g} s polynomial, "
        f"{repeated['C']:g} s for C); not when it was stopped, and not on KDD-full."
        "\n- The grid is searched from coarse to fine: every fourth power of two of sigma^2 from "
        "2^-15 to 2^5 and of C from 2^-5 to 2^15, then steps of two and of one around the best. "
        "Where a fold is stopped, no other is run at that point."
    )


def _extent(results: Results) -> str:
    rows = [row for _, row in results]
    if not rows:
        return "Nothing was run yet."
    hours = sum(row.get("fit_seconds", 0) + row.get("predict_seconds", 0) for row in rows) / 3600
    stopped = sum(is_stopped(row) for row in rows)
    waited = sum(is_disturbed(row) for row in rows)
    cut_short = sum(is_disturbed(row) and is_stopped(row) for row in rows)
    dates = sorted(row["date"] for row in rows)
    return (
        f"{len(rows):,} cells, {hours:.1f} CPU hours of fits and predictions, run between "
        f"{dates[0]} and {dates[-1]}. {stopped} fits were stopped or refused. In {waited} the wall "
        f"clock exceeded the CPU time by more than {DISTURBED - 1:.0%}, as the CPU was shared: CPU "
        f"times are what counts here. {cut_short} of these were stopped by the clock, and so had "
        "less than their limit."
    )


def _sets(results: Results) -> Table:
    """Table 1 of the paper, what we have of it, and with what parameters."""
    found = summaries(results, "tables", solver="cvm")
    columns = {"set": "", "m": ",", "t": ",", "K": "", "n": ",", "C": "g", "sigma^2": ".4g"}
    columns["what is different here"] = ""
    rows = []
    for name, size in listed_sizes().items():
        row: dict[str, Any] = {"set": name, **{key: size[key] for key in ("m", "t", "K", "n")}}
        if each := found.get((name, "cvm")):
            row |= {"C": each.C, "sigma^2": 0.5 / each.gamma}
        rows.append(row | {"what is different here": SETS[name].differs})
    return Table(
        "table_1_sets", columns, rows, "Sizes as in the paper's Table 1; C and sigma^2 ours."
    )


def _cuts(results: Results) -> Table:
    """The cells with fewer repetitions than planned."""
    columns = {"experiment": "", "set": "", "solver": "", "C": "", "repetitions": "", "why": ""}
    cut: dict[tuple[str, str, str, int, str], list[float]] = {}
    for cells, rows in grouped(results, part="test"):
        first = cells[0]
        if len(rows) == plan.REPETITIONS:
            continue
        key = first.experiment, first.set, first.solver, len(rows), _reason(first.set, rows)
        cut.setdefault(key, []).append(first.C)
    lines = [
        {
            "experiment": experiment,
            "set": name,
            "solver": NAMES[solver],
            "C": ", ".join(f"{C:g}" for C in sorted(values)),
            "repetitions": count,
            "why": why,
        }
        for (experiment, name, solver, count, why), values in cut.items()
    ]
    total = Counter(line["why"] for line in lines)
    caption = "Cells with fewer than five repetitions: " + (
        "; ".join(f"{why}: {count} lines" for why, count in total.items()) or "none"
    )
    return Table("cut_cells", columns, lines, caption + ".")


def _reason(name: str, rows: list[Row]) -> str:
    if any(is_stopped(row) for row in rows):
        return f"stopped after {rows[0]['limit']:g} s"
    return "run once" if name == plan.LARGEST else "budget of repetitions"


def _machines(results: Results) -> list[str | Table]:
    if not results.environments:
        return []
    columns = dict.fromkeys(next(iter(results.environments.values())), "")
    commits = sorted({row["commit"] for _, row in results})
    rows = list(results.environments.values())
    caption = f"Machine and versions. Commits: {', '.join(commits)}."
    return [Table("machines", columns, rows, caption)]
