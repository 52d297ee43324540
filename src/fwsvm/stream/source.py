"""What a source of rows is: blocks of bounded size, by number, as often as they are asked for."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

MEGABYTE = 2**20
BYTES_OF_BLOCK = 16 * MEGABYTE  # of features, about
# Blocks in memory at a time, with what becomes of them on the way: read ahead, checked, at work.
BLOCKS_AT_ONCE = 8
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {f"{unit}I": 2 ** (10 * power) for power, unit in enumerate("KMGT", 1)}

Paths = str | os.PathLike[str]


@dataclass(frozen=True)
class Block:
    """Rows as they come from a source."""

    X: Any
    y: Any
    weight: Any = None


@dataclass(frozen=True)
class Settings:
    """How a source is trained on.

    Attributes
    ----------
    memory_limit : int
        Bytes that the process may use, all together.
    checkpoint : path, optional
        A file that keeps how far the fit has come; it stays when the fit is done.
    resume : bool
        Go on from the checkpoint, if there is one, of the same data and parameters.
    """

    memory_limit: int
    checkpoint: Paths | None = None
    resume: bool = False

    @classmethod
    def of(
        cls, memory_limit: int | str, checkpoint: Paths | None = None, resume: bool = False
    ) -> Settings:
        if resume and checkpoint is None:
            raise ValueError("resume=True needs checkpoint=..., the file to resume from.")
        return cls(bytes_of(memory_limit), checkpoint, resume)


class Source(ABC):
    """Rows that need not fit in memory, in blocks that are numbered from 0.

    `SVC.fit` takes one in place of X and y. Own kinds say what ``read`` and ``name_of`` do.
    """

    def __init__(self, settings: Settings, files: Iterable[Paths] = ()) -> None:
        self.settings = settings
        self.n_features: int | None = None  # where it is known before all rows have been read
        self.feature_names: list[str] | None = None
        self.blocks_read = 0  # in all passes
        self._stamps = {Path(file): _stamp(Path(file)) for file in files}

    @abstractmethod
    def read(self, number: int) -> Block | None:
        """The block of this number, the same every time; None after the last."""

    def close(self) -> None:  # noqa: B027  # most have nothing open between two blocks
        """What a pass leaves open; the next one opens it again."""

    @abstractmethod
    def name_of(self, number: int) -> str:
        """Where the block is, for messages."""

    def read_checked(self, number: int) -> Block | None:
        """The same, if the files are those of the beginning; errors say where they are."""
        for file, stamp in self._stamps.items():
            if _stamp(file) != stamp:
                raise changed(str(file))
        with located(self, number):
            block = self.read(number)
        self.blocks_read += block is not None
        return block

    def blocks(self, numbers: Iterable[int]) -> Iterator[tuple[int, Block]]:
        """Blocks by number, until there are no more, while a thread reads the next one."""
        with ThreadPoolExecutor(1, "fwsvm-read-ahead") as thread:
            ahead = None
            try:
                for number in numbers:
                    coming = number, thread.submit(self.read_checked, number)
                    if ahead is not None:
                        block = ahead[1].result()
                        if block is None:
                            return
                        yield ahead[0], block
                        del block
                    ahead = coming
                if ahead is not None and (last := ahead[1].result()) is not None:
                    yield ahead[0], last
            finally:
                thread.shutdown(cancel_futures=True)
                self.close()


class ChangedSourceError(ValueError):
    """A source has not the same rows as when the fit began."""


@contextmanager
def located(source: Source, number: int) -> Iterator[None]:
    """Errors about a block say where it is."""
    try:
        yield
    except ValueError as error:
        if isinstance(error, ChangedSourceError):
            raise
        raise ValueError(f"{source.name_of(number)}: {error}") from error


def changed(name: str) -> ChangedSourceError:
    return ChangedSourceError(
        f"{name} has changed since the fit began: its rows are read many times and must stay the "
        "same. Fit again, on a file that nobody writes to."
    )


class MemoryLimitError(ValueError):
    """The rows need more memory than the limit allows."""


def too_small(source: Source, what: str) -> MemoryLimitError:
    return MemoryLimitError(
        f"memory_limit is too small {what}: {source.settings.memory_limit / 1e6:,.0f} MB. Allow "
        "more, or use a smaller C or cache_size."
    )


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns


def bytes_of(memory_limit: int | str) -> int:
    """Bytes meant by a number, or by text such as "2GB", "500 MB" or "1.5GiB"."""
    if isinstance(memory_limit, int | np.integer) and memory_limit > 0:
        return int(memory_limit)
    match = None
    if isinstance(memory_limit, str):
        match = re.fullmatch(r"([0-9]*\.?[0-9]+) *([KMGT]I?|)B?", memory_limit.strip().upper())
    if match is None or float(match[1]) <= 0:
        raise ValueError(
            "memory_limit must be a number of bytes, or text such as '2GB' or '1.5GiB'. Got "
            f"{memory_limit!r} instead."
        )
    return int(float(match[1]) * _UNITS[match[2]])


def checked_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64. Got {kind} instead.")
    return kind


def rows_of_block(bytes_of_row: float) -> int:
    return max(1, int(BYTES_OF_BLOCK / max(1.0, bytes_of_row)))


def files_of(paths: Any, endings: tuple[str, ...]) -> list[Path]:
    """One file, those of a folder (in the order of their names), or a list of files."""
    if isinstance(paths, str | os.PathLike):
        path = Path(paths)
        if not path.is_dir():
            found = [path]
        else:
            found = sorted(p for p in path.rglob("*") if p.suffix in endings and p.is_file())
            if not found:
                raise FileNotFoundError(
                    f"{path} has no files that end with {' or '.join(endings)}."
                )
    else:
        found = [Path(path) for path in paths]
    for path in found:
        if not path.is_file():
            raise FileNotFoundError(f"{path} is not there, or not a file.")
    return found
