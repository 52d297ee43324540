"""From how many features on is a stored kernel matrix read faster than computed anew?

Sets COSTLY_VALUE of solvers/core_set.py: products of a symmetric matrix with one column, as the
conjugate gradients of the default solver ask for them.

python benchmarks/stored_or_computed.py
"""

from functools import partial

import numpy as np
from runner import measure, report

from fwsvm import Rows
from fwsvm.kernels import RBF, add_rows

N_ROWS = 6000  # a matrix of 144 MB, far from any cache


def main() -> None:
    rng = np.random.default_rng(0)
    c, sums = rng.standard_normal(N_ROWS), np.zeros(N_ROWS)
    rows = []
    for n in (8, 22, 64, 100, 150, 256, 784):
        A, kernel = Rows(rng.standard_normal((N_ROWS, n), dtype=np.float32)), RBF(1 / n)
        stored = kernel.block(A)
        seconds = measure(
            {
                "computed": partial(kernel.product, A, None, c),
                "read": partial(add_rows, sums, stored, c),
                "stored": partial(kernel.block, A, out=stored),
            }
        )
        products = seconds["stored"] / max(1e-9, seconds["computed"] - seconds["read"])
        rows.append(
            {
                "features": n,
                "computed ms": 1e3 * seconds["computed"],
                "read ms": 1e3 * seconds["read"],
                "products that pay for storing": products if products < 1e4 else "never",
            }
        )
    report("stored_or_computed", rows, [f"one product of {N_ROWS} x {N_ROWS} values, float32"])


if __name__ == "__main__":
    main()
