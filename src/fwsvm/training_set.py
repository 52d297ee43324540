"""What a classifier is trained on, checked: rows, class numbers, weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from .dual import Floats, Ints
from .parameters import is_precomputed
from .rows import Rows

CHECKS: dict[str, Any] = {
    "dtype": [np.float64, np.float32],  # float32 stays what it is
    "accept_sparse": "csr",
    "order": "C",
}


@dataclass(frozen=True)
class TrainingSet:
    """The rows of positive weight."""

    rows: Rows
    labels: Ints  # numbers of classes
    sample_weights: Floats
    weights: Floats  # of rows and their classes together
    present: Ints  # the numbers of the rows in X

    @classmethod
    def checked(
        cls, model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> TrainingSet:
        """From the arguments of ``fit``. Sets ``classes_`` and the like of the model."""
        data, given = validate_data(model, X, y, **CHECKS)
        targets: NDArray[Any] = column_or_1d(given, warn=True)
        check_classification_targets(targets)
        if is_precomputed(model.kernel) and data.shape[0] != data.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix of the training rows. Input is a "
                f"{data.shape[0]}x{data.shape[1]} matrix."
            )
        model.shape_fit_ = data.shape
        weights = _check_sample_weight(
            sample_weight, data, dtype=np.float64, ensure_non_negative=True
        )
        present = np.flatnonzero(weights > 0)
        if not len(present):
            raise ValueError("Invalid input: all rows have zero or negative weights.")
        if len(present) < len(weights):
            data = data[present]
            if is_precomputed(model.kernel):
                data = data[:, present]
        targets, weights = targets[present], weights[present]
        labels = class_numbers(model, targets)
        model.class_weight_ = class_weights(model, targets, labels, weights)
        return cls(Rows(data), labels, weights, weights * model.class_weight_[labels], present)


def class_numbers(model: Any, targets: NDArray[Any]) -> Ints:
    """Sets the classes."""
    model.classes_, labels = np.unique(targets, return_inverse=True)
    if len(model.classes_) < 2:
        raise ValueError(
            "The number of classes has to be greater than one; got "
            f"{len(model.classes_)} class (rows of weight zero do not count)."
        )
    return labels.astype(np.int64)


def class_weights(model: Any, targets: NDArray[Any], labels: Ints, weights: Floats) -> Floats:
    """The factor of C of each class."""
    of_class: Floats = compute_class_weight(model.class_weight, classes=model.classes_, y=targets)
    if isinstance(model.class_weight, str):  # balanced: a row of weight 2 counts as two rows
        of_class = weights.sum() / (len(model.classes_) * np.bincount(labels, weights))
    if not (of_class > 0).all():
        raise ValueError("class_weight must be positive for every class.")
    return of_class
