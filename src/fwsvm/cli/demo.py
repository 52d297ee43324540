"""``fwsvm demo``"""

from __future__ import annotations

import click

from .screen import Command, option


@click.command(cls=Command)
@option(
    "--output",
    "-o",
    type=click.Path(file_okay=False),
    default="demo",
    show_default=True,
    help="Folder of the report.",
)
@option("--quiet", "-q", is_flag=True, help="Print only errors.")
def demo(output: str, quiet: bool) -> None:
    """Train on a real and on a large set, next to scikit-learn, and write a report.

    Takes about a minute and no network. Needs pip install fwsvm[plot].
    """
    from ..demo import run

    run(output, quiet=quiet)
