"""Reading LIBSVM text against scikit-learn, from memory and from a packed file.

    python benchmarks/libsvm_reader.py

Both give CSR rows of float32. The packed file is read as a user would: most of that time is xz.
"""

import io
import lzma
from typing import Any

import numpy as np
from runner import data_folder, measure, report
from sklearn.datasets import load_svmlight_file

from fwsvm.data import read, read_blocks

SETS = ("w8a", "a9a", "ijcnn1", "usps", "reuters")


def row(name: str) -> dict[str, Any]:
    path = data_folder() / f"{name}.xz"
    text = lzma.decompress(path.read_bytes())
    table = read(io.BytesIO(text))
    theirs, labels = load_svmlight_file(io.BytesIO(text), dtype=np.float32)
    assert (theirs != table.X).nnz == 0
    assert (table.y == labels).all()
    seconds = measure(
        {
            "ours": lambda: read(io.BytesIO(text)),
            "blocks": lambda: sum(t.n_rows for t in read_blocks(io.BytesIO(text), 1000)),
            "scikit-learn": lambda: load_svmlight_file(io.BytesIO(text), dtype=np.float32),
            "packed": lambda: read(path),
        }
    )
    return {
        "data": name,
        "MB": len(text) / 1e6,
        "values": table.X.nnz,
        "ms": seconds["ours"] * 1e3,
        "MB/s": len(text) / 1e6 / seconds["ours"],
        "ns/value": seconds["ours"] / table.X.nnz * 1e9,
        "x scikit-learn": seconds["scikit-learn"] / seconds["ours"],
        "ms in blocks": seconds["blocks"] * 1e3,
        "ms from xz": seconds["packed"] * 1e3,
    }


def main() -> None:
    if data_folder() is None:
        raise SystemExit("no data folder: set FWSVM_DATA to it")
    report("libsvm_reader", [row(name) for name in SETS])


if __name__ == "__main__":
    main()
