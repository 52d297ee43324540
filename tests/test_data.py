"""Readers of tables and the preparation of their columns."""

import bz2
import gzip
import io
import json
import lzma
import re
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from processes import run_python
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from fwsvm.data import Preparation, Table, read

CSV = b"length,width,kind\n1.5,2,red\n-3e2,4,blue\n5,6.25,red\n"
X = np.array([[1.5, 2], [-300, 4], [5, 6.25]], dtype=np.float32)
KINDS = ["red", "blue", "red"]


class Pipe:
    """A stream that gives a few bytes at a time and cannot be rewound."""

    def __init__(self, content):
        self.read_few = io.BytesIO(content).read

    def read(self, size):
        return self.read_few(min(size, 100))


@pytest.fixture(params=["pyarrow", "no extras"])
def with_and_without_pyarrow(request, monkeypatch):
    if request.param == "no extras":
        monkeypatch.setitem(sys.modules, "pyarrow", None)


def arrow_table():
    return pyarrow.table({"length": X[:, 0], "width": X[:, 1], "kind": KINDS})


def as_parquet(table):
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue()


def as_arrow(table, kind=pyarrow.ipc.new_file):
    sink = io.BytesIO()
    with kind(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def as_feather(table):
    sink = io.BytesIO()
    pyarrow.feather.write_feather(table, sink, compression="zstd")
    return sink.getvalue()


def as_npz(**arrays):
    sink = io.BytesIO()
    np.savez_compressed(sink, **arrays)
    return sink.getvalue()


def csr_as_npz(matrix):
    sink = io.BytesIO()
    scipy.sparse.save_npz(sink, matrix)
    return sink.getvalue()


FILES = {
    "rows.csv": CSV,
    "rows.tsv": CSV.replace(b",", b"\t"),
    "rows.csv.gz": gzip.compress(CSV),
    "rows.csv.bz2": bz2.compress(CSV),
    "rows.tsv.xz": lzma.compress(CSV.replace(b",", b"\t")),
    "rows.parquet": as_parquet(arrow_table()),
    "rows.arrow": as_arrow(arrow_table()),
    "rows.feather": as_feather(arrow_table()),
    "stream.arrow": as_arrow(arrow_table(), pyarrow.ipc.new_stream),
    "without_ending": as_parquet(arrow_table()),
    "commas": CSV,
    "tabs": CSV.replace(b",", b"\t"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("way", ["path", "stream", "pipe"])
def test_every_format_of_tables(name, way, tmp_path):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    if way == "path":
        table = read(path, target="kind")
    elif way == "stream":
        with path.open("rb") as stream:
            table = read(stream, target="kind")
            assert not stream.closed
    else:
        table = read(Pipe(FILES[name]), target="kind")
    np.testing.assert_array_equal(table.X, X)
    assert table.X.dtype == np.float32
    assert table.y.tolist() == KINDS
    assert table.feature_names == ("length", "width")
    assert table.target_name == "kind"
    assert (table.n_rows, table.n_columns, table.categorical) == (3, 2, ())


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_libsvm_text_by_content_alone(pack):
    table = read(Pipe(pack(b"# rows\n1\n-1 1:2 3:4\n")))
    assert table.X.toarray().tolist() == [[0, 0, 0], [2, 0, 4]]
    assert table.y.tolist() == [1, -1]


def test_standard_input():
    code = "from fwsvm.data import read; t = read('-', target='kind'); print(t.X.tolist(), t.y)"
    for content in (CSV, gzip.compress(FILES["rows.parquet"])):
        run = subprocess.run(
            [sys.executable, "-c", code], input=content, capture_output=True, check=True
        )
        assert run.stdout.decode() == f"{X.tolist()} {np.array(KINDS)}\n"


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"words and words\n", "x", "the format cannot be told from its ending or its first lines"),
        (b"", "x", "the format cannot be told"),
        (b"1 1:1\n", "x.parquet", "ends like parquet data but does not begin like it"),
        (gzip.compress(CSV)[:-9], "x.csv.gz", "is damaged or cut short"),
        (bz2.compress(CSV)[:-9], "x.csv.bz2", "is damaged or cut short"),
        (lzma.compress(CSV)[:-9], "x.csv.xz", "is damaged or cut short"),
        (b"BZh9 is not bzip2", "x.csv", "is damaged or cut short"),
        (as_parquet(arrow_table())[:-9], "x.parquet", "damaged, cut short, or not parquet"),
        (as_arrow(arrow_table())[:-9], "x.arrow", "damaged, cut short, or not arrow"),
        (as_npz(X=X)[:-9], "x.npz", "damaged, cut short, or not NPZ"),
    ],
)
def test_sources_that_are_refused(content, name, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        read(path)
    assert str(path) in str(error.value)


def test_arguments_that_are_refused():
    with pytest.raises(ValueError, match="format must be one of libsvm, csv"):
        read(io.BytesIO(CSV), format="excel")
    with pytest.raises(ValueError, match=r"dtype must be float32 or float64\. Got int64"):
        read(io.BytesIO(CSV), dtype=np.int64)
    with pytest.raises(ValueError, match="begins each line with the target, got target='y'"):
        read(io.BytesIO(b"1 1:1"), target="y")
    with pytest.raises(ValueError, match="libsvm has no columns of categories"):
        read(io.BytesIO(b"1 1:1"), categorical=[0])
    with pytest.raises(TypeError, match="must be a binary stream"):
        read(io.StringIO("1 1:1"))


# ------------------------------------------------------------------------------------------- text


@pytest.mark.usefixtures("with_and_without_pyarrow")
class TestDelimited:
    def read(self, text, **options):
        return read(io.BytesIO(text), **{"format": "csv", **options})

    def test_header_and_target(self):
        table = self.read(CSV, target=-1)
        np.testing.assert_array_equal(table.X, X)
        assert table.y.tolist() == KINDS
        table = self.read(CSV.split(b"\n", 1)[1], target=2)
        np.testing.assert_array_equal(table.X, X)
        assert table.feature_names == ("column 1", "column 2")
        assert table.target_name == "column 3"

    def test_target_may_be_absent_when_that_was_said(self):
        text = b"length,width\n1,2\n"
        assert self.read(text, target="kind", target_optional=True).y is None
        with pytest.raises(ValueError, match="expected a column 'kind'; the columns are 'length'"):
            self.read(text, target="kind")
        with pytest.raises(ValueError, match="expected a column number 2"):
            self.read(text, target=2)

    @pytest.mark.parametrize(
        ("labels", "expected"),
        [("1 2 3", int), ("1.0 2 3", int), ("1.5 2 3", float), ("a b c", str)],
    )
    def test_targets_keep_their_kind(self, labels, expected):
        text = "x,y\n" + "".join(f"0,{label}\n" for label in labels.split())
        y = self.read(text.encode(), target="y").y
        assert y.tolist() == [
            expected(float(v)) if expected is int else expected(v) for v in labels.split()
        ]

    def test_large_integer_targets_are_not_rounded(self):
        text = b"x,y\n0,9007199254740993\n1,9007199254740992\n"
        with pytest.raises(ValueError, match=r"targets from 2\^53 on .* categorical=\['y'\]"):
            self.read(text, target="y")
        y = self.read(text, target="y", categorical=["y"]).y
        assert y.tolist() == ["9007199254740993", "9007199254740992"]

    def test_categories(self):
        table = self.read(b'size,colour,y\n1,red,0\n2, blue ,1\n3,"red",1\n', target="y")
        assert table.X["size"].tolist() == [1, 2, 3]
        assert table.X["colour"].tolist() == ["red", "blue", "red"]
        assert table.categorical == ("colour",)
        assert (table.n_rows, table.n_columns) == (3, 2)

    def test_columns_said_to_hold_categories(self):
        table = self.read(b"zip,y\n0123,0\n45,1\nx9,0\n", target="y", categorical=["zip"])
        assert table.X["zip"].tolist() == ["0123", "45", "x9"]
        assert self.read(b"5,1\n6,2\n", categorical=[0]).X["column 1"].tolist() == ["5", "6"]

    def test_forms_of_lines(self):
        text = b'\xef\xbb\xbf"a b",c\r\n"1",2\r\n\r\n 3,"4"'
        table = self.read(text)
        assert table.feature_names == ("a b", "c")
        assert table.X.tolist() == [[1, 2], [3, 4]]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (b"", "expected at least one row, the file is empty"),
            (b"a,b\n", "expected rows below the header, there are none"),
            (b"a,b\n1,2\n3\n", "line 3: expected 2 cells, got 1: '3'"),
            (b"a,b\n1,2,3\n", "line 2: expected 2 cells, got 3: '1,2,3'"),
            (b"a,b\n1,2\n\n3,\n", "line 4, column 'b': expected a value (fill in what is missing"),
            (b"a,b\nx,2\n,3\n", "line 3, column 'a': expected a value (fill in what is missing"),
            (b"a,b\n1,2\n3,nan\n", "line 3, column 'b': expected a finite number, got 'nan'"),
            (b"a,b\n1,2\n3,inf\n", "line 3, column 'b': expected a finite number, got 'inf'"),
            (b"a,b\n1,2\n3,?\n", "'2' in line 2, '?' in line 3. Correct the cells, or read the"),
            (
                b"a,b\n1,x\n3,4\n",
                "column 'b' holds both numbers and other text: 'x' in line 2, '4'",
            ),
            (b"a,b\n1,2\n3,1_0\n", "column 'b' holds both numbers and other text"),
            (b"a,,c\n1,2,3\n", "column 2 has no name in the header"),
            (b"a,a\n1,2\n", "the name 'a' comes twice in the header"),
            (b"a,b\n1,1e39\n", "column 'b' must hold finite numbers within float32, got 1e+39"),
            (b'a,b\n1,"2\n', "line 2: unexpected end of data"),
            (b"a,b\n1,\xff\n", "expected UTF-8 text"),
        ],
    )
    def test_what_is_refused(self, text, message):
        with pytest.raises(ValueError, match=re.escape(message)) as error:
            self.read(text)
        assert str(error.value).startswith("stream: ")

    def test_only_a_target(self):
        with pytest.raises(ValueError, match="expected at least one column besides the target"):
            self.read(b"y\n1\n", target="y")

    def test_only_a_header_of_categories(self):
        with pytest.raises(ValueError, match="expected rows below the header, there are none"):
            self.read(b"a,b\n", categorical=["a", "b"])

    def test_a_number_late_in_a_long_column_is_not_lost(self):
        words = [b"word", b'"two words"'] * 10_000
        words[12_345] = b"7"
        with pytest.raises(ValueError, match=r"'word' in line 2, '7' in line 12347"):
            self.read(b"a,b\n" + b"".join(b"1,%s\n" % word for word in words))


