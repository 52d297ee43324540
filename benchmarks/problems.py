"""The classification problems on which trainers are compared: data, preparation, C and gamma."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from arrays import load_arrays, save_arrays
from runner import data_folder
from sklearn.preprocessing import StandardScaler

from fwsvm import Rows, datasets
from fwsvm.estimators import gamma_of

PREPARED = Path(__file__).parents[1] / "build" / "benchmarks"


@dataclass(frozen=True)
class Problem:
    """A named data set with what is done to it, and the parameters of the machine.

    ``scaling`` is a number to divide by, "standard" or None; ``classes`` keeps two of the classes,
    or (c, None) sets c against the rest. ``bar`` is the part of the fastest peer's time to stay
    within, ``scans`` the number of products of all rows with all support vectors. ``rows`` asks
    for a random part of the training set, and at most TEST_ROWS of the test set.
    """

    data: str
    C: float
    gamma: float | str = "mean_distance"
    scaling: float | str | None = None
    classes: tuple[int, int | None] | None = None
    bar: float | None = None
    scans: float | None = None
    rows: int | None = None
    is_sparse: bool = False  # stored as CSR


PROBLEMS = {
    "a9a": Problem("a9a", 1, is_sparse=True, bar=0.6, scans=12),
    "w8a": Problem("w8a", 10, is_sparse=True, bar=0.6, scans=12),
    "w8a C=100": Problem("w8a", 100, is_sparse=True, bar=1.0),
    "ijcnn1": Problem("ijcnn1", 10, 1.0, bar=0.4, scans=20),
    "mnist": Problem("mnist", 10, is_sparse=True, scaling=255, bar=0.33),
    "kdd99": Problem("kdd99-10pc", 10, scaling="standard", bar=0.15),
    "letter": Problem("letter.scale", 10, 1.0, bar=0.5),
    "usps": Problem("usps", 10, 1 / 128, bar=0.5),
    "shuttle": Problem("shuttle", 10, scaling="standard", bar=0.5),
    "reuters": Problem("reuters", 10, is_sparse=True, bar=1.0),
    "mnist 3-8": Problem("mnist", 10, is_sparse=True, scaling=255, classes=(3, 8), scans=8),
    "kdd99 normal": Problem("kdd99-10pc", 10, scaling="standard", classes=(1, None), scans=8),
    "generated": Problem("generated", 1, rows=10_000),
    "generated, flips": Problem("generated, flips", 1, rows=10_000),
}
GENERATED_FEATURES, GENERATED_CLUSTERS = 20, 16
FLIPS = {"generated": 0.0, "generated, flips": 0.01}  # the part of the labels that is flipped
TEST_ROWS = 10_000

Arrays = dict[str, Any]  # X, y, X_test, y_test and gamma


def problem_of(name: str) -> Problem:
    """The problem of a name in PROBLEMS; ``name@5000`` is that on 5000 of its rows."""
    base, _, rows = name.partition("@")
    if base not in PROBLEMS or (rows and not rows.isdecimal()):
        known = ", ".join(PROBLEMS)
        raise ValueError(f"A problem is one of {known}, or one of them @ rows. Got {name!r}.")
    return replace(PROBLEMS[base], rows=int(rows)) if rows else PROBLEMS[base]


def load(name: str) -> Arrays:
    """The arrays of a problem, float32, CSR where the set is sparse; prepared once and kept."""
    problem = problem_of(name)
    version = zlib.crc32(repr(replace(problem, bar=None, scans=None)).encode())
    path = PREPARED / f"{name.replace(' ', '_')}-{version:08x}.npz"
    if not path.exists():
        save_arrays(path, _prepare(problem))
    return load_arrays(path)


def _prepare(problem: Problem) -> Arrays:
    X, y, X_test, y_test = _raw(problem)
    if problem.classes is not None:
        X, y = _of_classes(X, y, problem.classes)
        X_test, y_test = _of_classes(X_test, y_test, problem.classes)
    if problem.scaling == "standard":
        scaler = StandardScaler()
        X = scaler.fit_transform(as_dense(X)).astype(np.float32)
        X_test = scaler.transform(as_dense(X_test)).astype(np.float32)
    elif problem.scaling is not None:
        X, X_test = ((part / problem.scaling).astype(np.float32) for part in (X, X_test))
    if problem.rows is not None:
        X, y = _some_of(X, y, problem.rows)
        X_test, y_test = _some_of(X_test, y_test, TEST_ROWS)
    gamma = gamma_of(problem.gamma, Rows(X), np.ones(len(y)))
    return {"X": X, "y": y, "X_test": X_test, "y_test": y_test, "gamma": gamma}


def _some_of(X: Any, y: Any, most: int) -> tuple[Any, Any]:
    """Random rows, the first of a larger choice being those of a smaller one."""
    chosen = np.random.default_rng(0).permutation(len(y))[:most] if most < len(y) else slice(None)
    return X[chosen], y[chosen]


def _raw(problem: Problem) -> tuple[Any, Any, Any, Any]:
    if problem.data in FLIPS:
        X, y = generated((problem.rows or 0) + TEST_ROWS, FLIPS[problem.data])
        return X[TEST_ROWS:], y[TEST_ROWS:], X[:TEST_ROWS], y[:TEST_ROWS]
    folder = data_folder()
    if folder is not None:
        os.environ.setdefault("FWSVM_DATA", str(folder))
    return (*datasets.load(problem.data, "train"), *datasets.load(problem.data, "test"))


def generated(n_rows: int, flips_part: float) -> tuple[Any, Any]:
    """Normal clusters that overlap, half of them of each class, and some labels flipped at random.

    Like `sklearn.datasets.make_classification`, except that fewer rows are the first of more.
    """
    places, members, noise, flips = np.random.default_rng(0).spawn(4)
    centres = 1.25 * places.standard_normal((GENERATED_CLUSTERS, GENERATED_FEATURES))
    cluster = members.integers(GENERATED_CLUSTERS, size=n_rows)
    X = noise.standard_normal((n_rows, GENERATED_FEATURES), dtype=np.float32)
    X += centres.astype(np.float32)[cluster]
    flipped = flips.random(n_rows) < flips_part
    return X, (cluster % 2) ^ flipped


def _of_classes(X: Any, y: Any, classes: tuple[int, int | None]) -> tuple[Any, Any]:
    first, second = classes
    if second is None:
        return X, np.where(y == first, 1, -1)
    chosen = np.flatnonzero((y == first) | (y == second))
    return X[chosen], y[chosen]


def as_dense(X: Any) -> Any:
    """The array of float32 of sparse or dense rows."""
    return np.asarray(X.toarray() if scipy.sparse.issparse(X) else X, dtype=np.float32)
