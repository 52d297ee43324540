"""Types of the native module, native/bindings.cpp."""

from typing import Any

from numpy import float64, int32, int64
from numpy.typing import NDArray

class KernelParameters:
    def __init__(
        self, name: str, gamma: float = ..., coef0: float = ..., degree: int = ...
    ) -> None: ...

class NativeRows:
    def __init__(
        self,
        values: NDArray[Any],
        columns: int,
        indices: NDArray[Any] | None,
        row_starts: NDArray[Any] | None,
        selection: NDArray[int64] | None,
    ) -> None: ...

def first_equal_rows(rows: NativeRows, first: NDArray[int64], threads: int) -> None: ...
def norms(
    rows: NativeRows,
    centre: NDArray[float64] | None,
    power: int,
    single_precision: bool,
    out: NDArray[float64],
    threads: int,
) -> None: ...
def block(
    a: NativeRows,
    b: NativeRows,
    parameters: KernelParameters,
    a_side: NDArray[float64] | None,
    b_side: NDArray[float64] | None,
    centre: NDArray[float64] | None,
    out: NDArray[Any],
    symmetric: bool,
    threads: int,
) -> None: ...
def product(
    a: NativeRows,
    b: NativeRows,
    parameters: KernelParameters,
    a_side: NDArray[float64] | None,
    b_side: NDArray[float64] | None,
    centre: NDArray[float64] | None,
    coefficients: NDArray[float64],
    out: NDArray[float64],
    double_precision: bool,
    threads: int,
) -> None: ...
def add_rows(
    stored: NDArray[Any],
    rows: NDArray[int64],
    weights: NDArray[float64],
    gradient: NDArray[float64],
    threads: int,
) -> None: ...

class ActiveValuesFloat:
    def __init__(
        self,
        rows: NativeRows,
        parameters: KernelParameters,
        side: NDArray[float64] | None,
        centre: NDArray[float64] | None,
        most_bytes: int,
    ) -> None: ...
    def enter(self, row: int) -> None: ...
    def row(self, row: int) -> NDArray[Any]: ...
    def products(
        self, rows: NDArray[int64], weights: NDArray[float64], out: NDArray[float64]
    ) -> None: ...
    def take_counts(self) -> tuple[int, float, int, int]: ...

class ActiveValuesDouble(ActiveValuesFloat): ...

def minimise_on_simplex(
    matrix: NDArray[Any], weights: NDArray[float64], gradient: NDArray[float64], tolerance: float
) -> None: ...
def symmetric_product(
    a: NativeRows,
    parameters: KernelParameters,
    side: NDArray[float64] | None,
    centre: NDArray[float64] | None,
    coefficients: NDArray[float64],
    out: NDArray[float64],
    double_precision: bool,
    threads: int,
) -> None: ...
def coordinate_descent(
    kernel: NDArray[Any],
    signs: NDArray[float64],
    ridge: NDArray[float64],
    coefficients: NDArray[float64],
    outputs: NDArray[float64],
    tolerance: float,
    most_steps: int,
) -> bool: ...

class OutOfTimeError(TimeoutError): ...

def set_deadline(seconds: float | None) -> None: ...

class LibsvmParserFloat:
    def __init__(self, zero_based: bool, most_features: int) -> None: ...
    def feed(self, text: bytes, begin: int, most_rows: int) -> int: ...
    def finish(self) -> None: ...
    @property
    def held_rows(self) -> int: ...
    @property
    def features(self) -> int: ...
    def take(self) -> tuple[NDArray[Any], NDArray[int32], NDArray[int64], NDArray[float64]]: ...

class LibsvmParserDouble(LibsvmParserFloat): ...

def instruction_set() -> str: ...
def available_instruction_sets() -> str: ...
