"""Estimators with the scikit-learn interface. They validate, build problems, and set attributes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, column_or_1d, compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import kernels, multiclass, progress
from .dual import DualProblem, Floats, Ints
from .rows import Rows
from .solvers import (
    BlendedPairwise,
    CoreVectorMachine,
    FrankWolfe,
    ModifiedFrankWolfe,
    Report,
    Result,
    Start,
    Stopping,
    Swap,
    corrective,
    pair_start,
    random_start,
    solve,
)
from .training import Training

ALGORITHMS: dict[str, Callable[[], Any]] = {
    "fw": FrankWolfe,
    "mfw": ModifiedFrankWolfe,
    "swap": Swap,
    "blended": BlendedPairwise,
    "cvm": CoreVectorMachine,
}
SOLVERS = ("auto", *ALGORITHMS)
STARTS = {"random": random_start, "pair": pair_start}
KERNELS = ("rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed")


class SVC(progress.CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Kernel support vector classification with the squared hinge loss (L2-SVM).

    Minimises ``1/2 (|w|^2 + b^2) + C/2 sum_i max(0, 1 - y_i h(x_i))^2`` and says how far from the
    optimum it stopped: ``gap_`` is a certified relative duality gap.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the squared slacks; larger values fit the training rows more closely.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, callable or Kernel
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
        the radius of the ball. Looser than ``tol`` on large data, but what the papers use. This
        and the next two are for their solvers.
    start : {"random", "pair"}, default="random"
        The exact ball of 20 random rows, or of a pair of distant ones.
    selection : "full" or int, default="full"
        How many random rows a step looks at (59 in the papers); "full" means every row.
    max_iter : int, default=-1
        Most iterations of a binary problem; -1 means no limit.
    max_time : float, optional
        Most seconds of ``fit``. The best model so far is kept.
    cache_size : float, default=200
        Megabytes of kernel values kept in training.
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
    random_state : int, RandomState or None
        Seeds the start and the samples.
    verbose : int, default=0
        1 prints the progress of the solvers as a table.
    warm_start : bool, default=False
        Start from the support vectors of the previous fit, where the rows are as many as then.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_ :
        As in `sklearn.svm.SVC`.
    gap_, status_, n_iter_, trace_ :
        For each binary problem: the certified gap, why the run ended, iterations, and the list of
        trace rows.
    converged_ : bool
        Whether every gap is within ``tol``.
    fit_time_ : float
        Seconds that ``fit`` took.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNELS)), callable, kernels.Kernel],
        "degree": [Interval(Integral, 1, 1000, closed="both")],
        "gamma": [
            StrOptions({"scale", "auto", "mean_distance"}),
            Interval(Real, 0.0, None, closed="neither"),
        ],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0.0, 1.0, closed="neither")],
        "epsilon": [Interval(Real, 0.0, None, closed="neither"), None],
        "start": [StrOptions(set(STARTS))],
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
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on the rows of X with labels y.

        ``sample_weight`` multiplies C row by row; a row of weight 0 is as if it were not there.
        """
        began = time.perf_counter()
        self._validate_params()
        self._check_combination()
        data, labels, sample_weights, class_weights = self._validated(X, y, sample_weight)
        rows = Rows(data)
        self._kernel = self._make_kernel(rows, sample_weights)
        self._check_diagonal()
        tasks = multiclass.tasks_of(self.multiclass, labels, len(self.classes_))
        watch = progress.Progress(self, tasks, X, y, sample_weight)
        weights = sample_weights * class_weights[labels]
        results = self._training(rows, tasks, weights, watch).run()
        self._set_model(rows, labels, tasks, results)
        self.fit_time_ = time.perf_counter() - began
        watch.end()
        self._warn(results)
        return self

    def _check_combination(self) -> None:
        if self.solver == "auto":
            self._check_unused({"epsilon": None, "start": "random", "selection": "full"})
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")
        if self.decision_function_shape == "ovo" and self.multiclass == "ovr":
            raise ValueError(
                "decision_function_shape='ovo' needs the classifiers of pairs, which "
                "multiclass='ovr' does not train. Use multiclass='ovo' or 'ddag'."
            )
        if self.break_ties and self.multiclass == "ddag":
            raise ValueError(
                "break_ties must be False when multiclass is 'ddag', which has no ties."
            )
        if self.max_iter == 0:
            raise ValueError("max_iter must be -1 (no limit) or at least 1. Got 0 instead.")

    def _check_unused(self, defaults: dict[str, Any]) -> None:
        for name, default in defaults.items():
            value = getattr(self, name)
            if value is not default and value != default:
                raise ValueError(
                    f"{name} is for the solvers {', '.join(ALGORITHMS)}; solver='auto' has no use "
                    f"for it. Got {name}={value!r}: leave it at {default!r}, or choose a solver."
                )

    def _validated(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, Ints, Floats, Floats]:
        """Data without rows of weight zero, class numbers, weights of rows and of classes."""
        data, given = validate_data(
            self, X, y, dtype=[np.float64, np.float32], accept_sparse="csr", order="C"
        )
        targets: NDArray[Any] = column_or_1d(given, warn=True)
        check_classification_targets(targets)
        if self._is_precomputed and data.shape[0] != data.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix of the training rows. Input is a "
                f"{data.shape[0]}x{data.shape[1]} matrix."
            )
        weights = _check_sample_weight(
            sample_weight, data, dtype=np.float64, ensure_non_negative=True
        )
        self._present = np.flatnonzero(weights > 0)
        if not len(self._present):
            raise ValueError("Invalid input: all rows have zero or negative weights.")
        targets, weights = targets[self._present], weights[self._present]
        self.classes_, labels = np.unique(targets, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got "
                f"{len(self.classes_)} class (rows of weight zero do not count)."
            )
        of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=targets)
        if self.class_weight == "balanced":  # a row of weight 2 counts as two rows
            of_class = weights.sum() / (len(self.classes_) * np.bincount(labels, weights))
        self.class_weight_ = of_class
        if len(self._present) < data.shape[0]:
            data = data[self._present]
            if self._is_precomputed:
                data = data[:, self._present]
        self.shape_fit_ = data.shape
        if not (of_class > 0).all():
            raise ValueError("class_weight must be positive for every class.")
        return data, labels.astype(np.int64), weights, of_class

    @property
    def _is_precomputed(self) -> bool:
        return self.kernel == "precomputed" or isinstance(self.kernel, kernels.Precomputed)

    def _make_kernel(self, rows: Rows, weights: Floats) -> kernels.Kernel:
        if isinstance(self.kernel, kernels.Kernel):
            return self.kernel
        if callable(self.kernel):
            return kernels.CallableKernel(self.kernel)
        if self.kernel == "precomputed":
            return kernels.Precomputed()
        if self.kernel == "linear":
            return kernels.Linear()
        gamma = self._gamma = gamma_of(self.gamma, rows, weights)
        if self.kernel == "poly":
            return kernels.Polynomial(int(self.degree), gamma, self.coef0)
        if self.kernel == "sigmoid":
            return kernels.Sigmoid(gamma, self.coef0)
        return kernels.Laplacian(gamma) if self.kernel == "laplacian" else kernels.RBF(gamma)

    def _check_diagonal(self) -> None:
        if self.solver == "cvm" and not self._kernel.has_constant_diagonal:
            others = ", ".join(repr(s) for s in SOLVERS if s != "cvm")
            raise ValueError(
                "solver='cvm' needs a kernel whose diagonal k(x, x) is constant, such as rbf or "
                f"laplacian. For kernel={self.kernel!r} use solver={others}."
            )

    def _training(
        self,
        rows: Rows,
        tasks: list[multiclass.BinaryTask],
        weights: Floats,
        watch: progress.Progress,
    ) -> Training:
        random = check_random_state(self.random_state)
        seeds = random.randint(np.iinfo(np.int32).max, size=len(tasks))
        before = self._previous_support(len(rows)) if self.warm_start else None

        def solve_task(
            number: int, n_jobs: int | None, seconds: float | None, report: Report
        ) -> Result:
            task, seed = tasks[number], int(seeds[number])
            problem = DualProblem(
                rows.take(task.rows) if len(task.rows) < len(rows) else rows,
                task.signs,
                1.0 / (self.C * weights[task.rows]),
                self._kernel,
                int(self.cache_size * 2**20),
                n_jobs,
            )
            most = None if self.max_iter == -1 else int(self.max_iter)
            stopping = Stopping(self.tol, self.epsilon, most, seconds)
            warm = None if before is None else warm_start_from(before, number, task)
            if self.solver == "auto":
                return corrective.solve(problem, warm, stopping, seed=seed, report=report)
            return solve(
                problem,
                ALGORITHMS[self.solver](),
                warm or STARTS[self.start],
                stopping,
                selection=None if self.selection == "full" else int(self.selection),
                seed=seed,
                report=report,
            )

        return Training(tasks, solve_task, self.n_jobs, self.max_time, watch)

    def _previous_support(self, n_rows: int) -> list[tuple[Ints, Floats]] | None:
        """(rows, margin-form weights) of each problem of the last fit, if they still apply."""
        before = getattr(self, "_solution", None)
        if before is None or before[0] != (n_rows, self.multiclass, len(self.classes_)):
            return None
        solution: list[tuple[Ints, Floats]] = before[1]
        return solution

    def _set_model(
        self, rows: Rows, labels: Ints, tasks: list[multiclass.BinaryTask], results: list[Result]
    ) -> None:
        """Attributes in scikit-learn's layout: support vectors grouped by class."""
        solution = []
        for task, result in zip(tasks, results, strict=True):
            margin_form = result.weights / result.certificate.objective  # b = a / R
            solution.append((task.rows[result.rows], margin_form))
        self._solution = ((len(rows), self.multiclass, len(self.classes_)), solution)

        used = np.unique(np.concatenate([support for support, _ in solution]))
        support = used[np.argsort(labels[used], kind="stable")]
        place = np.full(len(rows), -1)
        place[support] = np.arange(len(support))
        n_classes = len(self.classes_)
        by_task = self.multiclass == "ovr"
        n_rows = len(tasks) if by_task else n_classes - 1
        self.dual_coef_: Any = np.zeros((n_rows, len(support)))
        self.intercept_ = np.zeros(len(tasks))
        for number, (task, (some, margin_form)) in enumerate(zip(tasks, solution, strict=True)):
            positive = labels[some] == task.classes[0]
            coefficients = np.where(positive, margin_form, -margin_form)
            self.intercept_[number] = coefficients.sum()
            if by_task or n_classes == 2:
                self.dual_coef_[number, place[some]] = coefficients
            else:
                other = np.array(task.classes).sum() - labels[some]  # of the pair
                self.dual_coef_[other - (other > labels[some]), place[some]] = coefficients

        self.support_ = self._present[support].astype(np.int32)
        self.n_support_ = np.bincount(labels[support], minlength=n_classes).astype(np.int32)
        self._support_rows = rows.take(support)
        if self._is_precomputed:
            self.support_vectors_: Any = np.empty((0, 0))
            self._support_rows = _columns_of_precomputed(self.support_, self.n_features_in_)
        else:
            # The model must not keep the training data alive.
            self.support_vectors_ = self._support_rows.to_array()
            self._support_rows = Rows(self.support_vectors_)
        if scipy.sparse.issparse(self.support_vectors_):
            self.dual_coef_ = scipy.sparse.csr_array(self.dual_coef_)

        self.gap_ = np.array([r.gap for r in results])
        self.converged_ = bool((self.gap_ <= self.tol).all())
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
        coefficients = self._coefficients()
        n_classes = len(self.classes_)
        if self.multiclass == "ovr" or n_classes == 2:
            return np.asarray(coefficients @ vectors)
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        rows = []
        for a, b in multiclass.pairs(n_classes):
            of_a, of_b = slice(ends[a], ends[a + 1]), slice(ends[b], ends[b + 1])
            rows.append(
                coefficients[b - 1, of_a] @ vectors[of_a] + coefficients[a, of_b] @ vectors[of_b]
            )
        return np.array(rows)

    def _coefficients(self) -> Floats:
        coefficients: Floats = (
            self.dual_coef_.toarray() if scipy.sparse.issparse(self.dual_coef_) else self.dual_coef_
        )
        return coefficients

    def _binary_decisions(self, X: Any) -> Floats:
        """One column for each binary problem, in the order of training."""
        check_is_fitted(self)
        data = validate_data(
            self, X, reset=False, dtype=[np.float64, np.float32], accept_sparse="csr", order="C"
        )
        rows, coefficients = Rows(data), self._coefficients()
        if self.multiclass == "ovr" or len(self.classes_) == 2:
            outputs = self._kernel.product(
                rows, self._support_rows, coefficients.T, n_jobs=self.n_jobs
            )
            decisions: Floats = outputs + self.intercept_
            return decisions
        return multiclass.pair_decisions(
            self._kernel,
            rows,
            self._support_rows,
            self.n_support_,
            coefficients,
            self.intercept_,
            self.n_jobs,
        )

    def decision_function(self, X: Any) -> Floats:
        """Scores: one column for each class or pair; one value a row for two classes."""
        decisions = self._binary_decisions(X)
        if len(self.classes_) == 2:
            return decisions.ravel()
        if self.multiclass == "ovr" or self.decision_function_shape == "ovo":
            return decisions
        scores: Floats = _ovr_decision_function(decisions < 0, -decisions, len(self.classes_))
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        decisions = self._binary_decisions(X)
        n_classes = len(self.classes_)
        if n_classes == 2:
            winner = (decisions.ravel() > 0).astype(np.int64)
        elif self.multiclass == "ovr":
            winner = decisions.argmax(axis=1)
        elif self.multiclass == "ddag":
            winner = multiclass.graph_winner(decisions, n_classes)
        elif self.break_ties:
            winner = _ovr_decision_function(decisions < 0, -decisions, n_classes).argmax(axis=1)
        else:
            winner = multiclass.votes(decisions, n_classes).argmax(axis=1)
        return np.asarray(self.classes_[winner])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed
        return tags


