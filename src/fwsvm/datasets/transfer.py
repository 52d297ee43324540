"""One file from a public address: resumed where it was cut, tried again, put in place at once."""

from __future__ import annotations

import email.utils
import http.client
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

Progress = Callable[[int, int | None], None]

WAITS = (1.0, 2.0, 4.0)  # seconds before each further attempt
TIMEOUT = 30.0
_BYTES_OF_PIECE = 1 << 16


def download(
    url: str, path: Path, check: Callable[[Path], Any], progress: Progress | None = None
) -> None:
    """Get the file, check it, and move it to ``path``; a file that fails the check is removed.

    What is there of an earlier attempt, also of an earlier process, is continued if the server
    still has the same version of the file (by its date).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    left = path.with_name(path.name + ".part")
    # Others may want the same file now: what is left belongs to the first one to rename it.
    own = path.with_name(f"{path.name}.part-{uuid.uuid4().hex}")
    with suppress(FileNotFoundError):
        left.rename(own)
    try:
        _get(url, own, progress or _bar(path.name))
        check(own)
        own.replace(path)
    except ValueError as error:
        own.unlink(missing_ok=True)
        raise ValueError(
            f"what came from {url} is not what was expected, and was removed: {error}"
        ) from error
    finally:
        if own.exists() and own.stat().st_size:
            own.replace(left)
        own.unlink(missing_ok=True)


def _get(url: str, own: Path, progress: Progress) -> None:
    """The whole file, in as many attempts as there are waits, and one."""
    for wait in (*WAITS, None):
        try:
            return _attempt(url, own, progress)
        except (OSError, http.client.HTTPException) as error:
            status = error.code if isinstance(error, urllib.error.HTTPError) else None
            if status == 416:  # what is here is longer than the file, so it is not its begin
                own.unlink()
            is_final = status is not None and status < 500 and status != 416
            if wait is None or is_final:
                raise ConnectionError(
                    f"{url} could not be downloaded: {error}. Run again to continue, or put the "
                    "file into the folder that FWSVM_DATA names."
                ) from error
            time.sleep(wait)


def _attempt(url: str, own: Path, progress: Progress) -> None:
    """One request, for what is missing of the file."""
    have = own.stat().st_size if own.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "fwsvm"})
    if have:
        date = email.utils.formatdate(own.stat().st_mtime, usegmt=True)
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", date)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        if response.status != 206:
            have = 0
        length = response.headers.get("Content-Length")
        total = None if length is None else have + int(length)
        try:
            with own.open("ab" if have else "wb") as file:
                while piece := response.read(_BYTES_OF_PIECE):
                    file.write(piece)
                    have += len(piece)
                    progress(have, total)
            if total is not None and have < total:
                raise ConnectionError(f"the connection was cut after {have} of {total} bytes")
        except BaseException:  # Ctrl-C, too
            _remember_version(own, response.headers.get("Last-Modified"))
            raise


def _remember_version(own: Path, last_modified: str | None) -> None:
    """Gives a part the date of its file; without a date it cannot be continued and is emptied."""
    date = email.utils.parsedate_to_datetime(last_modified) if last_modified else None
    if date is None:
        os.truncate(own, 0)
    else:
        os.utime(own, (date.timestamp(), date.timestamp()))


def _bar(name: str) -> Progress:
    """A line on the terminal; nothing where standard error is none."""
    if not sys.stderr.isatty():
        return lambda have, total: None

    def show(have: int, total: int | None) -> None:
        if total is None:
            sys.stderr.write(f"\r{name}  {have / 1e6:.1f} MB")
        else:
            filled = "#" * (30 * have // total)
            sys.stderr.write(f"\r{name}  [{filled:<30}] {have / 1e6:.1f} of {total / 1e6:.1f} MB")
            if have == total:
                sys.stderr.write("\n")
        sys.stderr.flush()

    return show
