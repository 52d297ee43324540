"""Solvers of the dual problem.

`loop.solve` runs an algorithm: a record with one method ``step(state, i, gradient_i)`` that moves
the `state` given the furthest row. The algorithms are one file each; `start` says where they
begin, and `selection` which rows they look at.

The default solver is `corrective.solve`: many vertices at a time, with a file for each of its
pieces.
"""

from . import corrective
from .core_vector import CoreVectorMachine
from .frank_wolfe import FrankWolfe
from .loop import Report, Result, Start, Status, Stopping, TraceRow, solve
from .modified_frank_wolfe import ModifiedFrankWolfe
from .pairwise import BlendedPairwise, Swap
from .start import pair_start, random_start

__all__ = [
    "BlendedPairwise",
    "CoreVectorMachine",
    "FrankWolfe",
    "ModifiedFrankWolfe",
    "Report",
    "Result",
    "Start",
    "Status",
    "Stopping",
    "Swap",
    "TraceRow",
    "corrective",
    "pair_start",
    "random_start",
    "solve",
]
