"""An option for each parameter of the SVC, made of its signature, docstring and constraints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, TypeVar

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from ..estimators import SVC
from ..parameters import check_combination
from .screen import Section

F = TypeVar("F", bound=Callable[..., Any])
SECTION = "Parameters of the SVC"
_SHORT = {"C": "-C"}
_FLAGS = ("boolean", "verbose")


class Value(click.ParamType):  # type: ignore[type-arg]  # of click before 8.2
    """A value that the constraints of a parameter allow."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.constraints: list[Any] = SVC._parameter_constraints[name]

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Such as ``[scale|auto|NUMBER]``."""
        words = [word for c in self.constraints for word in _words(c)]
        return words[0] if len(words) == 1 else f"[{'|'.join(words)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value meant by some text, which is checked as the estimator checks it."""
        meant = self._meant(value) if isinstance(value, str) else value
        try:
            constraints = {self.name: self.constraints}
            validate_parameter_constraints(constraints, {self.name: meant}, caller_name="SVC")
        except ValueError as error:
            message = re.sub(r"The '\w+' parameter of SVC m", "It m", str(error))
            self.fail(message.replace("a callable or an instance of 'fwsvm.kernels.Kernel'", "…"))
        return meant

    def _meant(self, text: str) -> Any:
        for kind in self.constraints:
            if _is_integer(kind):
                with suppress(ValueError):
                    return int(text)
            elif isinstance(kind, Interval) and kind.type is Real:
                with suppress(ValueError):
                    return float(text)
            elif kind is dict and "=" in text:
                return self._factors(text)
            elif kind is None and text == "none":
                return None
        return text

    def _factors(self, text: str) -> dict[str, float]:
        """``class=factor,class=factor``"""
        factors = {}
        for part in text.split(","):
            name, _, factor = part.rpartition("=")
            try:
                factors[name] = float(factor)
            except ValueError:
                self.fail(f"expected CLASS=FACTOR, with commas between several. Got {part!r}.")
        return factors


def _is_integer(constraint: Any) -> bool:
    is_interval = isinstance(constraint, Interval) and constraint.type is Integral
    return is_interval or constraint is Integral or constraint == "random_state"


def _words(constraint: Any) -> Iterable[str]:
    if isinstance(constraint, StrOptions):
        return sorted(constraint.options)
    if _is_integer(constraint):
        return ["INTEGER"]
    if isinstance(constraint, Interval):
        return ["NUMBER"]
    return ["CLASS=FACTOR,..."] if constraint is dict else []


def parameter_options(
    without: Iterable[str] = (), notes: dict[str, str] | None = None
) -> Callable[[F], F]:
    """Decorates a command with the options of all parameters but some."""
    described = dict(_described(SVC.__doc__ or ""))
    notes = notes or {}

    def decorate(command: F) -> F:
        signature = inspect.signature(SVC)
        for name, parameter in reversed(list(signature.parameters.items())):
            if name not in without:
                help_text = notes.get(name, described[name])
                command = _option(name, parameter.default, help_text)(command)
        return command

    return decorate


def _option(name: str, default: Any, help_text: str) -> Callable[[F], F]:
    long = f"--{name.replace('_', '-')}"
    names = [*([_SHORT[name]] if name in _SHORT else []), long, name]
    if SVC._parameter_constraints[name][0] in _FLAGS:
        return click.option(*names, cls=Section, section=SECTION, is_flag=True, help=help_text)
    return click.option(
        *names,
        cls=Section,
        section=SECTION,
        type=Value(name),
        default=default,
        show_default=default is not None,
        help=help_text,
    )


def _described(docstring: str) -> Iterator[tuple[str, str]]:
    """(name, description) of each parameter of a numpydoc docstring."""
    section = inspect.cleandoc(docstring).split("Parameters\n----------\n")[1].split("\n\n")[0]
    for entry in re.split(r"\n(?=\S)", section):
        head, *lines = entry.split("\n")
        text = " ".join(line.strip() for line in lines).replace("``", "")
        for name in head.split(" : ")[0].split(", "):
            yield name, text


def chosen(values: dict[str, Any]) -> dict[str, Any]:
    """Those of a command's arguments that are parameters of the estimator."""
    names = inspect.signature(SVC).parameters
    return {name: value for name, value in values.items() if name in names}


def checked(parameters: dict[str, Any]) -> SVC:
    """The estimator; parameters that do not go together are wrong usage."""
    svc = SVC(**parameters)
    try:
        svc._validate_params()
        check_combination(svc)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return svc


def with_classes_of(svc: SVC, y: NDArray[Any] | None) -> SVC:
    """The estimator with the classes of class_weight as they are in the data."""
    given = svc.class_weight
    if not isinstance(given, dict) or y is None:
        return svc
    names = {_as_text(label): label for label in np.unique(y).tolist()}
    unknown = [name for name in given if name not in names]
    if unknown:
        raise click.UsageError(
            f"--class-weight names classes that are not in the data: {', '.join(unknown)}. "
            f"There are {', '.join(list(names)[:20])}."
        )
    svc.set_params(class_weight={names[name]: factor for name, factor in given.items()})
    return svc


def _as_text(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)