CELLS = st.sampled_from(["1", "-2.5", "red", "", " 3", "nan", "1_0", '"q', "é", "0x1", "+1", "1e5"])


@given(
    rows=st.lists(st.lists(CELLS, min_size=2, max_size=3), min_size=1, max_size=5),
    categorical=st.booleans(),
)
@settings(max_examples=200)
@example([["1", "1"], ["1", '"q']], True)
def test_pyarrow_changes_nothing(rows, categorical):
    text = "\n".join(map(",".join, rows)).encode()

    def outcome():
        try:
            table = read(
                io.BytesIO(text), format="csv", target=0, categorical=[1] if categorical else []
            )
        except ValueError as error:
            return str(error)
        columns = table.X.items() if isinstance(table.X, dict) else enumerate(table.X.T)
        return [(k, v.tolist()) for k, v in columns], table.y.tolist(), table.feature_names

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow", None)
        careful = outcome()
    assert outcome() == careful


# ---------------------------------------------------------------------------------- binary formats


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


# ------------------------------------------------------------------------------------ preparation

TRAIN = Table(
    {
        "size": np.array([1.0, 2, 6]),
        "colour": np.array(["red", "blue", "red"], dtype=object),
        "height": np.array([5.0, 5, 5]),
    },
    np.array([0, 1, 0]),
    ("size", "colour", "height"),
)


