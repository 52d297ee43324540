"""Models outlive the process: model files, LIBSVM's text models, scikit-learn, ONNX.

`save_model` and `load_model` are the way to keep a model. What is saved is what is loaded: an
`SVC`, or a `TableModel`, which also holds the scaling and one-hot columns.

``contents`` is what a model is made of, ``saved`` the file format of this library, ``libsvm_text``
that of LIBSVM, ``scikit_learn`` the view for other tools.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, get_args

from ..estimators import SVC
from ..whole_file import whole_file
from . import libsvm_text, saved
from .contents import Contents
from .saved import ModelFileError
from .scikit_learn import to_onnx, to_sklearn
from .table_model import TableModel

__all__ = ["ModelFileError", "TableModel", "load_model", "save_model", "to_onnx", "to_sklearn"]

Format = Literal["fwsvm", "libsvm"]


def save_model(
    model: SVC | TableModel, path: str | os.PathLike[str], *, format: Format = "fwsvm"
) -> None:
    """Write a fitted model to a file, which is there in full or not at all.

    Parameters
    ----------
    model : SVC or TableModel
        With one of the kernels of this library; a function cannot be saved.
    path : path
    format : {"fwsvm", "libsvm"}
        "libsvm" is the text that svm-predict reads. It holds integer classes, pairs of classes
        (``multiclass="ovo"``) and no scaling.
    """
    if format not in get_args(Format):
        raise ValueError(f"format must be one of {get_args(Format)}. Got {format!r} instead.")
    if format == "fwsvm":
        content = saved.encode(model)
    else:
        content = libsvm_text.encode(_without_preparation(model))
    with whole_file(path) as file:
        file.write(content)


def load_model(path: str | os.PathLike[str], *, n_features: int | None = None) -> SVC | TableModel:
    """Read what `save_model` wrote, or a text model of LIBSVM.

    Parameters
    ----------
    path : path
    n_features : int, optional
        Least number of features of a text model, which only names those that are not zero in its
        support vectors.

    Returns
    -------
    SVC or TableModel
        What was saved. The lines of the trace (``trace_``) are not part of a file, and text models
        have no ``gap_`` either. Where classes have the same number of votes, svm-predict takes the
        one that a text model names first, and this the smallest.
    """
    content, name = Path(path).read_bytes(), os.fspath(path)
    if libsvm_text.is_libsvm_model(content):
        return libsvm_text.decode(content, name, n_features)
    return saved.decode(content, name)


def described(path: str | os.PathLike[str]) -> tuple[SVC | TableModel, dict[str, Any]]:
    """A model and what its file says about it, as JSON; "library" is None for text models."""
    model, content = load_model(path), Path(path).read_bytes()
    if libsvm_text.is_libsvm_model(content):
        return model, {"library": None, **saved.header_of(model, Contents.of(_svc_of(model)))}
    return model, saved.checked(content)[0]


def _svc_of(model: SVC | TableModel) -> SVC:
    return model.svc if isinstance(model, TableModel) else model


def _without_preparation(model: SVC | TableModel) -> SVC:
    if isinstance(model, SVC):
        return model
    if model.preparation.describe():
        raise ModelFileError(
            "LIBSVM's model file has no place for scaling and one-hot columns "
            f"({'; '.join(model.preparation.describe())}). Prepare the data first, for example by "
            "svm-scale, and train with scale 'none'."
        )
    return model.svc
