"""Greedy coordinate steps on a small core set.

    i <- the row whose step gains most
    b_i <- max(0, b_i - g_i / kt_ii),  g = Kt b - 1

`descend_in_python` is the readable form of what native code does; the tests hold the two together.
"""

from __future__ import annotations

import numpy as np

from .. import _native
from .core_set import CoreSet, IndefiniteKernelError


def descend(core: CoreSet, tolerance: float, most_steps: int) -> bool:
    """Steps until the gap is within the tolerance: true then. The matrix must be stored."""
    assert core.matrix.stored is not None
    coefficients, outputs = core.coefficients.copy(), core.signs * core.margins
    converged = _native.coordinate_descent(
        core.matrix.stored, core.signs, core.ridge, coefficients, outputs, tolerance, most_steps
    )
    margins = core.signs * outputs
    with np.errstate(over="ignore", invalid="ignore"):
        curvature = coefficients @ (margins + core.ridge * coefficients)  # b' Kt b
    if not 0.0 <= curvature < np.inf:
        raise IndefiniteKernelError
    core.set_point(coefficients, margins)
    return converged


def descend_in_python(core: CoreSet, tolerance: float, most_steps: int) -> bool:
    """The same, a step a line."""
    matrix = core.matrix.square(np.arange(len(core))).astype(np.float64)
    q = np.outer(core.signs, core.signs) * (matrix + 1.0)
    curvature = np.diag(q) + core.ridge  # kt_ii
    for _ in range(most_steps):
        if core.gap() <= tolerance:
            return True
        b, slope = core.coefficients, 1.0 - core.margins - core.ridge * core.coefficients  # -g
        steps = np.maximum(slope / curvature, -b)
        i = int((steps * (slope - 0.5 * steps * curvature)).argmax())
        change = np.zeros(len(core))
        change[i] = steps[i]
        core.move(change, steps[i] * q[i])
    return core.gap() <= tolerance
