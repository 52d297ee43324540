"""What all blocks together are like: classes, features, and how their rows are best stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from ..dual import Floats, Ints
from ..kernels import Kernel
from ..rows import Rows
from ..training_set import class_numbers, class_weights
from .part import Summary

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


def set_classes(model: Any, summaries: list[Summary]) -> tuple[Ints, Floats]:
    """Sets classes and their weights; rows of each class, and the factors."""
    together = np.concatenate([s.classes for s in summaries])
    check_classification_targets(together)
    label = class_numbers(model, together)
    given = np.concatenate([s.weights for s in summaries])
    weights = np.bincount(label, given).astype(np.float64)
    counts = np.bincount(label, np.concatenate([s.counts for s in summaries])).astype(np.int64)
    everyone = np.arange(len(weights))
    model.class_weight_ = class_weights(model, model.classes_, everyone, weights)
    return counts, model.class_weight_


def common_width(summaries: list[Summary]) -> int:
    widths = sorted({s.n_features for s in summaries})
    if len(widths) > 1:
        raise ValueError(
            f"All blocks of X must have the same number of features. Got {widths[0]} in one and "
            f"{widths[-1]} in another."
        )
    return widths[0]


def common_form(summaries: list[Summary], kernel: Kernel) -> Rows:
    """How all parts store their rows: chosen on a sample of them, about one centre."""
    samples: list[NDArray[Any]] = [s.sample.to_array() for s in summaries]
    is_sparse = any(scipy.sparse.issparse(sample) for sample in samples)
    sample = (
        scipy.sparse.csr_array(scipy.sparse.vstack(samples)) if is_sparse else np.vstack(samples)
    )
    dtype = np.result_type(*(s.dtype for s in summaries))
    rows = Rows(sample, dtype=dtype)
    return rows.in_fastest_storage(ignores_shifts=kernel.ignores_shifts).form()
