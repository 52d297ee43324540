"""Fits of the default solver with a limit of time, and what the gap must be."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from test_svc_certificates import recomputed_gap

from fwsvm import SVC

MOST_SECONDS = 90.0  # a fit that takes so long hangs


def fit(X, y, weights=None, *, quiet=False, **options):
    """A model that was fitted in time."""
    model = SVC(**{"random_state": 0, **options})
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, weights)
    assert model.trace_[0][-1].time < MOST_SECONDS
    return model


def check_gap(model, K, y, C, rounding=0.0):
    """gap_ is what NumPy finds, converged_ follows from it alone, and a warning said so."""
    coefficients = np.zeros(len(y))
    dual_coef = model.dual_coef_
    dual_coef = dual_coef.toarray() if scipy.sparse.issparse(dual_coef) else dual_coef
    coefficients[model.support_] = dual_coef[0]
    size = np.abs(coefficients).sum()  # what is summed may nearly cancel
    assert model.intercept_[0] == pytest.approx(coefficients.sum(), abs=1e-12 * size)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    gap = recomputed_gap(K, signs, C, coefficients, model.intercept_[0])
    assert model.gap_[0] == pytest.approx(gap, abs=1e-9 + rounding)
    assert model.converged_ == (model.gap_[0] <= model.tol)
    assert model.converged_ == (model.status_ == ["converged"])
    return coefficients
