"""Fit time against rows: growing parts of a real and of a generated set, fwsvm beside its peers.

    python benchmarks/growth.py [--sets "kdd99 normal" generated] [--most-rows 2000000] [--plot]

Each trainer stops growing at its first run past the limit. Results are merged into
benchmarks/results/growth.json and drawn as growth.png; --plot only draws what is there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from peers import KEYS, measure, versions
from runner import RESULTS, merge, stored, table
from trainers import OURS, TRAINERS, stop_runs_when_stopped

ROWS = {
    "kdd99 normal": (10_000, 31_000, 100_000, 200_000, 494_021),
    "generated": (10_000, 31_000, 100_000, 310_000, 1_000_000, 2_000_000),
}
TITLES = {
    "kdd99 normal": "KDD Cup 99 (10 %), 119 features, normal against the rest",
    "generated": "generated, 20 features, 1 % of the labels flipped",
}
COLOURS = {
    "fwsvm": "#d1242f",
    "sklearnex": "#0969da",
    "scikit-learn": "#6e7781",
    "thundersvm": "#9a6700",
    "nystroem": "#1a7f37",
}
SLOPE_BAR = 1.0
Row = dict[str, Any]


def main() -> None:
    options = _options()
    stop_runs_when_stopped()
    common = {"threads": options.threads, **versions()}
    for name in [] if options.plot else options.sets:
        for rows in grow(name, options):
            merge(options.output, rows, KEYS, **common)
    rows = stored(options.output, **common)
    if not rows:
        sys.exit(f"No results of this machine and these versions in {options.output.name}.")
    print(growth_table(rows))
    print(f"drawn: {draw(rows, options.output.with_suffix('.png')).name}")


def grow(name: str, options: argparse.Namespace) -> Iterator[list[Row]]:
    """All trainers on more and more rows, each until one of its runs takes too long or fails."""
    trainers = list(options.trainers)
    for n_rows in ROWS[name]:
        if trainers and options.least_rows <= n_rows <= options.most_rows:
            rows = measure(f"{name}@{n_rows}", trainers, options)
            yield rows
            trainers = [row["trainer"] for row in rows if row["status"] == "ok"]


# --------------------------------------------------------------------------------------- reports


def curve(rows: Sequence[Row], name: str, trainer: str) -> list[tuple[int, Row]]:
    """The finished fits of a trainer on the parts of a set, by their number of rows."""
    found = [
        (int(row["set"].partition("@")[2]), row)
        for row in rows
        if row["set"].startswith(f"{name}@") and row["trainer"] == trainer and "fit_seconds" in row
    ]
    return sorted(found, key=lambda pair: pair[0])


def growth_table(rows: Sequence[Row]) -> str:
    """Our fits, and how their time grows with rows x support vectors."""
    lines = []
    for name in ROWS:
        for n_rows, row in curve(rows, name, OURS):
            work = n_rows * row["n_support"]
            lines.append(
                {
                    "set": name,
                    "rows": str(n_rows),
                    "support vectors": str(row["n_support"]),
                    "fit, s": row["fit_seconds"],
                    "ns / (rows x support vectors)": 1e9 * row["fit_seconds"] / work,
                    "peak MB": f"{row['peak_mb']:.0f}" if "peak_mb" in row else "",
                    "accuracy": f"{row['accuracy']:.2f}" if "accuracy" in row else "",
                }
            )
    return "\n".join([table(lines), "", *(_slope_line(rows, name) for name in ROWS)])


def _slope_line(rows: Sequence[Row], name: str) -> str:
    points = curve(rows, name, OURS)
    if len(points) < 2:
        return f"{name}: a slope needs fits of two sizes."
    slope = exponent(
        [n * row["n_support"] for n, row in points], [row["fit_seconds"] for _, row in points]
    )
    met = "yes" if slope <= SLOPE_BAR else "NO"
    return f"{name}: fit time grows as (rows x support vectors)^{slope:.2f}, bar 1: {met}"


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The power of x that y grows with, by least squares of the logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def draw(rows: Sequence[Row], path: Path) -> Path:
    """One panel for each set, a line for each trainer."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(ROWS), figsize=(11, 4.6), sharey=True, dpi=150)
    for panel, name in zip(panels, ROWS, strict=True):
        for trainer, colour in COLOURS.items():
            points = curve(rows, name, trainer)
            if points:
                _line(panel, points, trainer, colour)
        _decorate(panel, TITLES[name])
    panels[0].set_ylabel("seconds of fit")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return path


def _line(panel: Any, points: Sequence[tuple[int, Row]], trainer: str, colour: str) -> None:
    n_rows = [n for n, _ in points]
    seconds = [row["fit_seconds"] for _, row in points]
    ours = trainer == OURS
    panel.plot(
        n_rows, seconds, "o-", color=colour, lw=2.4 if ours else 1.5, ms=5 if ours else 4,
        zorder=3 if ours else 2,
    )  # fmt: skip
    panel.annotate(
        trainer, (n_rows[-1], seconds[-1]), xytext=(7, 0), textcoords="offset points",
        color=colour, va="center", fontsize=10, weight="bold" if ours else "normal",
    )  # fmt: skip


def _decorate(panel: Any, title: str) -> None:
    panel.set(xscale="log", yscale="log", xlabel="training rows")
    panel.set_title(title, fontsize=10.5, loc="left")
    panel.grid(True, which="major", color="#d8dee4", lw=0.7)
    panel.spines[["top", "right"]].set_visible(False)
    left, right = panel.get_xlim()
    panel.set_xlim(left, right * 3)  # room for the names


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(ROWS), choices=ROWS)
    parser.add_argument("--trainers", nargs="+", default=list(COLOURS), choices=TRAINERS)
    parser.add_argument("--least-rows", type=int, default=0)
    parser.add_argument("--most-rows", type=int, default=2_000_000)
    parser.add_argument("--limit", type=float, default=100, help="seconds of one fit")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--once-over", type=float, default=10, help="no repeats from here on")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS / "growth.json")
    parser.add_argument("--plot", action="store_true", help="draw what is there, run nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
