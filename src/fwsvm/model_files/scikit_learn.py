"""A model as scikit-learn's SVC, and through it as ONNX."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse
import sklearn.svm
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .. import kernels
from ..estimators import SVC
from .contents import Contents
from .saved import ModelFileError
from .table_model import TableModel

_NAMES = {
    kernels.Linear: "linear",
    kernels.RBF: "rbf",
    kernels.Polynomial: "poly",
    kernels.Sigmoid: "sigmoid",
}


def to_sklearn(svc: SVC) -> sklearn.svm.SVC:
    """A fitted `sklearn.svm.SVC` with the same decision function, for tools that know only that.

    For pairs of classes (``multiclass="ovo"``, or two classes) and the kernels that both have. Its
    ``C`` is ours, though its loss is another: it is for predicting.
    """
    contents = Contents.of(svc)
    _check(contents)
    kernel = contents.kernel
    shown = ("C", "tol", "cache_size", "decision_function_shape", "break_ties")
    made = sklearn.svm.SVC(
        kernel=_NAMES[type(kernel)],
        gamma=getattr(kernel, "gamma", 1.0),
        degree=getattr(kernel, "degree", 3),
        coef0=getattr(kernel, "coef0", 0.0),
        **{name: contents.parameters[name] for name in shown},
    )
    return _filled(_blank(made, contents), contents)


def to_onnx(model: SVC | TableModel, **options: Any) -> Any:
    """The ONNX graph of a model, made by skl2onnx; ``options`` are those of its ``to_onnx``.

    The scaling of a `TableModel` becomes part of the graph, whose input is a matrix of float32.
    """
    try:
        import skl2onnx
    except ImportError:
        raise ImportError(
            "ONNX export needs skl2onnx: pip install skl2onnx", name="skl2onnx"
        ) from None
    svc = model.svc if isinstance(model, TableModel) else model
    classifier = to_sklearn(svc)
    if scipy.sparse.issparse(svc.support_vectors_):
        classifier = _dense(classifier)
    scaler = _scaler(model) if isinstance(model, TableModel) else None
    pipeline = classifier if scaler is None else make_pipeline(scaler, classifier)
    sample = np.zeros((1, svc.n_features_in_), dtype=np.float32)
    with warnings.catch_warnings():  # it reads attributes that scikit-learn will remove
        warnings.simplefilter("ignore", FutureWarning)
        return skl2onnx.to_onnx(pipeline, sample, **options)


def _check(contents: Contents) -> None:
    if len(contents.classes) > 2 and contents.scheme != "ovo":
        raise ModelFileError(
            "scikit-learn's SVC decides by the votes of pairs. Got multiclass="
            f"{contents.scheme!r}: train with multiclass='ovo'."
        )
    if type(contents.kernel) not in _NAMES:
        raise ModelFileError(
            f"can be expressed with the kernels {', '.join(_NAMES.values())}. "
            f"Got {contents.kernel!r}."
        )


def _blank(svc: sklearn.svm.SVC, contents: Contents) -> sklearn.svm.SVC:
    """Fitted to one row a class, so that every attribute of its version is there."""
    rows = np.eye(len(contents.classes), contents.n_features)
    is_sparse = scipy.sparse.issparse(contents.support_vectors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        blank: sklearn.svm.SVC = svc.fit(
            scipy.sparse.csr_array(rows) if is_sparse else rows, contents.classes
        )
    return blank


def _filled(svc: sklearn.svm.SVC, contents: Contents) -> sklearn.svm.SVC:
    """The same with our support vectors in place of its own."""
    if contents.feature_names is not None:
        svc.feature_names_in_ = np.array(contents.feature_names, dtype=object)
    vectors, dual_coef = contents.support_vectors, contents.dual_coef
    if scipy.sparse.issparse(vectors):
        kind = type(svc.support_vectors_)
        vectors = kind(vectors.astype(np.float64))
        height, width = dual_coef.shape  # every value stored, zeros too: LIBSVM wants it so
        parts = (np.tile(np.arange(width), height), np.arange(height + 1) * width)
        dual_coef = kind((dual_coef.ravel(), *parts), shape=(height, width))
    else:
        vectors = np.ascontiguousarray(vectors, dtype=np.float64)
    svc.support_, svc.support_vectors_ = contents.support, vectors
    svc._n_support = contents.n_support
    svc.shape_fit_ = (contents.n_rows, contents.n_features)
    svc.dual_coef_, svc.intercept_ = dual_coef, contents.intercept.copy()
    # Inside, the first of two classes is the positive one.
    sign = -1.0 if len(contents.classes) == 2 else 1.0
    svc._dual_coef_, svc._intercept_ = sign * dual_coef, sign * contents.intercept
    if contents.summary is not None:
        svc._num_iter = np.array(contents.summary.n_iter, dtype=np.int32)
        svc.n_iter_ = svc._num_iter
    return svc


def _dense(svc: sklearn.svm.SVC) -> sklearn.svm.SVC:
    """skl2onnx knows the dense form only."""
    svc._sparse = False
    for name in ("support_vectors_", "dual_coef_", "_dual_coef_"):
        setattr(svc, name, getattr(svc, name).toarray())
    return svc


def _scaler(model: TableModel) -> StandardScaler | None:
    """The scaling of a preparation that does nothing else."""
    saved = model.preparation.to_dict()
    if saved["categories"]:
        raise ModelFileError(
            "ONNX export takes columns of numbers. This model has the columns of categories "
            f"{', '.join(saved['categories'])}: encode them before training."
        )
    if saved["divisor"] is None:
        return None
    scaler = StandardScaler(with_mean=saved["shift"] is not None)
    scaler.scale_ = np.array(saved["divisor"])
    scaler.var_ = scaler.scale_**2
    scaler.mean_ = None if saved["shift"] is None else np.array(saved["shift"])
    scaler.n_features_in_ = len(scaler.scale_)
    return scaler