def test_one_hot_in_place_of_the_column():
    preparation = Preparation().fit(TRAIN)
    assert preparation.apply(TRAIN).tolist() == [[1, 0, 1, 5], [2, 1, 0, 5], [6, 0, 1, 5]]
    assert preparation.n_features == 4
    assert preparation.output_names() == ("size", "colour=blue", "colour=red", "height")
    assert preparation.categorical == ("colour",)
    assert preparation.describe() == ["column 'colour': one-hot, 2 categories"]


def test_columns_of_integers_are_scaled_as_numbers():
    whole = {**TRAIN.X, "size": np.array([1, 2, 6])}
    table = Table(whole, None, TRAIN.feature_names)
    matrix = Preparation("minmax").fit(table).apply(table)
    assert matrix[:, 0].tolist() == [0, 0.2, 1]
    content = as_parquet(pyarrow.table({"size": [1, 2, 6], "colour": KINDS}))
    table = read(io.BytesIO(content))
    assert table.X["size"].dtype == np.float32
    matrix = Preparation("minmax").fit(table).apply(table)
    np.testing.assert_array_equal(matrix[:, 0], np.array([0, 0.2, 1], dtype=np.float32))


def test_many_categories_become_sparse_rows():
    names = np.array([f"n{k}" for k in range(50)], dtype=object)
    table = Table({"name": names, "x": np.arange(50.0)}, None, ("name", "x"))
    matrix = Preparation().fit(table).apply(table)
    assert scipy.sparse.issparse(matrix)
    expected = np.zeros((50, 51))
    order = np.argsort(np.argsort(names))
    expected[np.arange(50), order] = 1
    expected[:, 50] = np.arange(50)
    np.testing.assert_array_equal(matrix.toarray(), expected)


