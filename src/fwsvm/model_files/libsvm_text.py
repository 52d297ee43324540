"""The text model of LIBSVM's svm-train and svm-predict.

LIBSVM decides between its labels i < j by ``sum coef k(x_sv, x) - rho``, positive for the first.
Ours is the same for pairs of several classes; with two classes ours is positive for the second.
An L2-SVM is written as ``c_svc``: the decision function has the same form.
"""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .. import kernels
from ..data import read
from ..dual import Floats
from ..estimators import SVC
from ..multiclass import pairs
from .contents import Contents
from .saved import ModelFileError

# Their names of kernels, and which of their parameters count.
_NAMES = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}
_FIRST_KEYS = (b"svm_type", b"kernel_type")


def is_libsvm_model(content: bytes) -> bool:
    """Whether a file begins like one."""
    return content.lstrip().startswith(_FIRST_KEYS)


# ---------------------------------------------------------------------------------------- write


def encode(svc: SVC) -> bytes:
    """The model as the content of a file for svm-predict."""
    contents = Contents.of(svc)
    n_classes = len(contents.classes)
    if n_classes > 2 and contents.scheme != "ovo":
        raise ModelFileError(
            "LIBSVM's model file holds the classifiers of pairs and their votes. "
            f"Got multiclass={contents.scheme!r}: train with multiclass='ovo'."
        )
    sign = -1.0 if n_classes == 2 else 1.0
    lines = [
        "svm_type c_svc",
        *_kernel_lines(contents.kernel),
        f"nr_class {n_classes}",
        f"total_sv {len(contents.support)}",
        f"rho {_joined(-sign * contents.intercept)}",
        f"label {_joined(_integer_labels(contents.classes))}",
        f"nr_sv {_joined(contents.n_support)}",
        "SV",
    ]
    rows = _feature_texts(contents)
    coefficients = (sign * contents.dual_coef.T).tolist()
    lines += [" ".join([*map(repr, c), row]) for c, row in zip(coefficients, rows, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def _kernel_lines(kernel: kernels.Kernel) -> list[str]:
    name = "precomputed" if isinstance(kernel, kernels.Precomputed) else getattr(kernel, "name", "")
    if name not in _NAMES:
        raise ModelFileError(
            f"LIBSVM has the kernels {', '.join(_NAMES)}. Got {kernel!r}, which it cannot compute."
        )
    return [f"kernel_type {name}", *(f"{p} {getattr(kernel, p):.17g}" for p in _NAMES[name])]


def _integer_labels(classes: NDArray[Any]) -> NDArray[np.int64]:
    is_number = classes.dtype.kind in "iuf"
    labels = classes.astype(np.int64) if is_number else np.zeros(0, dtype=np.int64)
    if not is_number or (labels != classes).any() or np.abs(labels).max() >= 2**31:
        raise ModelFileError(
            "LIBSVM's labels are integers of 32 bits. Got the classes "
            f"{', '.join(map(str, classes[:5]))}: encode them, for example with "
            "sklearn.preprocessing.LabelEncoder."
        )
    return labels


def _joined(values: NDArray[Any]) -> str:
    return " ".join(map(repr, values.tolist()))


def _feature_texts(contents: Contents) -> list[str]:
    """``index:value ...`` of each support vector."""
    if isinstance(contents.kernel, kernels.Precomputed):
        return [f"0:{number + 1}" for number in contents.support.tolist()]
    X = scipy.sparse.csr_array(contents.support_vectors)
    indices, values, ends = (X.indices + 1).tolist(), X.data.tolist(), X.indptr.tolist()
    texts = list(map("{}:{!r}".format, indices, values))
    return [" ".join(texts[a:b]) for a, b in pairwise(ends)]


# ----------------------------------------------------------------------------------------- read


def decode(content: bytes, name: str, n_features: int | None = None) -> SVC:
    """The model in the content of a file of this name, as an SVC that only predicts."""
    try:
        return _contents(content, n_features).svc()
    except ValueError as error:
        raise ModelFileError(f"{name}: {error}") from error


def _contents(content: bytes, n_features: int | None) -> Contents:
    header, body, n_header_lines = _split(content)
    kernel, parameters = _kernel(header)
    n_classes, n_support = _count(header, "nr_class"), _count(header, "total_sv")
    labels = _numbers(header, "label", n_classes).astype(np.int64)
    of_class = _numbers(header, "nr_sv", n_classes).astype(np.int32)
    rho = _numbers(header, "rho", n_classes * (n_classes - 1) // 2)
    coefficients, texts = _coefficients(body, n_classes - 1, n_support, n_header_lines)
    if (of_class < 0).any() or of_class.sum() != n_support:
        raise ValueError(f"nr_sv must add up to total_sv {n_support}. Got {of_class.tolist()}.")
    dual_coef, intercept, order = _sorted_by_label(coefficients, rho, labels, of_class)
    texts = [texts[i] for i in order]
    is_precomputed = isinstance(kernel, kernels.Precomputed)
    vectors = np.empty((0, 0)) if is_precomputed else _vectors(texts, n_features)
    support = _row_numbers(texts) if is_precomputed else np.arange(n_support, dtype=np.int32)
    width = int(support.max(initial=0)) + 1 if is_precomputed else vectors.shape[1]
    return Contents(
        parameters={**SVC().get_params(), **parameters},
        kernel=kernel,
        classes=np.sort(labels),
        n_features=max(width, n_features or 1) if is_precomputed else width,
        feature_names=None,
        n_rows=max(1, n_support),
        support=support,
        n_support=of_class[np.argsort(labels)],
        support_vectors=vectors,
        dual_coef=dual_coef,
        intercept=intercept,
        summary=None,
    )


def _split(content: bytes) -> tuple[dict[str, list[str]], list[str], int]:
    """Keys of the header, lines of support vectors, number of lines before them."""
    try:
        lines = content.decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"expected text: {error}") from None
    header: dict[str, list[str]] = {}
    for number, line in enumerate(lines):
        key, *values = line.split() or [""]
        if key == "SV":
            body = lines[number + 1 :]
            return header, body[:-1] if body and not body[-1].strip() else body, number + 1
        if key:
            header[key] = values
    raise ValueError("expected a line SV before the support vectors; the file may be cut short")


def _kernel(header: dict[str, list[str]]) -> tuple[kernels.Kernel, dict[str, Any]]:
    svm_type, name = _word(header, "svm_type"), _word(header, "kernel_type")
    if svm_type not in ("c_svc", "nu_svc"):
        raise ValueError(f"svm_type must be c_svc or nu_svc, a classifier. Got {svm_type!r}.")
    if name not in _NAMES:
        raise ValueError(f"kernel_type must be one of {', '.join(_NAMES)}. Got {name!r}.")
    given = {p: float(_numbers(header, p, 1)[0]) for p in _NAMES[name]}
    if "degree" in given:
        given["degree"] = int(given["degree"])
    made = {
        "linear": kernels.Linear,
        "polynomial": kernels.Polynomial,
        "rbf": kernels.RBF,
        "sigmoid": kernels.Sigmoid,
        "precomputed": kernels.Precomputed,
    }[name](**given)
    return made, {"kernel": "poly" if name == "polynomial" else name, **given}


def _word(header: dict[str, list[str]], key: str) -> str:
    if len(header.get(key, ())) != 1:
        raise ValueError(f"expected a line with {key} and one word")
    return header[key][0]


def _numbers(header: dict[str, list[str]], key: str, count: int) -> Floats:
    words = header.get(key, [])
    if len(words) != count:
        raise ValueError(f"expected a line with {key} and {count} numbers. Got {len(words)}.")
    try:
        numbers = np.array(words, dtype=np.float64)
    except ValueError:
        raise ValueError(f"{key} must be numbers. Got {' '.join(words)[:60]!r}.") from None
    is_integer = key in ("label", "nr_sv", "nr_class", "total_sv", "degree")
    if not np.isfinite(numbers).all() or (
        is_integer and ((numbers != np.trunc(numbers)) | (np.abs(numbers) >= 2**31)).any()
    ):
        raise ValueError(f"{key} must be finite numbers of their type. Got {words[:5]}.")
    return numbers


def _count(header: dict[str, list[str]], key: str) -> int:
    count = int(_numbers(header, key, 1)[0])
    if not 0 <= count <= (10_000 if key == "nr_class" else 2**31 - 1):
        raise ValueError(f"{key} must be a count. Got {count}.")
    return count


def _coefficients(
    body: list[str], width: int, n_support: int, lines_before: int
) -> tuple[Floats, list[str]]:
    """One row of coefficients for each support vector, and the text of its features."""
    if len(body) != n_support:
        raise ValueError(
            f"expected {n_support} support vectors, as total_sv says. Got {len(body)}."
        )
    split = [line.strip().split(maxsplit=width) for line in body]
    coefficients = np.empty((n_support, max(width, 0)))
    for number, words in enumerate(split):
        try:
            coefficients[number] = words[:width]
        except ValueError:
            line = lines_before + number + 1
            raise ValueError(
                f"line {line}: expected {width} coefficients and then index:value. "
                f"Got {body[number][:60]!r}."
            ) from None
    return coefficients, [words[width] if len(words) > width else "" for words in split]


def _sorted_by_label(
    coefficients: Floats, rho: Floats, labels: NDArray[np.int64], of_class: NDArray[np.int32]
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Coefficients and intercepts in our order and with our signs, and the order of rows."""
    n_classes = len(labels)
    rank = np.argsort(np.argsort(labels))  # of each of their classes among ours
    theirs = np.repeat(np.arange(n_classes), of_class)
    order = np.argsort(rank[theirs], kind="stable")
    number = {pair: k for k, pair in enumerate(pairs(n_classes))}
    sign = -1.0 if n_classes == 2 else 1.0
    dual_coef, intercept = np.zeros((n_classes - 1, len(theirs))), np.zeros(len(rho))
    for k, (i, j) in enumerate(pairs(n_classes)):
        a, b = sorted((rank[i], rank[j]))
        turned = sign if rank[i] < rank[j] else -sign
        intercept[number[a, b]] = -turned * rho[k]
        for own, other in ((i, j), (j, i)):
            its = theirs == own
            ours = rank[other] - (rank[other] > rank[own])
            dual_coef[ours, its] = turned * coefficients[its, other - (other > own)]
    return dual_coef[:, order], intercept, order


def _vectors(texts: list[str], n_features: int | None) -> Any:
    """The rows, read as the LIBSVM text that they are."""
    text = "".join(f"0 {row}\n" for row in texts)
    table = read(io.BytesIO(text.encode()), format="libsvm", dtype=np.float64)
    wide = max(table.n_columns, n_features or 1)
    X = table.X
    return scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], wide))


def _row_numbers(texts: list[str]) -> NDArray[np.int32]:
    """Of a precomputed kernel: ``0:number`` counts from 1."""
    numbers = []
    for text in texts:
        key, _, value = text.strip().partition(":")
        if key != "0" or not value.isdigit() or not 1 <= int(value) < 2**31:
            raise ValueError(f"expected 0:number of a training row. Got {text[:60]!r}.")
        numbers.append(int(value) - 1)
    return np.array(numbers, dtype=np.int32)
