"""Training on a Dask cluster, and prediction chunk by chunk: ``pip install fwsvm[dask]``.

`estimator` is what users see, `blocks` takes Dask collections apart, `cluster` asks the workers.
The solver is the default one; docs/distributed.md says how a round works.
"""

try:
    import dask
    import distributed
except ImportError:
    raise ImportError(
        "fwsvm.dask needs dask and distributed: pip install fwsvm[dask]", name="dask"
    ) from None

from .cluster import LostRowsError, NoAnswerError
from .estimator import DaskSVC

__all__ = ["DaskSVC", "LostRowsError", "NoAnswerError"]

del dask, distributed