def test_unknown_categories_are_zero_and_named():
    preparation = Preparation().fit(TRAIN)
    later = Table(
        {**TRAIN.X, "colour": np.array(["red", "pink", "grey"], dtype=object)},
        None,
        TRAIN.feature_names,
    )
    with pytest.warns(UserWarning, match=r"'colour' has categories .* in 2 rows: 'grey', 'pink'"):
        matrix = preparation.apply(later)
    assert matrix[:, 1:3].tolist() == [[0, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scaling_as_scikit_learn_does_it(scale):
    dense = np.random.default_rng(0).standard_normal((40, 5)) * [1, 10, 0.1, 0, 3] + 2
    sparse = scipy.sparse.random_array((40, 30), density=0.1, format="csr", rng=1)
    scalers = {
        "standard": (StandardScaler(), StandardScaler(with_mean=False)),
        "minmax": (MinMaxScaler(), MaxAbsScaler()),
    }[scale]
    for matrix, scaler in zip((dense, sparse), scalers, strict=True):
        table = Table(matrix, None)
        found = Preparation(scale).fit(table).apply(table)
        expected = scaler.fit_transform(matrix)
        assert scipy.sparse.issparse(found) == scipy.sparse.issparse(matrix)
        for a in (found, expected):
            if scipy.sparse.issparse(a):
                a.sort_indices()
        difference = np.abs(found - expected)
        assert difference.max() < 1e-12


def test_one_hot_columns_are_not_scaled():
    matrix = Preparation("minmax").fit(TRAIN).apply(TRAIN)
    np.testing.assert_allclose(matrix, [[0, 0, 1, 0], [0.2, 1, 0, 0], [1, 0, 1, 0]])


def test_sparse_text_of_dense_data_is_dense_also_later():
    train = read(io.BytesIO(b"1 1:1 2:2 3:3\n2 1:4 3:6\n"))
    preparation = Preparation("standard").fit(train)
    matrix = preparation.apply(train)
    np.testing.assert_allclose(matrix, [[-1, 1, -1], [1, -1, 1]])
    later = read(io.BytesIO(b"1 1:1\n"))
    np.testing.assert_allclose(preparation.apply(later), [[-1, -1, -3]])


def test_later_text_may_lack_the_last_features_but_not_have_more():
    train = read(io.BytesIO(b"1 9:1\n2 20:6\n"))
    preparation = Preparation().fit(train)
    assert preparation.apply(read(io.BytesIO(b"1 1:1\n"))).shape == (1, 20)
    with pytest.raises(ValueError, match="expected 20 features as in the training table, got 21"):
        preparation.apply(read(io.BytesIO(b"1 21:1\n")))


def test_columns_go_by_their_names():
    train = Table(X, None, ("a", "b"))
    preparation = Preparation("standard").fit(train)
    swapped = Table(X[:, ::-1], None, ("b", "a"))
    np.testing.assert_array_equal(preparation.apply(swapped), preparation.apply(train))
    with pytest.raises(
        ValueError,
        match=r"columns of the training table, 'a', 'b'; missing: 'b'; not among them: 'c'",
    ):
        preparation.apply(Table(X, None, ("a", "c")))
    encoded = Preparation().fit(TRAIN)
    reordered = Table(dict(reversed(TRAIN.X.items())), None, TRAIN.feature_names[::-1])
    np.testing.assert_array_equal(encoded.apply(reordered), encoded.apply(TRAIN))


def test_columns_of_another_kind_are_refused():
    preparation = Preparation().fit(TRAIN)
    numbers = Table({**TRAIN.X, "colour": np.ones(3)}, None, TRAIN.feature_names)
    with pytest.raises(ValueError, match="'colour' held categories in the training table, and hol"):
        preparation.apply(numbers)
    text = Table({**TRAIN.X, "size": TRAIN.X["colour"]}, None, TRAIN.feature_names)
    with pytest.raises(ValueError, match="'size' held numbers in the training table, and holds ca"):
        preparation.apply(text)
    with pytest.raises(ValueError, match="expected named columns as in the training table"):
        preparation.apply(Table(np.ones((1, 3)), None))
    with pytest.raises(ValueError, match="'colour' hold other text"):
        Preparation().fit(Table(np.ones((1, 3)), None)).apply(TRAIN)


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="scale must be one of"):
        Preparation("robust")
    with pytest.raises(ValueError, match="fit this Preparation"):
        Preparation().apply(TRAIN)
    with pytest.raises(ValueError, match="expected at least one row"):
        Preparation().fit(Table(np.empty((0, 2)), None))


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
@pytest.mark.parametrize(
    "table", [TRAIN, Table(X / 3, None), Table(scipy.sparse.eye_array(9, format="csr") / 3, None)]
)
def test_saved_and_read_again_it_does_the_same(scale, table):
    preparation = Preparation(scale).fit(table)
    saved = json.loads(json.dumps(preparation.to_dict(), allow_nan=False))
    again = Preparation.from_dict(saved)
    assert again.to_dict() == preparation.to_dict()
    assert again.describe() == preparation.describe()
    assert abs(again.apply(table) - preparation.apply(table)).max() == 0


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"scale": "robust"},
        {"n_columns": 7},
        {"feature_names": ["size"]},
        {"categories": {"unknown": ["a"]}},
        {"shift": [0.0]},
        {"divisor": [0.0, 1.0]},
        {"divisor": [float("nan"), 1.0]},
        {"divisor": [None, 1.0]},
        {"divisor": "1"},
        {"n_columns": "3"},
        {"feature_names": 3},
        {"feature_names": ["size", "colour", 3]},
        {"categories": ["colour"]},
        {"categories": {"colour": "red"}},
    ],
)
def test_an_altered_preparation_is_refused(change):
    saved = Preparation("standard").fit(TRAIN).to_dict()
    Preparation.from_dict(saved)
    with pytest.raises(ValueError, match="must"):
        Preparation.from_dict({**saved, **change})


