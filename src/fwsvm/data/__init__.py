"""Reads what people have: LIBSVM text, CSV, Parquet, Arrow, NPZ; and prepares it for the kernels.

`read` gives a `Table`; `read_blocks` gives a large LIBSVM file piece by piece. A `Preparation`
learns one-hot columns and scaling from the training table and does the same to every later one.

``sources`` opens and recognises, ``libsvm``, ``delimited``, ``columnar`` and ``archives`` read one
family of formats each, ``reading`` chooses among them.
"""

from .preparation import Preparation
from .reading import read, read_blocks
from .table import Table

__all__ = ["Preparation", "Table", "read", "read_blocks"]
