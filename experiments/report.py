"""The whole report: experiments/report/index.html, index.md, a CSV for each table.

python -m experiments.report [--results FILE] [--output FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from . import (
    certificates,
    conclusions,
    effect_of_c,
    figure_adult,
    figure_single,
    figure_web,
    setting,
    table_8,
    tables_2_3,
    tables_6_7,
)
from .cells import RESULTS, Results
from .page import write

REPORT = Path(__file__).parent / "report"
TITLE = "Training SVMs by Frank-Wolfe methods: the paper's experiments, run again"
PARTS = (
    conclusions,
    tables_2_3,
    figure_web,
    figure_adult,
    figure_single,
    certificates,
    tables_6_7,
    effect_of_c,
    table_8,
    setting,
)


def write_report(results: Results, folder: Path) -> Path:
    return write([part.part(results) for part in PARTS], TITLE, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes the report of what is stored.")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of finished cells")
    parser.add_argument("--output", type=Path, default=REPORT, help="folder of the report")
    options = parser.parse_args()
    print(write_report(Results(options.results), options.output))


if __name__ == "__main__":
    main()
