"""Kernel products of the engine against NumPy, scikit-learn and the SGEMM rate of the machine.

    python benchmarks/kernel_engine.py

Dense: 20,000 x 5,000 rbf values of random rows, summed with one coefficient column. Sparse: all
rows of w8a and a9a against 5,000 of them. Rates count 2 n floating-point operations a value, as
SGEMM does (the exponential comes on top). The SGEMM reference is the best of several
OPENBLAS_CORETYPE settings.
"""

import lzma
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from runner import data_folder, measure, report
from sklearn.datasets import load_svmlight_file
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from fwsvm import Rows
from fwsvm.kernels import RBF
from fwsvm.threads import thread_count

N_ROWS, N_COLUMNS = 20_000, 5_000
CORE_TYPES = ("", "SkylakeX", "Cooperlake", "Sapphirerapids", "Haswell", "Zen")
SGEMM = """
import numpy, time
a = numpy.random.default_rng(0).random((4096, 4096), dtype=numpy.float32)
b = a.copy()
def product():
    start = time.perf_counter()
    a @ b
    return time.perf_counter() - start
product()
print(2 * 4096**3 / min(product() for _ in range(7)) / 1e9)
"""


def sgemm_rate() -> tuple[float, str]:
    """GFLOP/s of the fastest matrix product NumPy can be made to do here, and the setting."""
    rates = {}
    for core_type in CORE_TYPES:
        environment = {**os.environ, **({"OPENBLAS_CORETYPE": core_type} if core_type else {})}
        command = [sys.executable, "-c", SGEMM]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if run.returncode == 0:  # an unknown or unsupported setting fails
            rates[core_type or "default"] = float(run.stdout)
    best = max(rates, key=lambda name: rates[name])
    return rates[best], best


def numpy_product(X: np.ndarray, Z: np.ndarray, gamma: float, c: np.ndarray) -> np.ndarray:
    """As fast as NumPy gets: float32, chunks that stay in cache, in place, all threads."""
    rows = 128
    x_norms = -gamma * np.einsum("ij,ij->i", X, X)
    z_norms = -gamma * np.einsum("ij,ij->i", Z, Z)
    weights = c.astype(np.float32)
    out = np.empty(len(X))

    def chunk(i: int) -> None:
        K = X[i : i + rows] @ Z.T
        K *= 2 * gamma
        K += x_norms[i : i + rows, None]
        K += z_norms
        np.exp(K, out=K)
        out[i : i + rows] = K @ weights

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(thread_count(None)) as pool:
        list(pool.map(chunk, range(0, len(X), rows)))
    return out


def dense(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    X = rng.standard_normal((N_ROWS, n), dtype=np.float32)
    Z = rng.standard_normal((N_COLUMNS, n), dtype=np.float32)
    c = rng.standard_normal(N_COLUMNS)
    gamma, A, B = 0.5 / n, Rows(X), Rows(Z)
    kernel = RBF(gamma)
    ours, theirs = kernel.product(A, B, c), numpy_product(X, Z, gamma, c)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)
    seconds = measure(
        {
            "ours": lambda: kernel.product(A, B, c),
            "one thread": lambda: kernel.product(A, B, c, n_jobs=1),
            "NumPy": lambda: numpy_product(X, Z, gamma, c),
        }
    )
    sklearn = measure({"": lambda: rbf_kernel(X[:2000], Z, gamma=gamma) @ c}, repeats=3)[""]
    values = N_ROWS * N_COLUMNS
    rate = 2 * n * values / seconds["ours"] / 1e9
    return {
        "data": f"dense n={n}",
        "ns/value": seconds["ours"] / values * 1e9,
        "GFLOP/s": rate,
        "of SGEMM": "",
        "x NumPy": seconds["NumPy"] / seconds["ours"],
        "x scikit-learn": sklearn * N_ROWS / 2000 / seconds["ours"],
        "x own dense": "",
        "x one thread": seconds["one thread"] / seconds["ours"],
    }


def sparse(name: str, n_features: int) -> dict[str, Any] | None:
    folder = data_folder()
    if folder is None:
        return None
    with lzma.open(folder / f"{name}.xz") as file:
        X, _ = load_svmlight_file(file, n_features=n_features, dtype=np.float32)
    gamma = 0.03
    kernel = RBF(gamma)
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:N_COLUMNS]
    c = np.random.default_rng(1).standard_normal(N_COLUMNS)
    A, D = Rows(X, storage="csr"), Rows(X, storage="dense")
    B, E = A.take(chosen), D.take(chosen)
    np.testing.assert_allclose(kernel.product(A, B, c), kernel.product(D, E, c), atol=1e-3)
    seconds = measure(
        {
            "ours": lambda: kernel.product(A, B, c),
            "one thread": lambda: kernel.product(A, B, c, n_jobs=1),
            "dense": lambda: kernel.product(D, E, c),
        }
    )
    Z, some = X[chosen], X[:2000]
    sklearn = measure({"": lambda: rbf_kernel(some, Z, gamma=gamma) @ c}, repeats=3)[""]
    return {
        "data": f"CSR {name}",
        "ns/value": seconds["ours"] / (len(A) * N_COLUMNS) * 1e9,
        "GFLOP/s": "",
        "of SGEMM": "",
        "x NumPy": "",
        "x scikit-learn": sklearn * len(A) / 2000 / seconds["ours"],
        "x own dense": seconds["dense"] / seconds["ours"],
        "x one thread": seconds["one thread"] / seconds["ours"],
    }


def main() -> None:
    before = sgemm_rate()
    rows = [dense(n) for n in (8, 22, 123, 256, 780)]
    for name, n_features in (("w8a", 300), ("a9a", 123)):
        row = sparse(name, n_features)
        if row is not None:
            rows.append(row)
    peak, setting = max(before, sgemm_rate())
    for row in rows:
        if row["GFLOP/s"]:
            row["of SGEMM"] = f"{row['GFLOP/s'] / peak:.0%}"
    notes = [f"SGEMM peak {peak:.0f} GFLOP/s with OPENBLAS_CORETYPE={setting}"]
    if data_folder() is None:
        notes.append("w8a and a9a left out: no data folder (set FWSVM_DATA)")
    report("kernel_engine", rows, notes)


if __name__ == "__main__":
    main()
