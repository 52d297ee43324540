"""The model file of this library: safetensors, with everything but the arrays as JSON.

docs/model_file.md describes the format. Nothing in a file is executed; whatever is wrong with one
is a `ModelFileError`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
import scipy.sparse
from numpy.typing import NDArray

from .. import kernels
from .._version import __version__
from ..data import Preparation
from ..estimators import SVC
from .contents import Contents, Summary
from .table_model import TableModel

FORMAT = "fwsvm model"
VERSION = 1

_KERNELS: dict[str, Callable[..., kernels.Kernel]] = {
    "linear": kernels.Linear,
    "rbf": kernels.RBF,
    "polynomial": kernels.Polynomial,
    "sigmoid": kernels.Sigmoid,
    "laplacian": kernels.Laplacian,
    "precomputed": kernels.Precomputed,
}
_SPARSE_PARTS = ("data", "indices", "indptr")


class ModelFileError(ValueError):
    """A model file that cannot be read, or a model that cannot be written."""


# ---------------------------------------------------------------------------------------- write


def encode(model: SVC | TableModel) -> bytes:
    """The model as the content of a file."""
    contents = Contents.of(model.svc if isinstance(model, TableModel) else model)
    text = json.dumps({"library": __version__, **header_of(model, contents)}, allow_nan=False)
    arrays = _arrays(contents)
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "header": text,
        "sha256": _checksum(text, arrays),
    }
    return safetensors.numpy.save(arrays, metadata)


def header_of(model: SVC | TableModel, contents: Contents) -> dict[str, Any]:
    """What a file says in JSON, but for the version of the library."""
    return {
        "parameters": _encoded_parameters(contents.parameters),
        "kernel": _encoded_kernel(contents.kernel),
        "classes": _encoded_classes(contents.classes),
        "n_features": contents.n_features,
        "feature_names": contents.feature_names,
        "n_rows": contents.n_rows,
        "training": None if contents.summary is None else asdict(contents.summary),
        "preparation": model.preparation.to_dict() if isinstance(model, TableModel) else None,
        "target_name": model.target_name if isinstance(model, TableModel) else None,
    }


def _arrays(contents: Contents) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "support": contents.support,
        "n_support": contents.n_support,
        "dual_coef": contents.dual_coef,
        "intercept": contents.intercept,
    }
    vectors = contents.support_vectors
    if scipy.sparse.issparse(vectors):
        for part in _SPARSE_PARTS:
            arrays[f"support_vectors.{part}"] = getattr(vectors, part)
    else:
        arrays["support_vectors"] = vectors
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _checksum(header: str, arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        array = arrays[name]
        kind = array.dtype.newbyteorder("<")
        digest.update(f"\n{name} {kind.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()


def _encoded_kernel(kernel: kernels.Kernel) -> dict[str, Any]:
    for name, kind in _KERNELS.items():
        if type(kernel) is kind:
            given = {f.name: getattr(kernel, f.name) for f in fields(kernel)}  # type: ignore[arg-type]
            return {"name": name, **{key: _plain(value) for key, value in given.items()}}
    raise ModelFileError(
        f"a model file holds the kernels {', '.join(_KERNELS)}, and no functions. "
        f"Got {kernel!r}; a model with it can only be pickled."
    )


def _encoded_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    encoded = {name: _plain(value) for name, value in parameters.items()}
    if isinstance(parameters["kernel"], kernels.Kernel):
        encoded["kernel"] = _encoded_kernel(parameters["kernel"])
    if isinstance(parameters["class_weight"], dict):
        some = parameters["class_weight"].items()
        encoded["class_weight"] = [[_plain(name), _plain(factor)] for name, factor in some]
    if not isinstance(encoded["random_state"], int | None):
        encoded["random_state"] = None  # a generator has no place in a file
    return encoded


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _encoded_classes(classes: NDArray[Any]) -> dict[str, Any]:
    values = classes.tolist()
    if classes.dtype.kind not in "biufUO" or classes.dtype == np.longdouble:
        raise ModelFileError(f"classes must be numbers, strings or booleans. Got {classes.dtype}.")
    if classes.dtype == object and not all(type(value) is str for value in values):
        raise ModelFileError(f"classes must all be strings, or all be numbers. Got {values!r}.")
    dtype = {"U": "str", "O": "object"}.get(classes.dtype.kind, classes.dtype.name)
    return {"dtype": dtype, "values": values}


# ----------------------------------------------------------------------------------------- read


def decode(content: bytes, name: str) -> SVC | TableModel:
    """The model in the content of a file of this name."""
    try:
        header, arrays = checked(content)
        return _model(header, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error.__cause__
    # Whatever else is wrong in a file whose checksum is right was made so by another program.
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise ModelFileError(f"{name}: not a model of this library: {error!r}") from error


def checked(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file that is complete, unaltered and of a version known here."""
    try:
        arrays = safetensors.numpy.load(content)
    except Exception as error:  # of several kinds, all about these bytes
        raise ModelFileError(
            f"damaged, cut short, or not a model file of fwsvm (safetensors): {error}"
        ) from error
    size = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + size]).get("__metadata__", {})
    if metadata.get("format") != FORMAT:
        raise ModelFileError("a safetensors file, but not a model file of fwsvm")
    version = metadata.get("version", "")
    if not (version.isascii() and version.isdigit() and version.strip("0")):
        raise ModelFileError(f"the version must be a positive number. Got {version[:20]!r}.")
    if len(version) > 6 or int(version) > VERSION:
        raise ModelFileError(
            f"written in version {version[:20]} of the format; fwsvm {__version__} reads versions "
            f"up to {VERSION}. Upgrade fwsvm to read it."
        )
    text = metadata.get("header", "")
    if metadata.get("sha256") != _checksum(text, arrays):
        raise ModelFileError("altered since it was written: the checksum does not fit")
    return json.loads(text), arrays


