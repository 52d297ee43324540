"""A model that takes tables as they were read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from warnings import warn

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..data import Preparation, Table
from ..dual import Floats
from ..estimators import SVC
from ..kernels import Precomputed
from .contents import Contents


@dataclass(frozen=True)
class TableModel:
    """A `Preparation` and the SVC that was fitted to what it makes.

    Parameters
    ----------
    preparation : Preparation
    svc : SVC
    target_name : str, optional
        Column of the targets in the training table.
    """

    preparation: Preparation
    svc: SVC
    target_name: str | None = None

    def as_wide_as(self, table: Table) -> TableModel:
        """The same model for rows of LIBSVM text with features that no training row had.

        They count in distances, as in svm-predict: the training rows are zero there.
        """
        known, found = self.preparation.n_columns, table.n_columns
        if found <= known or not table.is_open or isinstance(self.svc._kernel, Precomputed):
            return self
        preparation = self.preparation.widened(found)
        warn(
            f"the rows have features up to {found}, and those of training up to {known}: there "
            "these are taken as zero",
            UserWarning,
            stacklevel=3,
        )
        contents = Contents.of(self.svc)
        vectors = _padded(contents.support_vectors, found)
        svc = replace(contents, n_features=found, support_vectors=vectors).svc()
        return TableModel(preparation, svc, self.target_name)

    def predict(self, table: Table) -> NDArray[Any]:
        """The class of each row."""
        wide = self.as_wide_as(table)
        return wide.svc.predict(wide.preparation.apply(table))

    def decision_function(self, table: Table) -> Floats:
        """Scores, as `SVC.decision_function` gives them."""
        wide = self.as_wide_as(table)
        return wide.svc.decision_function(wide.preparation.apply(table))

    def score(self, table: Table) -> float:
        """Accuracy on the targets of the table."""
        if table.y is None:
            raise ValueError("expected a table with targets")
        return float(np.mean(self.predict(table) == table.y))


def _padded(X: Any, width: int) -> Any:
    """With zeros on the right."""
    if scipy.sparse.issparse(X):
        return scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
    return np.pad(X, [(0, 0), (0, width - X.shape[1])])
