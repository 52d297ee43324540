"""Estimators with the scikit-learn interface: validate, make problems, solve, set attributes.

`training_set` and `parameters` validate, `training` runs the binary problems, `layout` puts their
solutions in scikit-learn's order.
"""

from __future__ import annotations

import time
import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from . import in_memory, kernels, multiclass, parameters, progress
from .dual import Floats
from .layout import Layout
from .parameters import gamma_of
from .rows import Rows
from .solvers import Result
from .stream import Source
from .stream import training as stream
from .training_set import CHECKS, TrainingSet

__all__ = ["SVC", "gamma_of"]


class SVC(progress.CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Kernel support vector classification with the squared hinge loss (L2-SVM).

    Minimises ``1/2 (|w|^2 + b^2) + C/2 sum_i max(0, 1 - y_i h(x_i))^2`` for each binary problem
    and says how far from the optimum it stopped: ``gap_`` is a certified relative duality gap.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the squared slacks; larger values fit the training rows more closely.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, callable or \
            Kernel, default="rbf"
        A callable gets two arrays and returns the matrix of values. See `fwsvm.kernels`.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto", "mean_distance"} or float, default="scale"
        "scale" is 1 / (n_features * X.var()), "auto" 1 / n_features, "mean_distance" 1 / (2 s)
        with s the mean squared distance between training rows.
    coef0 : float, default=0.0
        Of the polynomial and sigmoid kernels.
    solver : {"auto", "mfw", "fw", "swap", "blended", "cvm"}, default="auto"
        "auto" makes corrective steps on nested core sets and is the fastest by far. The others are
        those of the papers: Modified Frank-Wolfe (away steps), Frank-Wolfe, pairwise steps,
        blended pairwise steps, and the Core Vector Machine, which needs a kernel with constant
        diagonal.
    tol : float, default=1e-3
        The certified relative duality gap to reach.
    epsilon : float, optional
        Stop by the rule of the Core Vector Machine instead: every row within (1 + epsilon) times
        the radius of the ball. Looser than ``tol`` on large data, but what the papers use (1e-6).
        This and the next two are not for solver="auto".
    start : {"random", "pair"}, default="random"
        The exact ball of 20 random rows, or of a pair of distant ones.
    selection : "full" or int, default="full"
        How many random rows a step looks at (59 in the papers); "full" means every row.
    max_iter : int, default=-1
        Most iterations of a binary problem; -1 means no limit.
    max_time : float, optional
        Most seconds of ``fit``. The best model so far is kept.
    cache_size : float, default=200
        Megabytes of kernel values kept in training; solver="cvm" keeps up to three quarters as
        much besides, the matrix of its core set.
    class_weight : dict or "balanced", optional
        Factors of C for each class.
    multiclass : {"ovo", "ovr", "ddag"}, default="ovo"
        One classifier for each pair of classes with votes, one for each class, or pairs in a
        directed acyclic graph.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        For pairs: scores of classes, or the values of the pairs.
    break_ties : bool, default=False
        Predict the class with the largest score instead of the first with most votes.
    n_jobs : int, optional
        Threads; None means all CPUs this process may use.
    random_state : int, RandomState instance or None, default=None
        Seeds the start and the samples.
    verbose : int, default=0
        1 prints the progress of the solvers as a table.
    warm_start : bool, default=False
        Start from the support vectors of the previous fit, where the rows are as many as then.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    class_weight_ : ndarray of shape (n_classes,)
        Factors of C for each class.
    support_ : ndarray of shape (n_SV,)
        Numbers of the support vectors in X, grouped by class.
    support_vectors_ : ndarray or CSR of shape (n_SV, n_features)
        The support vectors; empty if the kernel is precomputed.
    n_support_ : ndarray of shape (n_classes,)
        How many of each class.
    dual_coef_ : ndarray or CSR of shape (n_classes - 1, n_SV)
        Coefficients b_i y_i of the support vectors, laid out as in `sklearn.svm.SVC`; with
        multiclass="ovr" and more than two classes one row for each class.
    intercept_ : ndarray of shape (n_problems,)
        The bias of each binary problem, the sum of its coefficients.
    coef_ : ndarray of shape (n_problems, n_features)
        Weights of the features, for the linear kernel.
    gap_ : ndarray of shape (n_problems,)
        Certified relative duality gap of each binary problem, whatever it stopped on.
    converged_ : bool
        Whether every binary problem reached ``tol``, or ``epsilon`` on all of its rows.
    status_ : list of str
        Why each run ended; `fwsvm.solvers.Status` explains the names.
    n_iter_ : ndarray of shape (n_problems,)
        Iterations, of which the start is the first.
    trace_ : list of list of TraceRow
        For each problem, lines with iteration, time, objective, gap, radius, active (size of the
        active set) and kernel_evaluations, among others.
    fit_time_ : float
        Seconds that ``fit`` took.
    shape_fit_, n_features_in_, feature_names_in_ :
        The shape of X, the number of features, and their names if X has names.

    See Also
    --------
    sklearn.svm.SVC : The hinge loss by LIBSVM, with the same attributes.

    Examples
    --------
    >>> from fwsvm import SVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> model = SVC(C=10.0, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> bool(model.gap_[0] <= model.tol), model.status_
    (True, ['converged'])

    The setting of the papers:

    >>> paper = SVC(C=10.0, solver="mfw", epsilon=1e-6, selection=59, random_state=0)
    >>> paper.fit(X, y).status_[0].startswith("rule_holds")
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "kernel": [StrOptions(set(parameters.KERNELS)), callable, kernels.Kernel],
        "degree": [Interval(Integral, 1, 1000, closed="both")],
        "gamma": [
            StrOptions({"scale", "auto", "mean_distance"}),
            Interval(Real, 0.0, None, closed="neither"),
        ],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "solver": [StrOptions(set(parameters.SOLVERS))],
        "tol": [Interval(Real, 0.0, 1.0, closed="neither")],
        "epsilon": [Interval(Real, 0.0, None, closed="neither"), None],
        "start": [StrOptions(set(parameters.STARTS))],
        "selection": [StrOptions({"full"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "cache_size": [Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "multiclass": [StrOptions({"ovo", "ovr", "ddag"})],
        "decision_function_shape": [StrOptions({"ovo", "ovr"})],
        "break_ties": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        solver: str = "auto",
        tol: float = 1e-3,
        epsilon: float | None = None,
        start: str = "random",
        selection: int | str = "full",
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
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.solver = solver
        self.tol = tol
        self.epsilon = epsilon
        self.start = start
        self.selection = selection
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
        self.warm_start = warm_start

    # -------------------------------------------------------------------------------------- fit

    @progress.with_callbacks
    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train on the rows of X with labels y.

        Parameters
        ----------
        X : array, CSR or data frame of shape (n_samples, n_features), or `fwsvm.stream` source
            Training rows; the kernel matrix if the kernel is precomputed. Contiguous float32 and
            float64 are used in place, also where they are mapped from a file. A source has rows
            that need not fit in memory.
        y : array of shape (n_samples,)
            Labels of any kind; a source has them itself.
        sample_weight : array of shape (n_samples,), optional
            Factors of C row by row; a row of weight 0 is as if it were not there.

        Returns
        -------
        self : SVC
        """
        began, clock = time.perf_counter(), progress.Clock(self.max_time)
        self._validate_params()
        parameters.check_combination(self)
        train = stream.train if isinstance(X, Source) else in_memory.train
        data, tasks, results, watch = train(self, X, y, sample_weight, clock)
        self._set_model(data, Layout.of_results(data.labels, tasks, results, len(self.classes_)))
        self._set_outcome(results)
        self.fit_time_ = time.perf_counter() - began
        watch.end()
        self._warn(results)
        return self

    def _set_model(self, data: TrainingSet, layout: Layout) -> None:
        self.support_ = data.present[layout.support].astype(np.int32)
        self.n_support_ = layout.n_support.astype(np.int32)
        self.dual_coef_: Any = layout.dual_coef
        self.intercept_ = layout.intercept
        # The model must not keep the training data alive.
        is_precomputed = parameters.is_precomputed(self.kernel)
        vectors = np.empty((0, 0)) if is_precomputed else data.rows.take(layout.support).to_array()
        self.support_vectors_: Any = vectors
        if scipy.sparse.issparse(vectors):
            self.dual_coef_ = scipy.sparse.csr_array(self.dual_coef_)
        self._set_machine()

    def _set_machine(self) -> None:
        """What prediction needs, from the attributes."""
        layout = self._layout()
        coefficients = layout.n_support, layout.dual_coef, layout.intercept
        if parameters.is_precomputed(self.kernel):
            # Rows that know only their numbers, which is all that a precomputed kernel asks for.
            numbers = Rows(np.empty((self.n_features_in_, 0))).take(self.support_)
            self._machine = multiclass.Machine(self._kernel, numbers, *coefficients)
            return
        support = Rows(self.support_vectors_)
        self._machine = multiclass.Machine.of(self._kernel, support, *coefficients)

    def _set_outcome(self, results: list[Result]) -> None:
        self.gap_ = np.array([r.gap for r in results])
        self.converged_ = all(r.status.is_certain for r in results)
        self.status_ = [r.status.name for r in results]
        self.n_iter_ = np.array([r.n_iter for r in results], dtype=np.int32)
        self.trace_ = [r.trace for r in results]

    def _warn(self, results: list[Result]) -> None:
        early = [r for r in results if r.status.is_early]
        if early:
            worst = max(early, key=lambda r: r.gap)
            of = (
                f"{len(early)} of {len(results)} binary problems" if len(results) > 1 else "The fit"
            )
            warnings.warn(
                f"{of} ended early with a relative duality gap of up to {worst.gap:.2e} "
                f"(tol={self.tol:g}): {worst.status.value}.",
                ConvergenceWarning,
                stacklevel=4 if progress.HAS_CALLBACKS else 3,
            )

    # --------------------------------------------------------------------------------- the model

    @property
    def coef_(self) -> NDArray[Any]:
        """Weights of the features, one row for each binary problem (linear kernel only)."""
        check_is_fitted(self)
        if not isinstance(self._kernel, kernels.Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        vectors = self.support_vectors_
        return np.array([c @ vectors[places] for places, c in self._layout().problems()])

    def _layout(self) -> Layout:
        is_sparse = scipy.sparse.issparse(self.dual_coef_)
        dual_coef = self.dual_coef_.toarray() if is_sparse else self.dual_coef_
        return Layout(self.support_, self.n_support_, dual_coef, self.intercept_)

    def _rows_to_decide(self, X: Any) -> Rows:
        check_is_fitted(self)
        rows = Rows(validate_data(self, X, reset=False, **CHECKS))
        return rows.stored_like(self._machine.support)

    def decision_function(self, X: Any) -> Floats:
        """Scores of rows.

        Parameters
        ----------
        X : array, CSR or data frame of shape (n_samples, n_features)
            Rows; their kernel values with the training rows if the kernel is precomputed.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes or n_problems)
            One value a row for two classes, else a column for each class or pair.
        """
        rows = self._rows_to_decide(X)
        decisions = self._machine.decisions(rows, self.n_jobs)
        if len(self.classes_) == 2:
            return decisions.ravel()
        if self.multiclass == "ovr" or self.decision_function_shape == "ovo":
            return decisions
        return multiclass.scores_of_pairs(decisions, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row.

        Parameters
        ----------
        X : array, CSR or data frame of shape (n_samples, n_features)
            Rows; their kernel values with the training rows if the kernel is precomputed.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        rows = self._rows_to_decide(X)
        winners = self._machine.winners(rows, self.multiclass, self.break_ties, self.n_jobs)
        return np.asarray(self.classes_[winners])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = parameters.is_precomputed(self.kernel)
        return tags
