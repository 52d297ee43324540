"""The results of peers.py as Markdown, each bar beside what was reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from problems import Problem, problem_of
from runner import table
from trainers import APPROXIMATE, CACHE_MB, LANDMARKS, OURS, TRAINERS

ACCURACY_LOSS = 0.15  # points that ours may lose against the best of the peers
PREDICTION_FACTOR = 30  # of scikit-learn's time
MEMORY_MB = 300  # beside the data and the cache
SUMMARISED = {
    OURS: "fwsvm",
    "sklearnex": "scikit-learn-intelex",
    "scikit-learn": "scikit-learn",
    "thundersvm": "ThunderSVM",
}
MOST_OF_OTHERS = 0.1  # CPUs; beside more a run is disturbed
Row = dict[str, Any]
Cells = dict[str, str]
OfSet = dict[str, Row]  # the row of each trainer

NOTES = f"""\
Peers solve the hinge problem at the same C and gamma to their default tolerance, on float32 and
CSR. "sklearnex dense" and thundersvm get sparse sets made dense before the clock starts:
thundersvm is faster that way, sklearnex sometimes. "nystroem" is Nystroem({LANDMARKS} landmarks) +
LinearSVC(same C), one against the rest; an approximation, it counts as a peer only where its
accuracy is within {ACCURACY_LOSS} points of the best. A star: ours and the fastest peer come from
different runs. Every run is a process of its own, and those of a set take turns; a trainer that
took longer than a minute was not repeated. A run beside which other processes used a tenth of a
CPU or more counts only where there is no better one, and is then marked ~. A scan is one product
of all rows, equal ones included, with all support vectors."""


def document(rows: Iterable[Row], order: Sequence[str]) -> str:
    """All tables."""
    rows = list(rows)
    names = sorted({row["set"] for row in rows}, key=lambda s: _place(order, s))
    sets = {name: {row["trainer"]: row for row in rows if row["set"] == name} for name in names}
    parts = {
        "Fit, seconds": fit_cells,
        "Test accuracy, % (support vectors)": accuracy_cells,
        "Prediction of all test rows, seconds": prediction_cells,
        "fwsvm alone": own_cells,
    }
    details = [_part(t, cells, sets) for t, cells in parts.items()]
    return "\n\n".join(filter(None, [summary(rows, order), *details, NOTES]))


def summary(rows: Iterable[Row], order: Sequence[str]) -> str:
    """The table of the README: seconds of fit on the sets that have a bar."""
    lines = []
    for name in order:
        of_set = {row["trainer"]: row for row in rows if row["set"] == name}
        if problem_of(name).bar is None or OURS not in of_set:
            continue
        forms = [
            of_set[t] for t in of_set if t.startswith("sklearnex") and "fit_seconds" in of_set[t]
        ]
        fastest = {"sklearnex": min(forms, key=lambda row: row["fit_seconds"])} if forms else {}
        shown = of_set | fastest
        lines.append(
            {"set (C)": f"{problem_of(name).data} ({problem_of(name).C:g})"}
            | {
                title: _number(shown[t], "fit_seconds") if t in shown else ""
                for t, title in SUMMARISED.items()
            }
            | {"ours / fastest": fit_cells(problem_of(name), of_set)["ours / fastest"]}
        )
    used = [c for c in lines[0] if any(line[c] for line in lines)] if lines else []
    return table([{c: line[c] for c in used} for line in lines]) if lines else ""


def _place(order: Sequence[str], name: str) -> tuple[int, str]:
    base = name.partition("@")[0]
    return (order.index(base) if base in order else len(order), name)


def _part(title: str, cells: Callable[[Problem, OfSet], Cells], sets: dict[str, OfSet]) -> str:
    used = [t for t in TRAINERS if any(t in of_set for of_set in sets.values())]
    lines = []
    for name, of_set in sets.items():
        line = cells(problem_of(name), of_set)
        columns = [t for t in used if cells is not own_cells]
        lines.append({"set": name} | {t: line.pop(t, "") for t in columns} | line)
    return f"**{title}**\n\n{table(lines)}"


# ------------------------------------------------------------------------------- one row of a set


def fit_cells(problem: Problem, of_set: OfSet) -> Cells:
    cells = {t: _number(row, "fit_seconds") for t, row in of_set.items()}
    ours, peer = of_set.get(OURS, {}), fastest_peer(of_set)
    ratio = None
    if peer is not None and "fit_seconds" in ours:
        ratio = ours["fit_seconds"] / peer["fit_seconds"]
    star = "" if peer is None or peer["run"] == ours.get("run") else "*"
    return cells | {"ours / fastest": _shown(ratio) + star, "bar": _bar(ratio, problem.bar)}


def accuracy_cells(problem: Problem, of_set: OfSet) -> Cells:
    cells = {
        t: f"{row['accuracy']:.2f} ({row['n_support']})" if "accuracy" in row else row["status"]
        for t, row in of_set.items()
    }
    best = best_accuracy(of_set)
    ours = of_set.get(OURS, {}).get("accuracy")
    loss = None if best is None or ours is None else best - ours
    shown = "" if loss is None else f"{-loss:+.2f}"
    return cells | {"ours - best": shown, "bar": _bar(loss, ACCURACY_LOSS, f">= -{ACCURACY_LOSS}")}


def prediction_cells(problem: Problem, of_set: OfSet) -> Cells:
    cells = {t: _number(row, "predict_seconds") for t, row in of_set.items()}
    ours = of_set.get(OURS, {}).get("predict_seconds")
    slow = of_set.get("scikit-learn", {}).get("predict_seconds")
    fast = [
        row["predict_seconds"]
        for t, row in of_set.items()
        if t.startswith("sklearnex") and "predict_seconds" in row
    ]
    to_slow = None if ours is None or slow is None else slow / ours
    to_fast = None if ours is None or not fast else min(fast) / ours
    return cells | {
        "scikit-learn / ours": _shown(to_slow),
        f"bar {PREDICTION_FACTOR}": _met(to_slow, lambda x: x >= PREDICTION_FACTOR),
        "sklearnex / ours": _shown(to_fast),
        "bar 1": _met(to_fast, lambda x: x > 1),
    }


def own_cells(problem: Problem, of_set: OfSet) -> Cells:
    """Certificate, memory, and the distance from the limit of what a fit must compute."""
    row = of_set.get(OURS, {})
    peak, most = row.get("peak_mb"), None
    if peak is not None:
        most = row["data_mb"] + CACHE_MB + MEMORY_MB
    scans = row["fit_seconds"] / row["scan_seconds"] if "scan_seconds" in row else None
    return {
        "certified gap": f"{row['gap']:.1e}" if "gap" in row else row.get("status", ""),
        "converged": {True: "yes", False: "NO"}.get(row.get("converged"), ""),
        "peak MB": "" if peak is None else f"{peak:.0f}",
        "memory bar": "" if most is None else _bar(peak, most, f"<= {most:.0f}"),
        "one scan, s": _shown(row.get("scan_seconds")),
        "fit / scan": _shown(scans),
        "scan bar": _bar(scans, problem.scans),
    }


# ------------------------------------------------------------------------------------ comparisons


def fastest_peer(of_set: OfSet) -> Row | None:
    """Of the trainers of the exact problem, and of approximations that are as accurate."""
    best = best_accuracy(of_set)
    fitted = [
        row
        for t, row in of_set.items()
        if t != OURS
        and "fit_seconds" in row
        and (t not in APPROXIMATE or _as_accurate(row.get("accuracy"), best))
    ]
    return min(fitted, key=lambda row: row["fit_seconds"], default=None)


def best_accuracy(of_set: OfSet) -> float | None:
    found = [row["accuracy"] for t, row in of_set.items() if t != OURS and "accuracy" in row]
    return max(found, default=None)


def _as_accurate(accuracy: float | None, best: float | None) -> bool:
    return accuracy is not None and best is not None and accuracy >= best - ACCURACY_LOSS


def disturbed(row: Row) -> bool:
    """Whether other processes used the CPUs beside the runs, or nobody looked."""
    return row.get("cpus_of_others", 1.0) >= MOST_OF_OTHERS


def _number(row: Row, key: str) -> str:
    text = _shown(row[key]) if key in row else row["status"]
    timed = key in row or text.startswith(">")
    return text + "~" * (timed and disturbed(row))


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _bar(value: float | None, most: float | None, text: str = "") -> str:
    if most is None:
        return ""
    return f"{text or f'<= {most:g}'} {_met(value, lambda x: x <= most)}".strip()


def _met(value: float | None, reached: Callable[[float], bool]) -> str:
    return "" if value is None else "yes" if reached(value) else "NO"
