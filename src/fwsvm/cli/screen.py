"""What the user sees: sections in the help, tables, JSON, warnings and errors."""

from __future__ import annotations

import errno
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.table import Table

F = TypeVar("F", bound=Callable[..., Any])

# Of the user, the data or the machine. Anything else is a bug, and shows where.
_FAILURES = (ValueError, OSError, ImportError, MemoryError)


class NewFile(click.Path):
    """A file that can be written: it says so before the work, not after it."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        folder = path.absolute().parent
        if not folder.is_dir():
            self.fail(f"{str(path)!r}: its folder is not there.", param, ctx)
        if not path.exists() and not os.access(folder, os.W_OK):
            self.fail(f"{str(path)!r}: its folder cannot be written to.", param, ctx)
        return str(path)


OUTPUT = NewFile(dir_okay=False, writable=True)


class Section(click.Option):
    """An option under a heading of the help."""

    def __init__(self, *arguments: Any, section: str = "Options", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.section = section


class Command(click.Command):
    """A command whose help has its options under headings."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        # --max_iter is --max-iter
        settings.setdefault("context_settings", {}).setdefault(
            "token_normalize_func", lambda token: token.replace("_", "-")
        )
        super().__init__(*arguments, **settings)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=26)


class Group(click.Group):
    """Commands whose failures are one line and exit code 1."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        warnings.showwarning = _show_warning
        try:
            return super().invoke(ctx)
        except _FAILURES as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise  # nobody reads any more, which click knows how to end
            text = "out of memory" if isinstance(error, MemoryError) else str(error)
            raise click.ClickException(text or type(error).__name__) from error


def option(*names: str, section: str = "Options", **settings: Any) -> Callable[[F], F]:
    """`click.option` under a heading."""
    return click.option(*names, cls=Section, section=section, **settings)


def output_options(command: F) -> F:
    """--json and --quiet."""
    quiet = option("--quiet", "-q", is_flag=True, help="Print only errors, and what was asked for.")
    as_json = option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
    return quiet(as_json(command))


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if category not in (DeprecationWarning, FutureWarning, PendingDeprecationWarning):
        notice(f"Warning: {message}")


@contextmanager
def quietly(quiet: bool) -> Iterator[None]:
    """Warnings go unseen if the user wants silence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "always")
        yield


def notice(text: str) -> None:
    """A line for the user, beside the output."""
    click.echo(text, err=True)


def errors_console() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False)


def as_json(value: Any) -> str:
    """One JSON document."""
    return json.dumps(value, indent=2, default=_plain)


def show_json(value: Any) -> None:
    """The same on standard output."""
    click.echo(as_json(value))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()  # arrays and numbers of NumPy
    raise TypeError(f"{type(value).__name__} has no JSON form")


def show_table(table: Table) -> None:
    """A table on standard output, in full width where that is no terminal."""
    width = None if sys.stdout.isatty() else 200
    Console(highlight=False, width=width).print(table)


def show_facts(title: str, facts: Iterable[tuple[str, Any]]) -> None:
    """Names and values, one a line; None is left out."""
    table = Table(
        title=title, title_justify="left", show_header=False, box=None, padding=(0, 2, 0, 0)
    )
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in facts:
        if value is not None:
            table.add_row(name, str(value))
    show_table(table)


def seconds(value: float) -> str:
    """A duration with as many digits as anybody wants to read."""
    if value < 100:
        return f"{value:.3g} s"
    return f"{int(value) // 3600}:{int(value) // 60 % 60:02d}:{int(value) % 60:02d}"
