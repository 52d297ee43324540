"""Files of rows for tests of sources."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
from sklearn.datasets import dump_svmlight_file

from fwsvm import stream


def table_of(X, y, **more):
    return pa.table({f"f{k}": column for k, column in enumerate(X.T)} | {"label": y} | more)


def parquet_of(path, X, y, rows=400, **more):
    pq.write_table(table_of(X, y, **more), path, row_group_size=rows)
    return path


def folder_of_parquet(path, X, y):
    (path / "some").mkdir()
    parquet_of(path / "some" / "a.parquet", X[:1100], y[:1100])
    parquet_of(path / "some" / "b.parquet", X[1100:1100], y[1100:1100])
    parquet_of(path / "some" / "c.parquet", X[1100:], y[1100:])
    return path / "some"


def arrays_of(path, X, y):
    for begin, end in ((0, 1000), (1000, 1700), (1700, len(y))):
        np.save(path / f"X{begin:05d}.npy", X[begin:end])
    np.save(path / "y.npy", y)
    return stream.arrays(sorted(path.glob("X*.npy")), path / "y.npy")


def feather_of(path, X, y):
    pyarrow.feather.write_feather(table_of(X, y), path, chunksize=700)
    return path


def text_of(path, X, y):
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


def packed_text_of(path, X, y):
    path.write_bytes(gzip.compress(text_of(path.with_suffix(""), X, y).read_bytes()))
    return path
