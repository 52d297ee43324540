"""Data sets by name: the sets of the Frank-Wolfe SVM paper and other LIBSVM and UCI classics.

    X, y = datasets.load("mushrooms")

`find` looks in the folder that the environment variable ``FWSVM_DATA`` names, then among the sets
that come with the package (mushrooms, dna.scale), then in the cache of earlier downloads.
`fetch` downloads what is in none of them. `available` lists everything.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..data.table import compact
from .registry import Part, Split, available, content_checksum, part_of, read_checked
from .transfer import Progress, download

__all__ = ["Part", "available", "cache_folder", "content_checksum", "fetch", "find", "load"]

_ENDINGS = ("", ".xz", ".bz2", ".gz")
_SHIPPED = Path(__file__).parent / "shipped"


def load(name: str, split: Split = "train") -> tuple[Any, NDArray[Any]]:
    """Rows and targets of a data set, downloaded if it is not here.

    Parameters
    ----------
    name : str
        One of the names of `available`.
    split : {"train", "test"}

    Returns
    -------
    X : csr_array or ndarray of float32
        CSR where most values are zero.
    y : ndarray
        int64, or float64 where targets are not integers.
    """
    table = read_checked(part_of(name, split), fetch(name, split))
    assert table.y is not None  # LIBSVM text has labels
    return compact(table.X), table.y


def fetch(name: str, split: Split = "train", *, progress: Progress | None = None) -> Path:
    """The file of a data set, downloaded into the cache if it is not here.

    A download is compared with the registry (see `content_checksum`) before it is put in place.
    ``progress(received, total)`` is called with bytes; by default a bar is drawn on a terminal.
    """
    part = part_of(name, split)
    found = find(name, split)
    if found is not None:
        return found
    if part.url is None:
        raise FileNotFoundError(
            f"{part.name} ({part.split}) is not published as LIBSVM text. Make it from "
            f"{part.source} and put it, as {part.file} or {part.file}.xz, into the folder that "
            "FWSVM_DATA names."
        )
    path = cache_folder() / _name_in_cache(part)
    download(part.url, path, lambda file: read_checked(part, file), progress)
    return path


def find(name: str, split: Split = "train") -> Path | None:
    """The file of a data set if it is on this machine."""
    part = part_of(name, split)
    folders = [_SHIPPED, cache_folder()]
    if os.environ.get("FWSVM_DATA"):
        folders.insert(0, Path(os.environ["FWSVM_DATA"]))
    candidates = [folder / (part.file + ending) for folder in folders for ending in _ENDINGS]
    return next((path for path in candidates if path.is_file()), None)


def cache_folder() -> Path:
    """Where downloads are kept: ``FWSVM_CACHE``, or the platform's place for caches."""
    if os.environ.get("FWSVM_CACHE"):
        return Path(os.environ["FWSVM_CACHE"])
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "fwsvm"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "fwsvm"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "fwsvm" / "Cache"
    return Path.home() / ".cache" / "fwsvm"


def _name_in_cache(part: Part) -> str:
    """As in a data folder, with the packing of the public file."""
    suffix = Path(part.url or "").suffix
    return part.file + (suffix if suffix in _ENDINGS else "")
