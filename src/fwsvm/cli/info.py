"""``fwsvm info``"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from ..model_files import TableModel, described
from . import inputs
from .screen import Command, output_options, seconds, show_facts, show_json


@click.command(cls=Command)
@click.argument("model", type=inputs.MODEL)
@output_options
def info(model: str, as_json: bool, quiet: bool) -> None:
    """Say what is in a model file, and check that it is whole.

    With --quiet only the exit code tells.
    """
    loaded, header = described(model)
    if as_json:
        show_json(header)
    elif not quiet:
        show_facts(model, _facts(model, loaded, header))


def _facts(path: str, loaded: Any, some: dict[str, Any]) -> list[tuple[str, Any]]:
    svc = loaded.svc if isinstance(loaded, TableModel) else loaded
    kernel = dict(some["kernel"])
    name, numbers = kernel.pop("name"), [f"{k}={v:g}" for k, v in kernel.items()]
    classes = some["classes"]["values"]
    training = some["training"] or {}
    parameters = some["parameters"]
    is_default = type(svc)().get_params()
    changed = [f"{k}={v}" for k, v in parameters.items() if v != is_default[k] and k != "kernel"]
    gaps = training.get("gap", [])
    statuses, counts = np.unique(training.get("status", []), return_counts=True)
    return [
        ("kernel", f"{name} {', '.join(numbers)}"),
        ("parameters", ", ".join(changed) or "the defaults"),
        ("classes", f"{len(classes)}: {', '.join(map(str, classes[:12]))}"),
        ("features", f"{some['n_features']:,}"),
        ("target", some["target_name"]),
        ("preparation", "; ".join(loaded.preparation.describe()) or None)
        if isinstance(loaded, TableModel)
        else ("preparation", None),
        ("support vectors", f"{len(svc.support_):,} of {some['n_rows']:,} rows"),
        ("gap", f"{max(gaps):.2e}" if gaps else "not known: trained by another program"),
        ("status", ", ".join(f"{s} {c}" for s, c in zip(statuses, counts, strict=True)) or None),
        ("training", seconds(training["seconds"]) if training else None),
        ("written by", f"fwsvm {some['library']}" if some["library"] else "LIBSVM, or for it"),
        ("size", f"{Path(path).stat().st_size:,} bytes"),
    ]
