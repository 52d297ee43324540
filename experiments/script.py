"""What the script of a table or figure does when it is run by itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from .cells import RESULTS, Results
from .page import Part, markdown
from .plan import jobs
from .run import results_of_here, run


def main(
    part_of: Callable[[Results], Part], experiment: str, sets: list[str] | None = None
) -> None:
    """Runs the cells of the experiment that are missing, and prints the part as Markdown."""
    parser = argparse.ArgumentParser(description="One part of the report.")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of finished cells")
    parser.add_argument("--stored", action="store_true", help="show what is there, run nothing")
    options = parser.parse_args()
    if options.stored:
        results = Results(options.results)
    else:
        results = results_of_here(options.results)
        chosen = [job for job in jobs() if job.experiment == experiment]
        run([job for job in chosen if sets is None or job.set in sets], results)
    part = part_of(results)
    print(markdown([part], part.title))
