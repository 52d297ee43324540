"""Large files are read in bounded memory."""

import numpy as np
import pytest
from processes import run_python

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
