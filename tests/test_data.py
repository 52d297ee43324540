"""Readers of tables: every format, sources, CSV and TSV."""

import bz2
import gzip
import io
import lzma
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from table_files import (
    CSV,
    FILES,
    KINDS,
    Pipe,
    X,
    arrow_table,
    as_arrow,
    as_npz,
    as_parquet,
)

from fwsvm.data import read


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


@pytest.fixture(params=["pyarrow", "no extras"])
def with_and_without_pyarrow(request, monkeypatch):
    if request.param == "no extras":
        monkeypatch.setitem(sys.modules, "pyarrow", None)


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
