"""Runs the command line as its users do, and makes files for it."""

import bz2
import gzip
import io
import lzma
import os
import re
import select
import subprocess
import sys
import time

import numpy as np
import pyarrow.feather
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from fwsvm.cli import main

PROGRAM = [sys.executable, "-m", "fwsvm"]


def fwsvm(*arguments, code=0, stdin=b"", **environment):
    """Standard output and standard error of a run that ends with this exit code."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        input=stdin,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done.stdout.decode(), done.stderr.decode()


def here(*arguments, code=0):
    """The same in this process, where a case needs no process of its own."""
    done = CliRunner().invoke(main, list(map(str, arguments)))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return done.stdout, done.stderr


def rows_of_three_classes(n=150, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = (rng.standard_normal((n, 4)) + 2 * np.eye(3, 4)[y]).astype(np.float32)
    return X, y


def as_libsvm(X, y):
    lines = (
        " ".join([str(label), *(f"{k + 1}:{v!r}" for k, v in enumerate(row) if v)])
        for label, row in zip(y, X.tolist(), strict=True)
    )
    return ("\n".join(lines) + "\n").encode()


def as_csv(X, y, separator=","):
    lines = [separator.join(["a", "b", "c", "d", "kind"])]
    lines += [
        separator.join([*map(repr, row), f"k{k}"]) for row, k in zip(X.tolist(), y, strict=True)
    ]
    return ("\n".join(lines) + "\n").encode()


def as_table(X, y):
    columns = {name: X[:, k] for k, name in enumerate("abcd")}
    return pyarrow.table({**columns, "kind": [f"k{k}" for k in y]})


def written(write):
    sink = io.BytesIO()
    write(sink)
    return sink.getvalue()


X, Y = rows_of_three_classes()
FILES = {
    "rows.libsvm": as_libsvm(X, Y),
    "rows.gz": gzip.compress(as_libsvm(X, Y)),
    "rows.bz2": bz2.compress(as_libsvm(X, Y)),
    "rows.xz": lzma.compress(as_libsvm(X, Y)),
    "rows.csv": as_csv(X, Y),
    "rows.tsv.gz": gzip.compress(as_csv(X, Y, "\t")),
    "rows.parquet": written(lambda sink: pyarrow.parquet.write_table(as_table(X, Y), sink)),
    "rows.feather": written(lambda sink: pyarrow.feather.write_feather(as_table(X, Y), sink)),
    "rows.npz": written(lambda sink: np.savez(sink, X=X, y=Y)),
}


def hard_rows():
    """Rows on which plain Frank-Wolfe steps take forever to a small gap."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 5)).astype(np.float32)
    return as_libsvm(X, rng.integers(0, 2, 3000))


class Terminal:
    """A run whose standard error is a terminal."""

    def __init__(self, *arguments):
        self.mine, theirs = os.openpty()
        self.process = subprocess.Popen(
            [*PROGRAM, *arguments],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "150"},
        )
        os.close(theirs)
        self.text = ""

    def read_until(self, pattern, seconds=60):
        ends = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            assert time.monotonic() < ends, self.text[-2000:]
            if select.select([self.mine], [], [], 0.1)[0]:
                self.text += os.read(self.mine, 4096).decode(errors="replace")

    def end(self):
        """Exit code and standard output."""
        while True:
            try:
                piece = os.read(self.mine, 4096)
            except OSError:  # Linux ends so
                break
            if not piece:
                break
            self.text += piece.decode(errors="replace")
        out, _ = self.process.communicate(timeout=60)
        os.close(self.mine)
        return self.process.returncode, out.decode()


needs_terminal = pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals here")