def _model(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> SVC | TableModel:
    contents = Contents(
        parameters=_decoded_parameters(header["parameters"]),
        kernel=_decoded_kernel(header["kernel"]),
        classes=_decoded_classes(header["classes"]),
        n_features=_integer(header["n_features"]),
        feature_names=_strings(header["feature_names"]),
        n_rows=_integer(header["n_rows"]),
        support=_array(arrays, "support", np.int32),
        n_support=_array(arrays, "n_support", np.int32),
        support_vectors=_decoded_vectors(arrays, _integer(header["n_features"])),
        dual_coef=_array(arrays, "dual_coef", np.float64),
        intercept=_array(arrays, "intercept", np.float64),
        summary=_decoded_summary(header["training"]),
    )
    svc = contents.svc()
    if header["preparation"] is None:
        return svc
    preparation = Preparation.from_dict(header["preparation"])
    if preparation.n_features != contents.n_features:
        raise ModelFileError("the preparation does not make the features of the model")
    name = header["target_name"]
    if not isinstance(name, str | None):
        raise ModelFileError(f"target_name must be a name. Got {name!r}.")
    return TableModel(preparation, svc, name)


def _decoded_kernel(saved: dict[str, Any]) -> kernels.Kernel:
    values = dict(saved)
    name = values.pop("name")
    if name not in _KERNELS:
        raise ModelFileError(f"the kernel must be one of {', '.join(_KERNELS)}. Got {name!r}.")
    return _KERNELS[name](**values)


def _decoded_parameters(saved: dict[str, Any]) -> dict[str, Any]:
    parameters = dict(saved)
    if isinstance(parameters["kernel"], dict):
        parameters["kernel"] = _decoded_kernel(parameters["kernel"])
    if isinstance(parameters["class_weight"], list):
        parameters["class_weight"] = dict(parameters["class_weight"])
    return parameters


def _decoded_classes(saved: dict[str, Any]) -> NDArray[Any]:
    dtype, values = saved["dtype"], saved["values"]
    if not isinstance(values, list):
        raise ModelFileError("classes must be a list")
    if dtype in ("str", "object"):
        names = _strings(values)
        return np.array(names, dtype=object if dtype == "object" else str)
    if dtype != "bool" and str(dtype).rstrip("0123456789") not in ("int", "uint", "float"):
        raise ModelFileError(f"classes must be numbers, strings or booleans. Got {dtype!r}.")
    classes: NDArray[Any] = np.array(values)
    if classes.ndim != 1 or classes.dtype.kind not in "biuf" or not np.isfinite(classes).all():
        raise ModelFileError("classes must be finite numbers")
    as_saved = classes.astype(np.dtype(dtype))
    if not (as_saved == classes).all():
        raise ModelFileError(f"classes must be numbers of the type {dtype}")
    return as_saved


def _decoded_vectors(arrays: dict[str, NDArray[Any]], n_features: int) -> Any:
    if "support_vectors" in arrays:
        vectors = arrays["support_vectors"]
        if vectors.ndim != 2 or vectors.dtype not in (np.float32, np.float64):
            raise ModelFileError("support_vectors must be a matrix of float32 or float64")
        return vectors
    data, indices, starts = (arrays[f"support_vectors.{part}"] for part in _SPARSE_PARTS)
    if data.dtype not in (np.float32, np.float64) or {indices.dtype.kind, starts.dtype.kind} != {
        "i"
    }:
        raise ModelFileError("support_vectors must be CSR of float32 or float64")
    vectors = scipy.sparse.csr_array((data, indices, starts), shape=(len(starts) - 1, n_features))
    vectors.check_format(full_check=True)
    return vectors


def _decoded_summary(saved: dict[str, Any] | None) -> Summary | None:
    if saved is None:
        return None
    summary = Summary(
        gap=[float(gap) for gap in saved["gap"]],
        status=[str(status) for status in saved["status"]],
        n_iter=[_integer(n) for n in saved["n_iter"]],
        seconds=float(saved["seconds"]),
    )
    if not all(map(math.isfinite, [*summary.gap, summary.seconds])):
        raise ModelFileError("the training summary must hold finite numbers")
    return summary


def _array(arrays: dict[str, NDArray[Any]], name: str, dtype: Any) -> NDArray[Any]:
    array = arrays[name]
    if array.dtype != dtype:
        raise ModelFileError(f"{name} must be of {np.dtype(dtype)}. Got {array.dtype}.")
    return array


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise ModelFileError(f"expected an integer, got {value!r}")
    return value


def _strings(values: Any) -> list[str] | None:
    if values is None:
        return None
    if not isinstance(values, list) or not all(type(value) is str for value in values):
        raise ModelFileError("expected a list of strings")
    return values
