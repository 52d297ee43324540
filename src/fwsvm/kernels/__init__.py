"""Kernels: a kernel is a way to compute blocks of values k(a_i, b_j) and products with them.

Every kernel offers ``block``, ``product`` and ``diagonal`` on `Rows` (base.py). `TileKernel` has
them computed by the native engine (native.py); `ArrayKernel` by NumPy from one method
``values(A, B)`` (arrays.py). How to add one: docs/add_kernel.md.
"""

from .arrays import ArrayKernel, CallableKernel, Precomputed
from .base import Kernel
from .native import RBF, Laplacian, Linear, Polynomial, Sigmoid, TileKernel
from .updates import add_rows

__all__ = [
    "RBF",
    "ArrayKernel",
    "CallableKernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
    "TileKernel",
    "add_rows",
]
