"""The training set on a cluster: blocks become parts where they are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import scipy.sparse
from distributed import Future
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from .. import kernels, parameters
from ..dual import Floats, Ints
from ..rows import Rows
from ..shards import Summary, survey
from ..training_set import class_weights
from .blocks import blocks_of, names_of_features
from .cluster import Cluster, part_here

ROWS_SAMPLED = 8192  # of all blocks: they decide on the storage


@dataclass(frozen=True)
class Moments:
    """Of the features of all blocks, for those who ask rows for them."""

    summaries: list[Summary]

    @property
    def shape(self) -> tuple[int, int]:
        return sum(s.n_present for s in self.summaries), self.summaries[0].n_features

    def feature_moments(self, weights: Floats) -> tuple[Floats, Floats]:
        given = [s for s in self.summaries if s.moments is not None]
        of_block = [s.weights.sum() for s in given]
        mean, square = (
            np.average([s.moments[i] for s in given if s.moments], axis=0, weights=of_block)
            for i in (0, 1)
        )
        return mean, square


@dataclass(frozen=True)
class Placed:
    """What the driver knows of the training set."""

    kernel: kernels.Kernel
    counts: Ints  # rows of positive weight of each class
    sizes: list[int]  # of the parts


def place(cluster: Cluster, model: Any, X: Any, y: Any, sample_weight: Any) -> Placed:
    """Makes the parts, and sets what the model knows of its data: classes and the like."""
    blocks: list[Future] = cluster.client.compute(blocks_of(X, y, sample_weight))
    wants_moments = isinstance(model.gamma, str) and model.gamma != "auto"
    most_sampled = max(1, ROWS_SAMPLED // len(blocks))
    what = "Blocks of the training set"
    summaries: list[Summary] = cluster.map(survey, blocks, wants_moments, most_sampled, what=what)
    first = [0, *accumulate(summary.n_given for summary in summaries)]
    present = [number for number, summary in enumerate(summaries) if summary.n_present]
    if not present:
        raise ValueError(
            f"Invalid input: {'all rows have zero weights' if first[-1] else 'X has no rows'}."
        )
    known = [summaries[number] for number in present]
    counts, weights = _set_classes(model, known)
    model.n_features_in_ = _common(known)
    model.shape_fit_ = first[-1], model.n_features_in_
    names = names_of_features(X)
    if names is not None:
        model.feature_names_in_ = names
    kernel = model._kernel = parameters.kernel_of(model, Moments(known), np.empty(0))
    form = _form(known, kernel)
    parts = [
        cluster.client.submit(
            part_here, blocks[b], number, first[b], form, model.classes_, weights, pure=False
        )
        for number, b in enumerate(present)
    ]
    cluster.keep(parts, form)
    cluster.wait(parts, what, lambda: None)
    return Placed(kernel, counts, [s.n_present for s in known])


def _set_classes(model: Any, summaries: list[Summary]) -> tuple[Ints, Floats]:
    """Sets classes and their weights; rows of each class, and the factors."""
    together = np.concatenate([s.classes for s in summaries])
    check_classification_targets(together)
    model.classes_, label = np.unique(together, return_inverse=True)
    if len(model.classes_) < 2:
        raise ValueError(
            "The number of classes has to be greater than one; got "
            f"{len(model.classes_)} class (rows of weight zero do not count)."
        )
    given = np.concatenate([s.weights for s in summaries])
    weights = np.bincount(label, given).astype(np.float64)
    counts = np.bincount(label, np.concatenate([s.counts for s in summaries])).astype(np.int64)
    everyone = np.arange(len(weights))
    model.class_weight_ = class_weights(model, model.classes_, everyone, weights)
    return counts, model.class_weight_


def _common(summaries: list[Summary]) -> int:
    widths = sorted({s.n_features for s in summaries})
    if len(widths) > 1:
        raise ValueError(
            f"All blocks of X must have the same number of features. Got {widths[0]} in one and "
            f"{widths[-1]} in another."
        )
    return widths[0]


def _form(summaries: list[Summary], kernel: kernels.Kernel) -> Rows:
    """How all parts store their rows: chosen on a sample of them, about one centre."""
    samples: list[NDArray[Any]] = [s.sample.to_array() for s in summaries]
    is_sparse = any(scipy.sparse.issparse(sample) for sample in samples)
    sample = (
        scipy.sparse.csr_array(scipy.sparse.vstack(samples)) if is_sparse else np.vstack(samples)
    )
    dtype = np.result_type(*(s.dtype for s in summaries))
    rows = Rows(sample, dtype=dtype)
    return rows.in_fastest_storage(ignores_shifts=kernel.ignores_shifts).form()
