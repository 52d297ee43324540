import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

FEATURES = {"w8a": 300, "a9a": 123, "usps": 256, "reuters": 8315}


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
        with lzma.open(data_folder / f"{name}.xz") as file:
            return load_svmlight_file(file, n_features=FEATURES[name], dtype=dtype)

    return load
