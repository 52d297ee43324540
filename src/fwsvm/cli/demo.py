"""``fwsvm demo``"""

from __future__ import annotations

import click

from .screen import Command, option, output_options, show_json


@click.command(cls=Command)
@option(
    "--output",
    "-o",
    type=click.Path(file_okay=False),
    default="demo",
    show_default=True,
    help="Folder of the report.",
)
@output_options
def demo(output: str, as_json: bool, quiet: bool) -> None:
    """Train on real and on large sets, next to scikit-learn, and write a report.

    Takes about a minute and no network. Needs pip install fwsvm[plot].
    """
    from ..demo import run

    page, lines = run(output, quiet=quiet or as_json)
    if as_json:
        show_json({"report": str(page), "lines": [line.as_dict() for line in lines]})
