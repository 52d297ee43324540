"""The step along a direction of w at which P is smallest."""

from __future__ import annotations

import numpy as np

from ..dual import Floats


def best_step(
    linear: float, quadratic: float, margins: Floats, change: Floats, ridge: Floats
) -> float:
    """argmin over t >= 0 of t linear + t^2/2 quadratic + 1/2 sum C_i max(0, 1 - o_i - t do_i)^2.

    The function is convex and piecewise quadratic: Newton's method within a bracket.
    """
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(100):
        slack = 1.0 - margins - t * change
        weighted = np.where(slack > 0, change / ridge, 0.0)
        slope = linear + t * quadratic - float(weighted @ slack)
        curvature = quadratic + float(weighted @ change)
        low, high = (low, t) if slope > 0 else (t, high)
        newton = t - slope / curvature if curvature > 0 else np.inf
        following = newton if low < newton < high else 0.5 * (low + min(high, 2.0 * t))
        if abs(following - t) <= 1e-9 * t:
            return following
        t = following
    return t
