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
from peers_tables import disturbed
from runner import RESULTS, merge, stop_runs_when_stopped, stored, table
from trainers import OURS, TRAINERS

ROWS = {
    "kdd99 normal": (10_000, 31_000, 100_000, 200_000, 494_021),
    "generated": (10_000, 31_000, 100_000, 310_000, 1_000_000, 2_000_000),
    "generated, flips": (10_000, 31_000, 100_000, 310_000),
}
TITLES = {
    "kdd99 normal": "KDD Cup 99 (10 %), 119 features, normal against the rest",
    "generated": "generated, 20 features, overlapping clusters",
    "generated, flips": "the same, 1 % of the labels flipped",
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
                    "fit, s": f"{row['fit_seconds']:.3g}{'~' if disturbed(row) else ''}",
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
    """One panel for each set, a line for each trainer; hollow points were disturbed by others."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    present = [t for t in COLOURS if any(curve(rows, name, t) for name in ROWS)]
    figure, panels = plt.subplots(1, len(ROWS), figsize=(15, 4.6), sharey=True, dpi=150)
    for panel, name in zip(panels, ROWS, strict=True):
        for trainer in present:
            _line(panel, curve(rows, name, trainer), trainer, COLOURS[trainer])
        _decorate(panel, TITLES[name])
    panels[0].set_ylabel("seconds of fit")
    panels[-1].legend(loc="upper left", frameon=False)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return path


def _line(panel: Any, points: Sequence[tuple[int, Row]], trainer: str, colour: str) -> None:
    ours = trainer == OURS
    seconds = [row["fit_seconds"] for _, row in points]
    width, order = (2.4, 3) if ours else (1.5, 2)
    panel.plot([n for n, _ in points], seconds, color=colour, lw=width, zorder=order, label=trainer)
    for n_rows, row in points:
        fill = "white" if disturbed(row) else colour
        panel.plot(n_rows, row["fit_seconds"], "o", mec=colour, mfc=fill, ms=5.5, zorder=order)


def _decorate(panel: Any, title: str) -> None:
    panel.set(xscale="log", yscale="log", xlabel="training rows")
    panel.set_title(title, fontsize=10.5, loc="left")
    panel.grid(True, which="major", color="#d8dee4", lw=0.7)
    panel.spines[["top", "right"]].set_visible(False)
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


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
