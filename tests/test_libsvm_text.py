"""LIBSVM text: what is read, what is refused, and that nothing is lost, against naive Python."""

import io
import re
from itertools import pairwise

import numpy as np
import pytest
import reference
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fwsvm import _native
from fwsvm.data import read, read_blocks


class Trickle:
    """A stream that gives its bytes a few at a time, and cannot be rewound."""

    def __init__(self, text, most=7):
        self.text, self.most = text, most

    def read(self, size):
        piece = self.text[: min(self.most, size)]
        self.text = self.text[len(piece) :]
        return piece


def read_text(text, **options):
    return read(io.BytesIO(text), format="libsvm", **options)


def rows_of(table):
    X = table.X
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [list(zip(X.indices[a:b], X.data[a:b], strict=True)) for a, b in ends]


@pytest.mark.parametrize(
    ("text", "labels", "rows"),
    [
        (b"1 1:2 3:4\n-1 2:5\n", [1, -1], [[(0, 2), (2, 4)], [(1, 5)]]),
        (b"+1 1:+2 2:-3.5e-1\n", [1], [[(0, 2), (1, -0.35)]]),
        (b"1 1:2\r\n2 1:3\r\n", [1, 2], [[(0, 2)], [(0, 3)]]),
        (b"1 1:2\n2 1:3", [1, 2], [[(0, 2)], [(0, 3)]]),
        (b"1\n-1 \n1\t1:1\t\n", [1, -1, 1], [[], [], [(0, 1)]]),
        (b"# all of it\n\n  \n3 1:1 # 2:2\n4 1:1# x\n#", [3, 4], [[(0, 1)], [(0, 1)]]),
        (b"1 1:0 2:-0\n", [1], [[(0, 0), (1, 0)]]),
        (b"1 1:1e-400 2:.5 3:5.\n", [1], [[(0, 0), (1, 0.5), (2, 5)]]),
        (b"2.000000 1:1\n4e0 1:1\n", [2, 4], [[(0, 1)], [(0, 1)]]),
        (b"1.5 1:1\n2 1:1\n", [1.5, 2], [[(0, 1)], [(0, 1)]]),
        (b"9007199254740991 1:1\n", [2**53 - 1], [[(0, 1)]]),
        (b"", [], []),
    ],
)
def test_what_is_read(text, labels, rows):
    table = read_text(text, dtype=np.float64)
    assert table.y.tolist() == labels
    is_integer = all(float(label).is_integer() for label in labels)
    assert table.y.dtype == (np.int64 if is_integer else np.float64)
    assert rows_of(table) == rows


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"one 1:1", 'a finite number as the label, got "one"'),
        (b"nan 1:1", 'a finite number as the label, got "nan"'),
        (b"1e999 1:1", 'a finite number as the label, got "1e999"'),
        (b"1,2 1:1", 'a finite number as the label, got "1,2"'),
        (b"1:1 2:2", 'a finite number as the label, got "1:1"'),
        (b"9007199254740992 1:1", "an integer label below 2^53, which is held exactly"),
        (b"1 0:5", "indices from 1 (zero_based=True reads a file that counts from 0)"),
        (b"1 2:1 1:1", 'indices in increasing order, got "1:1"'),
        (b"1 2:1 2:1", 'each index once in a line, got "2:1"'),
        (
            b"1 qid:3 1:1",
            'features only (qid belongs to ranking, which fwsvm does not do), got "qi',
        ),
        (b"1 a:1", 'index:value with a whole number before the colon, got "a:1"'),
        (b"1 -1:1", 'index:value with a whole number before the colon, got "-1:1"'),
        (b"1 1", 'index:value with a whole number before the colon, got "1"'),
        (b"1 1 :1", 'index:value with a whole number before the colon, got "1"'),
        (b"1 :1", 'index:value with a whole number before the colon, got ":1"'),
        (b"1 2147483647:1", "an index up to 2147483646"),
        (b"1 99999999999999999999:1", "an index up to 2147483646"),
        (b"1 1:", 'index:value with a finite decimal number, got "1:"'),
        (b"1 1: 2", 'index:value with a finite decimal number, got "1:"'),
        (b"1 1:2:3", 'index:value with a finite decimal number, got "1:2:3"'),
        (b"1 1:nan", 'index:value with a finite decimal number, got "1:nan"'),
        (b"1 1:-inf", 'index:value with a finite decimal number, got "1:-inf"'),
        (b"1 1:0x1", 'index:value with a finite decimal number, got "1:0x1"'),
        (b"1 1:1,5", 'index:value with a finite decimal number, got "1:1,5"'),
        (b"1 1:1e", 'index:value with a finite decimal number, got "1:1e"'),
        (b"1 1:1e39", "a value within float32 (dtype=numpy.float64 reads larger ones)"),
        (b"1 1:1\x002:2", r'index:value with a finite decimal number, got "1:1\x002:2"'),
        (b"1 1:\xff", r'index:value with a finite decimal number, got "1:\xff"'),
        (b"1 1:" + b"7" * 99 + b"x", '"1:' + "7" * 58 + '..."'),
    ],
)
def test_what_is_refused(line, message):
    text = b"# first\n1 1:1 2:2\n" + line + b"\n1 1:1\n"
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read_text(text)
    assert str(error.value).startswith("stream, line 3: expected ")


