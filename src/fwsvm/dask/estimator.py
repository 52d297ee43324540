"""DaskSVC: SVC's interface for rows on the workers of a Dask cluster."""

from __future__ import annotations

import time
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import dask
import numpy as np
from distributed import Client, get_client
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from .. import parameters, progress
from ..estimators import SVC
from ..layout import Layout
from ..multiclass import BinaryTask
from ..shards import Problems, checkpoint_of, tasks_of, union
from ..training import Training
from .blocks import by_block, is_lazy
from .cluster import Cluster
from .placement import Placed, place


class DaskSVC(progress.CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """`fwsvm.SVC` trained on a Dask cluster, where the rows are.

    The same solver, the same certified gap, and the model that `SVC` finds on the same rows: the
    rows stay on the workers, and what matters to the solution is gathered at the client in some
    tens of rounds.

    Parameters
    ----------
    client : distributed.Client, optional
        The cluster; by default that of the latest client of this process.
    C, kernel, degree, gamma, coef0, tol, max_iter, max_time, cache_size, class_weight, \
            multiclass, decision_function_shape, break_ties, random_state, verbose
        As in `fwsvm.SVC`. The kernel cannot be precomputed; a callable must be known to the
        workers. ``cache_size`` is of the client.
    n_jobs : int, optional
        Threads of the client; workers use the threads that they have.
    timeout : float, default=600
        Seconds within which the cluster has to answer a question, else the fit ends with a
        `NoAnswerError`. The longest question is a look at all rows of a worker.
    checkpoint : path, optional
        A file that keeps how far the fit has come; it stays when the fit is done.
    checkpoint_every : int, default=5
        Rounds between two writes of it.
    resume : bool, default=False
        Go on from the checkpoint, if there is one, of the same data and parameters.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_, gap_, \
            converged_, status_, n_iter_, trace_, fit_time_, shape_fit_, n_features_in_, \
            feature_names_in_
        As in `fwsvm.SVC`; the support vectors are at the client.
    traffic_ : list of `fwsvm.shards.Traffic`
        Rounds, bytes and seconds that each binary problem took; of a problem that a checkpoint
        had finished there is none.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from fwsvm.dask import DaskSVC
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.random.default_rng(0).standard_normal((3000, 4), chunks=(1000, 4)).persist()
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> model = DaskSVC(C=10.0, random_state=0).fit(X, y)
    >>> float((model.predict(X) == y).mean()) > 0.95
    True
    >>> model.to_local()
    SVC(C=10.0, random_state=0)
    >>> client.close()
    """

    # What SVC has as parameters and this class does not.
    solver: ClassVar[str] = "auto"
    epsilon: ClassVar[None] = None
    start: ClassVar[str] = "random"
    selection: ClassVar[str] = "full"

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "client": [Client, None],
        **{
            name: SVC._parameter_constraints[name]
            for name in (
                *("C", "kernel", "degree", "gamma", "coef0", "tol", "max_iter", "max_time"),
                *("cache_size", "class_weight", "multiclass", "decision_function_shape"),
                *("break_ties", "n_jobs", "random_state", "verbose"),
            )
        },
        "timeout": [Interval(Real, 0.0, None, closed="neither")],
        "checkpoint": [str, Path, None],
        "checkpoint_every": [Interval(Integral, 1, None, closed="left")],
        "resume": ["boolean"],
    }

    def __init__(
        self,
        *,
        client: Client | None = None,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        max_time: float | None = None,
        cache_size: float = 200,
        class_weight: dict[Any, float] | str | None = None,
        multiclass: str = "ovo",
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        timeout: float = 600.0,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 5,
        resume: bool = False,
    ) -> None:
        self.client = client
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.timeout = timeout
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.resume = resume

    # -------------------------------------------------------------------------------------- fit

    @progress.with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of X with labels y, where they are.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, or list of delayed blocks (arrays, CSR or data frames)
            Training rows. Those that were persisted stay on the workers that have them.
        y : Dask array, Dask Series, or list of delayed blocks
            Labels of any kind, in the chunks of X.
        sample_weight : like y, optional
            Factors of C row by row; a row of weight 0 is as if it were not there.

        Returns
        -------
        self : DaskSVC
        """
        began, clock = time.perf_counter(), progress.Clock(self.max_time)
        self._validate_params()
        parameters.check_combination(self)
        if parameters.is_precomputed(self.kernel):
            raise ValueError(
                "DaskSVC computes its kernel where the rows are. Got a precomputed one: use "
                "fwsvm.SVC, or a kernel of the rows."
            )
        local = SVC(**{name: getattr(self, name) for name in _SHARED})
        with Cluster(self._client(), self.timeout) as cluster:
            placed = place(cluster, local, X, y, sample_weight)
            tasks = tasks_of(self.multiclass, placed.counts)
            self.classes_ = local.classes_
            watch = progress.Progress(self, tasks, X, y, sample_weight)
            problems = self._problems(cluster, placed, tasks)
            results = Training(tasks, problems.solve, self.n_jobs, clock, watch).run()
            data, of_data, results = union(cluster, tasks, results)
        local._set_model(
            data, Layout.of_results(data.labels, of_data, results, len(local.classes_))
        )
        local._set_outcome(results)
        local.fit_time_ = time.perf_counter() - began
        self._local = local
        self.traffic_ = [problems.traffic.get(k) for k in range(len(tasks))]
        for name, value in vars(local).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        watch.end()
        local._warn(results)
        return self

    def _client(self) -> Client:
        if self.client is not None:
            return self.client
        try:
            return get_client()
        except ValueError:
            raise ValueError(
                "DaskSVC needs a cluster: make a dask.distributed.Client first, or pass client=."
            ) from None

    def _problems(self, cluster: Cluster, placed: Placed, tasks: list[BinaryTask]) -> Problems:
        random = check_random_state(self.random_state)
        seeds = random.randint(np.iinfo(np.int32).max, size=len(tasks))
        checkpoint = checkpoint_of(
            self,
            placed.kernel,
            self.checkpoint,
            every=int(self.checkpoint_every),
            resume=self.resume,
            rows=placed.sizes,
        )
        return Problems(self, cluster, placed.kernel, tasks, [int(s) for s in seeds], checkpoint)

    # --------------------------------------------------------------------------------- the model

    def to_local(self) -> SVC:
        """An ordinary `SVC` with this model, which needs no cluster."""
        check_is_fitted(self)
        local = SVC(**self._local.get_params(deep=False))
        local.__dict__.update(self._local.__dict__)
        return local

    @property
    def coef_(self) -> NDArray[Any]:
        """Weights of the features, one row for each binary problem (linear kernel only)."""
        check_is_fitted(self)
        return self._local.coef_

    def predict(self, X: Any) -> Any:
        """The class of each row: lazy and chunk by chunk where X is.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, list of delayed blocks, or what `SVC` takes
            Rows.

        Returns
        -------
        labels : Dask array of shape (n_samples,), or ndarray where X is in memory
        """
        check_is_fitted(self)
        return self._by_block(X, "predict", None, self.classes_.dtype)

    def decision_function(self, X: Any) -> Any:
        """Scores of rows, as those of `SVC`: lazy and chunk by chunk where X is.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, list of delayed blocks, or what `SVC` takes
            Rows.

        Returns
        -------
        scores : Dask array or ndarray of shape (n_samples,) or (n_samples, n_classes or n_problems)
        """
        check_is_fitted(self)
        n_classes, columns = len(self.classes_), None
        if n_classes > 2:
            by_pair = self.decision_function_shape == "ovo" and self.multiclass != "ovr"
            columns = len(self.intercept_) if by_pair else n_classes
        return self._by_block(X, "decision_function", columns, np.dtype(np.float64))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Part of the rows whose class is predicted right; lazy arguments are computed by block.

        Parameters
        ----------
        X : what ``predict`` takes
            Rows.
        y, sample_weight : what ``fit`` takes, or arrays
            Their classes, and how much each counts.

        Returns
        -------
        score : float
        """
        together = [dask.compute(part)[0] for part in (self.predict(X), y, sample_weight)]
        found, classes, weights = (
            np.concatenate(part) if isinstance(part, list) else part for part in together
        )
        return float(accuracy_score(classes, found, sample_weight=weights))

    def _by_block(self, X: Any, method: str, columns: int | None, dtype: Any) -> Any:
        local = self.to_local()
        if not is_lazy(X):
            return getattr(local, method)(X)
        local.n_jobs = 1  # Dask runs as many blocks at a time as there are threads
        shape = (0,) if columns is None else (0, columns)

        def decide(block: Any) -> Any:
            return getattr(local, method)(block) if len_of(block) else np.empty(shape, dtype)

        return by_block(X, decide, columns, dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # another process has another one

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


_SHARED = sorted(set(DaskSVC._parameter_constraints) & set(SVC._parameter_constraints))


def len_of(block: Any) -> int:
    """Rows of an array, CSR or data frame."""
    return int(block.shape[0])
