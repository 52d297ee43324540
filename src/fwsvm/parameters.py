"""What the parameters of an estimator stand for: the one place that maps strings to objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from . import kernels
from .dual import DualProblem, Floats
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

ALGORITHMS: dict[str, Callable[[], Any]] = {
    "fw": FrankWolfe,
    "mfw": ModifiedFrankWolfe,
    "swap": Swap,
    "blended": BlendedPairwise,
    "cvm": CoreVectorMachine,
}
SOLVERS = ("auto", *ALGORITHMS)
STARTS: dict[str, Start] = {"random": random_start, "pair": pair_start}
KERNELS = ("rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed")


# ------------------------------------------------------------------------ what does not go together


def check_combination(model: Any) -> None:
    """ValueError where a parameter would be of no effect beside the others."""
    if model.solver == "auto":
        _check_unused(model, {"epsilon": None, "start": "random", "selection": "full"})
    if model.break_ties and model.decision_function_shape == "ovo":
        raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")
    if model.break_ties and model.multiclass == "ddag":
        raise ValueError("break_ties must be False when multiclass is 'ddag', which has no ties.")
    if model.decision_function_shape == "ovo" and model.multiclass == "ovr":
        raise ValueError(
            "decision_function_shape='ovo' needs the classifiers of pairs, which "
            "multiclass='ovr' does not train. Use multiclass='ovo' or 'ddag'."
        )
    if model.max_iter == 0:
        raise ValueError("max_iter must be -1 (no limit) or at least 1. Got 0 instead.")


def _check_unused(model: Any, defaults: dict[str, Any]) -> None:
    for name, default in defaults.items():
        value = getattr(model, name)
        if value is not default and value != default:
            raise ValueError(
                f"{name} is for the solvers {', '.join(ALGORITHMS)}; solver='auto' has no use "
                f"for it. Got {name}={value!r}: leave it at {default!r}, or choose a solver."
            )


# ----------------------------------------------------------------------------------------- kernels


def is_precomputed(kernel: Any) -> bool:
    """Whether X is the kernel matrix."""
    return isinstance(kernel, kernels.Precomputed) or (
        isinstance(kernel, str) and kernel == "precomputed"
    )


class HasMoments(Protocol):
    """Rows, as far as they choose gamma."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def feature_moments(self, weights: Floats) -> tuple[Floats, Floats]: ...


def kernel_of(model: Any, rows: HasMoments, weights: Floats) -> kernels.Kernel:
    """The kernel that the parameters describe; sets ``_gamma`` where it has one by name."""
    kernel = _kernel_of(model, rows, weights)
    if model.solver == "cvm" and not kernel.has_constant_diagonal:
        others = ", ".join(repr(s) for s in SOLVERS if s != "cvm")
        raise ValueError(
            "solver='cvm' needs a kernel whose diagonal k(x, x) is constant, such as rbf or "
            f"laplacian. For kernel={model.kernel!r} use solver={others}."
        )
    return kernel


def _kernel_of(model: Any, rows: HasMoments, weights: Floats) -> kernels.Kernel:
    name = model.kernel
    if isinstance(name, kernels.Kernel):
        return name
    if callable(name):
        return kernels.CallableKernel(name)
    if name == "precomputed":
        return kernels.Precomputed()
    if name == "linear":
        return kernels.Linear()
    gamma = model._gamma = gamma_of(model.gamma, rows, weights)
    if name == "poly":
        return kernels.Polynomial(int(model.degree), gamma, model.coef0)
    if name == "sigmoid":
        return kernels.Sigmoid(gamma, model.coef0)
    return kernels.Laplacian(gamma) if name == "laplacian" else kernels.RBF(gamma)


def gamma_of(gamma: float | str, rows: HasMoments, weights: Floats) -> float:
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


# ----------------------------------------------------------------------------------------- solvers


def solve_with(
    model: Any,
    problem: DualProblem,
    warm: Start | None,
    *,
    seconds: float | None,
    seed: int,
    report: Report,
) -> Result:
    """Runs the solver of this name; ``warm`` is where a warm start begins."""
    most = None if model.max_iter == -1 else int(model.max_iter)
    stopping = Stopping(model.tol, model.epsilon, most, seconds)
    if model.solver == "auto":
        return corrective.solve(problem, warm, stopping, seed=seed, report=report)
    return solve(
        problem,
        ALGORITHMS[model.solver](),
        warm or STARTS[model.start],
        stopping,
        selection=None if model.selection == "full" else int(model.selection),
        seed=seed,
        report=report,
    )
