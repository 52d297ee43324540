"""What makes a fitted SVC, as plain values: every format writes and reads these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .. import kernels
from ..dual import Floats
from ..estimators import SVC


@dataclass(frozen=True)
class Summary:
    """How training ended: one entry for each binary problem, and the seconds of all."""

    gap: list[float]
    status: list[str]
    n_iter: list[int]
    seconds: float


@dataclass(frozen=True)
class Contents:
    """A fitted SVC without anything that only training needs."""

    parameters: dict[str, Any]
    kernel: kernels.Kernel
    classes: NDArray[Any]  # ascending
    n_features: int
    feature_names: list[str] | None
    n_rows: int  # that it was trained on
    support: NDArray[np.int32]  # their numbers among those, grouped by class
    n_support: NDArray[np.int32]  # of each class
    support_vectors: Any  # array or CSR; 0 x 0 for a precomputed kernel
    dual_coef: Floats  # laid out as in scikit-learn
    intercept: Floats
    summary: Summary | None  # None for models that were trained elsewhere

    @property
    def scheme(self) -> str:
        """ "ovo", "ovr" or "ddag"; with two classes they are the same."""
        return str(self.parameters["multiclass"])

    @property
    def n_problems(self) -> int:
        """Binary problems."""
        n_classes = len(self.classes)
        if n_classes == 2:
            return 1
        return n_classes if self.scheme == "ovr" else n_classes * (n_classes - 1) // 2

    # --------------------------------------------------------------------------------- from, to

    @classmethod
    def of(cls, svc: SVC) -> Contents:
        """The contents of a fitted estimator."""
        if not hasattr(svc, "dual_coef_"):
            raise ValueError("expected a fitted SVC; this one is not: call fit first")
        names = getattr(svc, "feature_names_in_", None)
        dual_coef = svc.dual_coef_
        return cls(
            parameters=svc.get_params(deep=False),
            kernel=svc._kernel,
            classes=svc.classes_,
            n_features=int(svc.n_features_in_),
            feature_names=None if names is None else [str(name) for name in names],
            n_rows=int(svc.shape_fit_[0]),
            support=svc.support_,
            n_support=svc.n_support_,
            support_vectors=svc.support_vectors_,
            dual_coef=dual_coef.toarray() if scipy.sparse.issparse(dual_coef) else dual_coef,
            intercept=svc.intercept_,
            summary=_summary_of(svc),
        )

    def svc(self) -> SVC:
        """The estimator; ValueError where the contents do not fit together."""
        made = SVC(**self.parameters)
        made._validate_params()
        self._check()
        made._kernel = self.kernel
        made.classes_, made.n_features_in_ = self.classes, self.n_features
        if self.feature_names is not None:
            made.feature_names_in_ = np.array(self.feature_names, dtype=object)
        made.shape_fit_ = (self.n_rows, self.n_features)
        made.support_, made.n_support_ = self.support, self.n_support
        made.support_vectors_, made.intercept_ = self.support_vectors, self.intercept
        is_sparse = scipy.sparse.issparse(self.support_vectors)
        made.dual_coef_ = scipy.sparse.csr_array(self.dual_coef) if is_sparse else self.dual_coef
        made._set_machine()
        if self.summary is not None:
            _restore_summary(made, self.summary)
        return made

    # ------------------------------------------------------------------------------------ check

    def _check(self) -> None:
        for is_right, what in self._conditions():
            if not is_right:
                raise ValueError(f"the model does not agree with itself: {what}")

    def _conditions(self) -> Iterator[tuple[bool, str]]:
        """In an order in which each may rely on those before it."""
        n_classes, n_support = len(self.classes), len(self.support)
        yield self.classes.ndim == 1 and n_classes >= 2, "there must be two classes or more"
        yield bool((self.classes[:-1] < self.classes[1:]).all()), "classes must ascend"
        yield 1 <= self.n_features < 2**31, "n_features must be positive"
        yield self.n_rows >= 1, "there must be training rows"
        names = self.feature_names
        yield names is None or len(names) == self.n_features, "each feature must have its name"
        yield self.support.ndim == 1, "support must be a list of row numbers"
        yield bool((self.support >= 0).all()), "row numbers must not be negative"
        yield self.n_support.shape == (n_classes,), "n_support must have a number for each class"
        yield bool((self.n_support >= 0).all()), "n_support must not be negative"
        yield int(self.n_support.sum(dtype=np.int64)) == n_support, "n_support must add up"
        is_ovr = self.scheme == "ovr" and n_classes > 2
        height = n_classes if is_ovr else n_classes - 1
        yield self.dual_coef.shape == (height, n_support), "dual_coef must have its shape"
        yield self.intercept.shape == (self.n_problems,), "intercept must have its shape"
        yield bool(np.isfinite(self.dual_coef).all()), "dual_coef must be finite"
        yield bool(np.isfinite(self.intercept).all()), "intercept must be finite"
        is_precomputed = isinstance(self.kernel, kernels.Precomputed)
        shape = (0, 0) if is_precomputed else (n_support, self.n_features)
        yield self.support_vectors.shape == shape, "support_vectors must have their shape"
        is_sparse = scipy.sparse.issparse(self.support_vectors)
        values = self.support_vectors.data if is_sparse else self.support_vectors
        yield bool(np.isfinite(values).all()), "support_vectors must be finite"
        most = self.support.max(initial=0)
        yield not is_precomputed or most < self.n_features, "row numbers must be columns"
        summary = self.summary
        lengths = set() if summary is None else {len(summary.gap), len(summary.status)}
        lengths |= set() if summary is None else {len(summary.n_iter)}
        yield lengths <= {self.n_problems}, "the summary must have an entry for each problem"


def _summary_of(svc: SVC) -> Summary | None:
    if not hasattr(svc, "gap_"):
        return None
    return Summary(svc.gap_.tolist(), list(svc.status_), svc.n_iter_.tolist(), svc.fit_time_)


def _restore_summary(svc: SVC, summary: Summary) -> None:
    svc.gap_ = np.array(summary.gap)
    svc.converged_ = bool((svc.gap_ <= svc.tol).all())
    svc.status_ = list(summary.status)
    svc.n_iter_ = np.array(summary.n_iter, dtype=np.int32)
    svc.fit_time_ = summary.seconds
