"""Kernel support vector machines at large scale.

``rows`` hold the data, ``kernels`` compute with them; everything else stands on these two.
"""

from . import data, datasets, kernels
from ._config import show_config
from ._version import __version__
from .estimators import SVC
from .rows import Rows

__all__ = ["SVC", "Rows", "__version__", "data", "datasets", "kernels", "show_config"]
