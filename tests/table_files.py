"""The same small table in every format."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import scipy.sparse

CSV = b"length,width,kind\n1.5,2,red\n-3e2,4,blue\n5,6.25,red\n"
X = np.array([[1.5, 2], [-300, 4], [5, 6.25]], dtype=np.float32)
KINDS = ["red", "blue", "red"]


class Pipe:
    """A stream that gives a few bytes at a time and cannot be rewound."""

    def __init__(self, content):
        self.read_few = io.BytesIO(content).read

    def read(self, size):
        return self.read_few(min(size, 100))


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
