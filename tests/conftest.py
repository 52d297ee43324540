import lzma
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from fwsvm.solvers import core_set, corrective, newton

# A shell ignores Ctrl-C for what it runs in the background, and so would every process of a test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

FEATURES = {"w": 300, "a": 123, "usps": 256, "reuters": 8315, "pendigits": 16}


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real data sets; skips where it is absent."""
    given = os.environ.get("FWSVM_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real data sets are not here: set FWSVM_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def real_data(data_folder):
    """Loads a real data set by name as (CSR float32, labels)."""

    def load(name, dtype=np.float32):
        family = name.removesuffix(".t")
        family = family if family in FEATURES else family[0]  # a1a ... a9a, w1a ... w8a
        with lzma.open(data_folder / f"{name}.xz") as file:
            return load_svmlight_file(file, n_features=FEATURES[family], dtype=dtype)

    return load


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """The test runs in an empty folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def in_small(monkeypatch):
    """Levels, Newton's method and factors of low rank as on large data, on a few hundred rows."""
    monkeypatch.setattr(corrective, "FIRST_LEVEL", 40)
    monkeypatch.setattr(corrective, "SMALL", 30)
    monkeypatch.setattr(corrective, "CHEAP_MATRIX", 0)
    monkeypatch.setattr(core_set, "SMALL", 30)
    monkeypatch.setattr(newton, "SMALL_FACE", 25)


@pytest.fixture
def small_blocks(monkeypatch):
    """Of sources; hardly any rows are kept in memory."""
    monkeypatch.setattr("fwsvm.stream.source.BYTES_OF_BLOCK", 12_000)
    monkeypatch.setattr("fwsvm.stream.survey.PART_KEPT", 1e-6)