# ---------------------------------------------------------------------------------- large files

MEMORY = """
import resource, sys
from fwsvm.data import read, read_blocks

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

path, piece = sys.argv[1], int(sys.argv[2])
with open(path, "rb") as file:
    class Begin:
        left = piece
        def read(self, size):
            text = file.read(min(self.left, size))
            self.left -= len(text)
            return text
    rows = sum(table.n_rows for table in read_blocks(Begin(), 50_000))
small = peak()
print(rows)
print(sum(table.n_rows for table in read_blocks(path, 50_000)))
print(peak() - small)
before = peak()
table = read(path)
arrays = table.X.data.nbytes + table.X.indices.nbytes + table.X.indptr.nbytes + table.y.nbytes
print((peak() - before) / arrays)
"""


@pytest.mark.slow
def test_a_gigabyte_is_read_in_bounded_memory(tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.integers(0, 2)} "
        + " ".join(f"{k}:{v:.6f}" for k, v in enumerate(rng.standard_normal(30), 1))
        for _ in range(10_000)
    ]
    piece = ("\n".join(lines) + "\n").encode()
    copies = 10**9 // len(piece) + 1
    path = tmp_path / "large.libsvm"
    with path.open("wb") as file:
        for _ in range(copies):
            file.write(piece)
    code = MEMORY.replace("sys.argv[1]", repr(str(path))).replace(
        "sys.argv[2]", repr(10 * len(piece))
    )
    begin, whole, growth, times_arrays = run_python(code).split()
    assert int(begin) == 100_000
    assert int(whole) == copies * 10_000
    assert int(growth) < 20e6
    assert float(times_arrays) < 2.1
