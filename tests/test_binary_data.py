"""Parquet, Arrow and NPZ."""

import gzip
import io
import sys
from decimal import Decimal

import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from table_files import CSV, FILES, KINDS, X, as_arrow, as_npz, as_parquet, csr_as_npz

from fwsvm.data import Table, read


@pytest.mark.parametrize("form", [as_parquet, as_arrow])
def test_columns_of_every_type(form):
    table = pyarrow.table(
        {
            "int": pyarrow.array([1, 2], pyarrow.int16()),
            "bool": [True, False],
            "decimal": pyarrow.array([Decimal("1.5"), Decimal("2.25")]),
            "text": ["a", "b"],
            "dictionary": pyarrow.array(["u", "v"]).dictionary_encode(),
            "code": [7, 8],
            "y": pyarrow.array([2**62, 5]),
        }
    )
    found = read(io.BytesIO(form(table)), target="y", categorical=["code"])
    assert {name: values.tolist() for name, values in found.X.items()} == {
        "int": [1, 2],
        "bool": [1, 0],
        "decimal": [1.5, 2.25],
        "text": ["a", "b"],
        "dictionary": ["u", "v"],
        "code": ["7", "8"],
    }
    assert found.categorical == ("text", "dictionary", "code")
    assert found.y.tolist() == [2**62, 5]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1, None]}, "row 2, column 'a': expected a value"),
        ({"a": [1.0, float("nan")]}, "column 'a' must hold finite numbers within float32, got nan"),
        ({"a": pyarrow.array([0], pyarrow.timestamp("s"))}, r"must hold numbers or strings, got t"),
        ({"a": [[1], [2]]}, "must hold numbers or strings, got list"),
        ({"a": pyarrow.array([], pyarrow.int64())}, "expected at least one row"),
    ],
)
def test_columns_that_are_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        read(io.BytesIO(as_parquet(pyarrow.table(columns))))


@pytest.mark.parametrize(
    ("targets", "message"),
    [([2**64 - 1], "must be within int64, got 18446744073709551615"), ([np.nan], "must be finite")],
)
def test_targets_that_are_refused(targets, message):
    table = pyarrow.table({"a": [1], "y": np.array(targets)})
    with pytest.raises(ValueError, match=message):
        read(io.BytesIO(as_parquet(table)), target="y")


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow"])
def test_missing_pyarrow_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install fwsvm\[parquet\]"):
        read(io.BytesIO(FILES[name]))


def test_npz():
    table = read(io.BytesIO(as_npz(X=X, y=[1, 2, 1])))
    np.testing.assert_array_equal(table.X, X)
    assert table.y.tolist() == [1, 2, 1]
    assert table.target_name == "y"
    assert read(io.BytesIO(as_npz(X=X, y=KINDS))).y.tolist() == KINDS
    assert read(io.BytesIO(as_npz(X=X, label=[1, 2, 1])), target="label").y.tolist() == [1, 2, 1]
    assert read(io.BytesIO(as_npz(X=X))).y is None
    assert read(io.BytesIO(as_npz(X=X)), target="label", target_optional=True).y is None
    sparse = scipy.sparse.csr_array(X)
    table = read(io.BytesIO(csr_as_npz(sparse)))
    assert scipy.sparse.issparse(table.X)
    np.testing.assert_array_equal(table.X.toarray(), X)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (as_npz(x=X), "expected an array X"),
        (as_npz(X=X[0]), "X must be a matrix of numbers, got 1 dimensions of float32"),
        (as_npz(X=[["a"]]), "X must be a matrix of numbers"),
        (as_npz(X=X, y=[1]), "expected 3 targets, one a row, got an array of"),
        (as_npz(X=X, y=np.array([1j, 2, 3])), "must be numbers or strings, got complex128"),
        (as_npz(X=X, y=[1, np.inf, 2]), "targets must be finite numbers"),
        (as_npz(X=[[1, np.nan]]), "X must hold finite numbers within float32"),
        (as_npz(X=np.array([[None]], dtype=object)), "allow_pickle"),
        (csr_as_npz(scipy.sparse.csc_array(X)), "expected a CSR matrix"),
    ],
)
def test_npz_that_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        read(io.BytesIO(content), format="npz")


def test_npz_target_that_is_not_there():
    with pytest.raises(ValueError, match="expected the array 'label'; there are X"):
        read(io.BytesIO(as_npz(X=X)), target="label")
    with pytest.raises(ValueError, match="the target of an NPZ file is the name of an array"):
        read(io.BytesIO(as_npz(X=X)), target=0)


WHOLE = {
    "npz": as_npz(X=X, y=[1, 2, 1]),
    "csr": csr_as_npz(scipy.sparse.csr_array(X)),
    "parquet": FILES["rows.parquet"],
    "arrow": FILES["rows.arrow"],
    "csv": gzip.compress(CSV),
}


@given(
    name=st.sampled_from(sorted(WHOLE)),
    changes=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=3),
    length=st.integers(0, 5000),
)
@settings(max_examples=300, deadline=None)
def test_altered_files_are_read_or_refused(name, changes, length):
    content = bytearray(WHOLE[name])
    for place, byte in changes:
        content[place % len(content)] = byte
    try:
        table = read(io.BytesIO(content[: length or None]), format=name if name != "csr" else "npz")
    except ValueError as error:
        assert str(error)  # noqa: PT017 - any other error fails the test
    else:
        assert isinstance(table, Table)