def test_large_values_fit_float64_and_no_more():
    assert read_text(b"1 1:1e39", dtype=np.float64).X.data == [1e39]
    with pytest.raises(ValueError, match="a value within float64, got"):
        read_text(b"1 1:1e309", dtype=np.float64)


def test_an_error_names_the_file(tmp_path):
    path = tmp_path / "rows.libsvm"
    path.write_bytes(b"1 1:1\n1 1;1\n")
    with pytest.raises(ValueError, match=re.escape(f"{path}, line 2: expected index:value")):
        read(path)


def test_indices_may_begin_at_zero():
    assert rows_of(read_text(b"1 0:5 2:6", zero_based=True)) == [[(0, 5), (2, 6)]]


def test_number_of_features():
    assert read_text(b"1 3:1\n").X.shape == (1, 3)
    assert read_text(b"1 3:1\n", n_features=5).X.shape == (1, 5)
    with pytest.raises(ValueError, match=r"line 2: expected at most n_features=2 features, got"):
        read_text(b"1 2:1\n1 3:1\n", n_features=2)


DECIMALS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(
        r"[+-]?([0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?", fullmatch=True
    ),
)


@given(st.lists(DECIMALS, min_size=1, max_size=20))
@example(["1e22", "1e23", "9007199254740993", "4.9e-324", "2.4e-324", "1.7976931348623157e308"])
@example(["1" + "0" * 400 + "e-400", "0." + "0" * 400 + "1e401", "1e-99999999999999999999"])
def test_numbers_are_rounded_to_the_nearest_as_python_does(numbers):
    numbers = [number for number in numbers if np.isfinite(float(number))]
    text = "1" + "".join(f" {i}:{number}" for i, number in enumerate(numbers, 1))
    found = read_text(text.encode(), dtype=np.float64).X.data
    assert found.tolist() == [float(number) for number in numbers]


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(0, 30), st.integers(1, 40)),
    density=st.floats(0, 1),
    dtype=st.sampled_from([np.float32, np.float64]),
    most=st.integers(1, 50),
)
@settings(max_examples=50)
def test_random_rows_come_back(seed, shape, density, dtype, most):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array(shape, density=density, format="csr", dtype=dtype, rng=rng)
    X.data[:] = rng.standard_normal(X.nnz) * 10.0 ** rng.integers(-20, 20, X.nnz)
    y = rng.integers(-5, 5, shape[0])
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    lines = [
        f"{label} "
        + " ".join(f"{i + 1}:{v}" for i, v in zip(X.indices[a:b], X.data[a:b], strict=True))
        for label, (a, b) in zip(y, ends, strict=True)
    ]
    stream = Trickle("\n".join(lines).encode(), most)
    table = read(stream, format="libsvm", dtype=dtype, n_features=shape[1])
    assert table.X.shape == X.shape
    assert table.X.dtype == dtype
    np.testing.assert_array_equal(table.X.indptr, X.indptr)
    np.testing.assert_array_equal(table.X.indices, X.indices)
    np.testing.assert_array_equal(table.X.data, X.data)
    np.testing.assert_array_equal(table.y, y)


