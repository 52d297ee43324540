"""Kernel support vector machines at large scale.

``rows`` hold the data, ``kernels`` compute with them; everything else stands on these two.
"""

from . import data, datasets, kernels, stream
from ._config import show_config
from ._version import __version__
from .estimators import SVC
from .model_files import TableModel, load_model, save_model, to_onnx, to_sklearn
from .rows import Rows

__all__ = [
    "SVC",
    "Rows",
    "TableModel",
    "__version__",
    "data",
    "datasets",
    "kernels",
    "load_model",
    "save_model",
    "show_config",
    "stream",
    "to_onnx",
    "to_sklearn",
]
