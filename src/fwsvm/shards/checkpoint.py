"""How far a fit over shards has come, in a file that survives its driver.

The file is NumPy's npz, without pickle. Of a binary problem that is done it has the result, of one
that runs the support vectors and the level; what else a run needs it computes again.
"""

from __future__ import annotations

import json
import os
import threading
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ..dual import Certificate, Floats, Ints
from ..solvers import Result, Status, TraceRow

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Halfway:
    """Where a binary problem was."""

    numbers: Ints  # of its support vectors, among the rows of all parts
    coefficients: Floats
    level: int


class Checkpoint:
    """Of one fit; ``about`` is what must be the same for it to go on."""

    def __init__(self, path: str | os.PathLike[str] | None, every: int, about: Any) -> None:
        self.path = None if path is None else Path(path)
        self.every = every
        self.about = json.dumps(about, sort_keys=True)
        self.done: dict[int, Result] = {}
        self.halfway: dict[int, Halfway] = {}
        self._lock = threading.Lock()

    def load(self) -> None:
        """What the file has, if there is one."""
        if self.path is None:
            raise ValueError("resume=True needs checkpoint=..., the file to resume from.")
        if not self.path.exists():
            return
        try:
            with self.path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                arrays = dict(file)
            about = str(arrays.pop("about"))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{self.path} is not a checkpoint of fwsvm, or is damaged: {error}. Remove it, or "
                "name another file."
            ) from error
        if about != self.about:
            raise ValueError(
                f"{self.path} is of a fit with {_difference(about, self.about)}. Use the same data "
                "and parameters, remove the file, or set resume=False."
            )
        for number in {int(name.split("/")[0]) for name in arrays}:
            own = {n.split("/")[1]: a for n, a in arrays.items() if n.startswith(f"{number}/")}
            if "trace" in own:
                self.done[number] = _result(own)
            else:
                self.halfway[number] = Halfway(
                    own["numbers"], own["coefficients"], int(own["level"])
                )

    def save(self, number: int, state: Halfway | Result) -> None:
        """Also when the machine stops in the middle of this there is a whole file."""
        if self.path is None:
            return
        with self._lock:
            if isinstance(state, Halfway):
                self.halfway[number] = state
            else:
                self.halfway.pop(number, None)
                self.done[number] = state
            content = {"about": np.array(self.about)}
            for k, half in self.halfway.items():
                content |= {f"{k}/{name}": np.asarray(v) for name, v in vars(half).items()}
            for k, result in self.done.items():
                content |= {f"{k}/{name}": value for name, value in _arrays(result).items()}
            unfinished = self.path.with_name(self.path.name + ".unfinished")
            with unfinished.open("wb") as file:
                np.savez(file, allow_pickle=False, **content)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self.path)


def _arrays(result: Result) -> Arrays:
    certificate = result.certificate
    return {
        "rows": result.rows,
        "weights": result.weights,
        "certificate": np.array([certificate.primal, certificate.dual, certificate.objective]),
        "status": np.array(result.status.name),
        "counts": np.array([result.n_iter, *result.n_active]),
        "seconds": np.array(result.seconds),
        "trace": np.array(result.trace, dtype=np.float64),
    }


def _result(own: Arrays) -> Result:
    n_iter, most, last = map(int, own["counts"])
    kinds = get_type_hints(TraceRow).values()
    trace = [
        TraceRow._make(kind(value) for kind, value in zip(kinds, row, strict=True))
        for row in own["trace"]
    ]
    primal, dual, objective = map(float, own["certificate"])
    return Result(
        own["rows"],
        own["weights"],
        Certificate(primal, dual, objective, np.empty(0)),
        Status[str(own["status"])],
        n_iter,
        float(own["seconds"]),
        trace,
        (most, last),
    )


def _difference(before: str, now: str) -> str:
    one, other = json.loads(before), json.loads(now)
    differing = [name for name in other if one.get(name) != other[name]]
    return "other " + ", ".join(differing or ["contents"])