def gamma_of(gamma: float | str, rows: Rows, weights: Floats) -> float:
    """The number that gamma stands for on these rows; a row of weight 2 counts as two rows."""
    if not isinstance(gamma, str):
        return float(gamma)
    n_features = rows.shape[1]
    if gamma == "auto":
        return 1.0 / n_features
    mean, mean_square = rows.feature_moments(weights)
    if gamma == "scale":
        variance = mean_square.mean() - mean.mean() ** 2
        return float(1.0 / (n_features * variance)) if variance > 0 else 1.0
    # mean over all pairs of |x - z|^2 = 2 (mean |x|^2 - |mean x|^2)
    mean_distance = 2.0 * float((mean_square - mean**2).sum())
    return 1.0 / (2.0 * mean_distance) if mean_distance > 0 else 1.0


def warm_start_from(
    before: list[tuple[Ints, Floats]], number: int, task: multiclass.BinaryTask
) -> Start:
    """A start at the support vectors that this binary problem had before."""
    support, margin_form = before[number]
    where = np.searchsorted(task.rows, support, sorter=(order := np.argsort(task.rows)))
    places = order[np.minimum(where, len(order) - 1)]
    known = task.rows[places] == support

    def start(problem: DualProblem, rng: np.random.Generator) -> tuple[Ints, Floats]:
        if not known.any():
            return random_start(problem, rng)
        weights = margin_form[known]
        return places[known].astype(np.int64), weights / weights.sum()

    return start


def _columns_of_precomputed(support: Ints, n_rows: int) -> Rows:
    """Rows that know only their numbers, which is all that a precomputed kernel asks for."""
    return Rows(np.empty((n_rows, 0))).take(support)
