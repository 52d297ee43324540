"""What the demo trains on: two real sets that come with the package, and two large ones: one of
classes that hardly overlap, and one of noisy labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from .. import datasets

N_GENERATED, N_TEST = 100_000, 10_000
N_CLUSTERS, N_FEATURES, SPREAD = 200, 20, 0.35
FLIPPED = 0.1  # of the labels of the spiral


@dataclass(frozen=True)
class Problem:
    """Rows to train on and to test on, and the parameters for both programs."""

    name: str
    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    C: float
    gamma: float
    best: float | None = None  # accuracy on the test rows of who knows how they were made


def real_problems() -> Iterator[Problem]:
    """Those of the UCI repository that are shipped."""
    X, y = datasets.load("mushrooms")
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    yield Problem("mushrooms", X, y, X_test, y_test, C=1, gamma=0.05)
    X, y = datasets.load("dna.scale")
    yield Problem("dna.scale", X, y, *datasets.load("dna.scale", "test"), C=1, gamma=0.02)


def clusters() -> Problem:
    """Normal clusters that overlap, every second one of the other class."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(-1, 1, (N_CLUSTERS, N_FEATURES))
    of = rng.integers(0, N_CLUSTERS, N_GENERATED + N_TEST)
    X = centres[of] + SPREAD * rng.standard_normal((len(of), N_FEATURES))
    y, X_test, y_test = of % 2, X[N_GENERATED:], of[N_GENERATED:] % 2
    density = np.exp(-cdist(X_test, centres, "sqeuclidean") / (2 * SPREAD**2))
    best = (density[:, 1::2].sum(axis=1) > density[:, ::2].sum(axis=1)) == y_test
    return Problem(
        "clusters",
        X[:N_GENERATED].astype(np.float32),
        y[:N_GENERATED],
        X_test.astype(np.float32),
        y_test,
        C=1,
        gamma=0.3,
        best=float(best.mean()),
    )


def spiral() -> Problem:
    """Rows all over a disk, in two classes that wind around each other, some labels flipped."""
    rng = np.random.default_rng(0)
    n_rows = N_GENERATED + N_TEST
    radius, angle = np.sqrt(rng.random(n_rows)), rng.uniform(0, 2 * np.pi, n_rows)
    truth = np.where(np.sin(5 * np.pi * radius - angle) > 0, 1, -1)
    y = np.where(rng.random(n_rows) < FLIPPED, -truth, truth)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]).astype(np.float32)
    parts = X[:N_GENERATED], y[:N_GENERATED], X[N_GENERATED:], y[N_GENERATED:]
    best = float(np.mean(truth[N_GENERATED:] == y[N_GENERATED:]))
    return Problem("noisy spiral", *parts, C=1, gamma=30, best=best)


def small_problem() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """So few rows that one sees all of them."""
    X, labels = make_moons(60, noise=0.2, random_state=3)
    return X, np.where(labels == 1, 1, -1)