GOOD_TOKENS = ["1", "-1", "+1", "0", "2.5", "1:1", "2:2", "3:-1e3", "4:.5", "2147483646:1", "#"]
BAD_TOKENS = ["0:1", "1:1e39", "qid:1", "5:nan", "x", "1:1:1", "7:", ":7"]
TOKENS = st.sampled_from(GOOD_TOKENS * 2 + BAD_TOKENS)
LINES = st.lists(TOKENS, max_size=6).map(" ".join)
NEARLY = st.lists(LINES, max_size=6).map(lambda lines: "\n".join(lines).encode())
ODD = st.text("0123456789:+-.eE# \t\r\nqidx,", max_size=60).map(str.encode)


@given(
    text=st.one_of(NEARLY, ODD, st.binary(max_size=60)),
    dtype=st.sampled_from([np.float32, np.float64]),
    zero_based=st.booleans(),
    cuts=st.lists(st.integers(0, 60), max_size=4),
)
@settings(max_examples=400)
@example(b"1 1:1\r\r\n", np.float32, False, [])
@example(b"1 1:1 \r", np.float32, False, [5])
@example(b"\xef\xbb\xbf1 1:1", np.float32, False, [])
def test_any_bytes_are_read_as_naive_python_reads_them_or_refused(text, dtype, zero_based, cuts):
    parser = {np.float32: _native.LibsvmParserFloat, np.float64: _native.LibsvmParserDouble}[dtype]
    parser = parser(zero_based, 2**62)
    ends = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]

    def parse():
        for begin, end in pairwise(ends):
            assert parser.feed(text[begin:end], 0, 2**62) == end - begin
        parser.finish()

    try:
        labels, rows = reference.libsvm_text(text, dtype, zero_based)
    except ValueError as error:
        with pytest.raises(ValueError, match=f"^line {error}: expected "):
            parse()
        return
    parse()
    values, indices, starts, found = parser.take()
    assert found.tolist() == labels
    assert starts.tolist() == np.cumsum([0, *map(len, rows)]).tolist()
    assert indices.tolist() == [i for row in rows for i, _ in row]
    assert values.tolist() == [value for row in rows for _, value in row]


@pytest.mark.parametrize("rows_per_block", [1, 2, 3, 100])
def test_blocks_are_the_table_in_pieces(rows_per_block):
    text = b"".join(b"%d %d:1 %d:2\n" % (i % 3, i % 5 + 1, i % 5 + 2) for i in range(50))
    whole = read_text(text, n_features=6)
    stream = Trickle(text, most=1000)
    blocks = list(read_blocks(stream, rows_per_block, n_features=6))
    sizes = [block.n_rows for block in blocks]
    assert sizes[:-1] == [rows_per_block] * (len(blocks) - 1)
    assert 0 < sizes[-1] <= rows_per_block
    np.testing.assert_array_equal(
        scipy.sparse.vstack([block.X for block in blocks]).toarray(), whole.X.toarray()
    )
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), whole.y)


def test_blocks_refuse_what_cannot_be_read_so():
    with pytest.raises(ValueError, match=r"rows_per_block must be at least 1\. Got 0"):
        read_blocks(io.BytesIO(b"1 1:1"), 0)
    with pytest.raises(ValueError, match="only LIBSVM text is read in blocks, and this is csv"):
        next(read_blocks(io.BytesIO(b"a,b\n1,2\n"), 5))
    blocks = read_blocks(io.BytesIO(b"1 1:1\n1 1:1\n1 1:x\n"), 1)
    assert next(blocks).n_rows == 1
    with pytest.raises(ValueError, match="line 3: expected index:value"):
        list(blocks)


def test_real_data_as_scikit_learn_reads_it(real_data, data_folder):
    X, y = real_data("w8a")
    table = read(data_folder / "w8a.xz")
    assert (table.X != X).nnz == 0
    np.testing.assert_array_equal(table.y, y)
