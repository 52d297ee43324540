"""What is run: a cell is one fit (or its ten folds), and `Results` keeps what was measured.

The file of results is a line of JSON for each finished cell, written at once, so that a run that
is stopped at any moment loses no more than the cells it was at. A line {"environment": number, ...}
says once on what machine and with what versions the cells that name this number were measured.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "cells.jsonl"
SOLVERS = ("cvm", "fw", "mfw", "swap", "blended", "auto")
OF_PAPER = ("cvm", "fw", "mfw")
DISTURBED = 1.1  # wall clock by CPU time from which a fit had to wait for the CPU
Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A fit of ``limit`` seconds at most; trained on the training set and tested on the "test"
    set, or on 70 % of the training rows and tested on the other 30 % ("validation"), or on ten
    folds of the training set ("folds").
    """

    experiment: str  # "tables", "C", "polynomial"
    set: str
    solver: str
    C: float
    gamma: float
    limit: float
    seed: int = 0
    kernel: str = "rbf"
    part: str = "test"


_NAMES = tuple(field.name for field in fields(Cell))


class Results:
    """The finished cells, and the file that they are kept in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.environments: dict[int, Row] = {}
        self._rows: dict[Cell, Row] = {}
        self._lock = threading.Lock()
        for line in _whole_lines(path):
            self._take(json.loads(line))

    def __contains__(self, cell: Cell) -> bool:
        return cell in self._rows

    def __getitem__(self, cell: Cell) -> Row:
        return self._rows[cell]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[tuple[Cell, Row]]:
        with self._lock:
            return iter(list(self._rows.items()))

    def of(self, **wanted: Any) -> list[tuple[Cell, Row]]:
        """The finished cells with these values, in the order of their seeds."""
        found = [
            (cell, row)
            for cell, row in self
            if all(getattr(cell, name) == value for name, value in wanted.items())
        ]
        return sorted(found, key=lambda pair: pair[0].seed)

    def add(self, cell: Cell, measured: Row, environment: int) -> None:
        row = {**asdict(cell), **measured, "environment": environment}
        with self._lock:
            self._append(row)
            self._take(row)

    def number_of(self, environment: Row) -> int:
        """The number of an environment, which is written down if it is a new one."""
        for number, known in self.environments.items():
            if known == environment:
                return number
        number = len(self.environments)
        with self._lock:
            self._append({"environment": number, **environment})
            self.environments[number] = environment
        return number

    def forget(self, is_unwanted: Callable[[Row], bool]) -> int:
        """Takes cells out, also of the file; how many."""
        lines = [json.dumps({"environment": n, **e}) for n, e in self.environments.items()]
        kept = {cell: row for cell, row in self if not is_unwanted(row)}
        forgotten = len(self) - len(kept)
        unfinished = self.path.with_suffix(".unfinished")
        lines += [json.dumps(row) for row in kept.values()]
        unfinished.write_text("".join(f"{line}\n" for line in lines))
        unfinished.replace(self.path)
        self._rows = kept
        return forgotten

    def begin_anew(self) -> Path:
        """Moves the file away; where it is now."""
        number = 1
        while (kept := self.path.with_suffix(f".{number}.jsonl")).exists():
            number += 1
        self.path.rename(kept)
        self._rows, self.environments = {}, {}
        return kept

    def _take(self, row: Row) -> None:
        if "set" in row:
            self._rows[Cell(**{name: row[name] for name in _NAMES})] = row
        else:
            self.environments[row.pop("environment")] = row

    def _append(self, row: Row) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def _whole_lines(path: Path) -> Iterable[str]:
    """All lines but a last one that was cut off in writing, which is removed."""
    if not path.exists():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return whole.splitlines()


# ----------------------------------------------------------------------------- figures of a row


def seconds(row: Row) -> float:
    """CPU seconds of training: of the solver, without the certificate at the end of the paper's
    algorithms, which their programs did not compute; the default solver stops by it.
    """
    certificate = 0.0 if row["solver"] == "auto" else row["certificate_seconds"]
    return float(row["solver_seconds"] - certificate)


def is_disturbed(row: Row) -> bool:
    """Whether it had to wait for a CPU that others used, too."""
    return bool(row.get("fit_wall_seconds", 0) > DISTURBED * row.get("fit_seconds", 0) + 0.05)


def is_stopped(row: Row) -> bool:
    """Whether the limit of time ended it, or some of its binary problems."""
    return bool(row["status"] != "ok" or row["statuses"].get("max_time", 0))
