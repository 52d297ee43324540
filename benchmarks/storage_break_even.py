"""At which density does CSR beat dense storage in a kernel product? Sets BREAK_EVEN_DENSITY.

python benchmarks/storage_break_even.py
"""

from functools import partial

import numpy as np
from runner import measure, report

from fwsvm import Rows
from fwsvm.kernels import RBF

DENSITIES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


def main() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for n in (16, 64, 256, 784, 2000):
        ratios = {}
        for density in DENSITIES:
            X = rng.standard_normal((4000, n), dtype=np.float32)
            X[rng.random(X.shape) >= density] = 0
            c = rng.standard_normal(2000)
            kernel = RBF(1 / n)
            pairs = {s: (Rows(X, storage=s), Rows(X[:2000], storage=s)) for s in ("dense", "csr")}
            seconds = measure({s: partial(kernel.product, A, B, c) for s, (A, B) in pairs.items()})
            ratios[f"{density:.0%}"] = seconds["dense"] / seconds["csr"]
        rows.append({"features": n, **ratios})
    report("storage_break_even", rows, ["dense time / CSR time at each density: CSR wins above 1"])


if __name__ == "__main__":
    main()
