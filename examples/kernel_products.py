"""Sums of kernel values: the engine against NumPy, on data made here.

Every kernel SVM spends its time in products K(A, B) @ c. NumPy stores K, a chunk at a time; the
engine never does.
"""

import time

import numpy as np

import fwsvm
from fwsvm import Rows
from fwsvm.kernels import RBF


def numpy_product(X: np.ndarray, Z: np.ndarray, gamma: float, c: np.ndarray) -> np.ndarray:
    """sum_j exp(-gamma |x_i - z_j|^2) c_j in float32, 1,000 rows at a time."""
    out = []
    for part in np.array_split(X, max(1, len(X) // 1000)):
        K = (2 * gamma) * (part @ Z.T)
        K -= gamma * (part**2).sum(axis=1)[:, None]
        K -= gamma * (Z**2).sum(axis=1)
        np.exp(K, out=K)
        out.append(K @ c)
    return np.concatenate(out)


def best_of(repeats: int, function, *arguments):
    """Result and shortest seconds of a few runs."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function(*arguments)
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


def main() -> None:
    fwsvm.show_config()
    print("\nK(A, B) @ c with the rbf kernel, 20,000 x 5,000 values in float32\n")
    print(f"{'features':>8}  {'NumPy':>8}  {'fwsvm':>8}  {'faster':>7}  {'largest difference':>18}")
    rng = np.random.default_rng(0)
    for n_features in (8, 22, 123, 780):
        X = rng.standard_normal((20_000, n_features), dtype=np.float32)
        Z, c = X[:5_000], rng.standard_normal(5_000, dtype=np.float32)
        gamma = 0.5 / n_features
        A, B, kernel = Rows(X), Rows(Z), RBF(gamma)
        theirs, slow = best_of(3, numpy_product, X, Z, gamma, c)
        ours, fast = best_of(3, kernel.product, A, B, c)
        difference = np.abs(ours - theirs).max()
        print(
            f"{n_features:8}  {slow:6.3f} s  {fast:6.3f} s  {slow / fast:6.1f}x  {difference:18.1e}"
        )


if __name__ == "__main__":
    main()
