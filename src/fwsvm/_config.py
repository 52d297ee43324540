"""What this build and this machine use."""

from typing import Literal

from . import _native
from ._version import __version__
from .threads import thread_count


def show_config(mode: Literal["stdout", "dicts"] = "stdout") -> dict[str, str | int] | None:
    """Print (or return, with ``mode="dicts"``) the instruction set and threads in use.

    The environment variable ``FWSVM_ISA`` chooses a lower instruction set than the best one.
    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f"mode must be 'stdout' or 'dicts'. Got {mode!r} instead.")
    config: dict[str, str | int] = {
        "fwsvm": __version__,
        "instruction set": _native.instruction_set(),
        "available": _native.available_instruction_sets(),
        "threads": thread_count(None),
    }
    if mode == "dicts":
        return config
    width = max(map(len, config))
    for name, value in config.items():
        print(f"{name:<{width}}  {value}")
    return None
