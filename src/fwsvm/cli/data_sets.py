"""``fwsvm datasets``"""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table as Shown

from ..datasets import Part, available, fetch, find
from .screen import Command, Group, output_options, show_json, show_table


@click.group(cls=Group, invoke_without_command=True)
@output_options
@click.pass_context
def datasets(ctx: click.Context, as_json: bool, quiet: bool) -> None:
    """List the data sets that have a name, or get one of them.

    Looks into the folder that FWSVM_DATA names, the package, and the cache of downloads.
    """
    if ctx.invoked_subcommand is not None:
        return
    if as_json:
        show_json([_described(part) for part in available()])
    elif not quiet:
        show_table(_list())


@datasets.command(cls=Command)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@output_options
def get(names: tuple[str, ...], as_json: bool, quiet: bool) -> None:
    """Print the files of data sets, after downloading what is not here.

    A download is continued where an earlier one was cut, and checked.
    """
    parts = [part for name in names for part in _parts(name)]
    paths = {(part.name, part.split): str(fetch(part.name, part.split)) for part in parts}
    if as_json:
        show_json([{"name": n, "split": s, "file": file} for (n, s), file in paths.items()])
    elif not quiet:
        for file in paths.values():
            click.echo(file)


def _parts(name: str) -> list[Part]:
    parts = [part for part in available() if part.name == name]
    if not parts:
        find(name)  # the error that knows which names are near
    return parts


def _described(part: Part) -> dict[str, Any]:
    found = find(part.name, part.split)
    names = ("name", "split", "rows", "features", "classes", "paper", "source", "url", "licence")
    return {**{name: getattr(part, name) for name in names}, "file": found and str(found)}


def _list() -> Shown:
    table = Shown(box=None, padding=(0, 2, 0, 0))
    for heading in ("name", "rows", "test rows", "features", "classes", "here"):
        table.add_column(heading, justify="left" if heading in ("name", "here") else "right")
    test = {part.name: part for part in available() if part.split == "test"}
    for part in available():
        if part.split != "train":
            continue
        other = test.get(part.name)
        table.add_row(
            part.name,
            f"{part.rows:,}",
            "" if other is None else f"{other.rows:,}",
            f"{part.features:,}",
            "numbers" if part.classes is None else str(part.classes),
            "yes" if find(part.name) else "",
        )
    return table
