"""``fwsvm export``"""

from __future__ import annotations

from typing import Any

import click

from ..model_files import load_model, save_model, to_onnx
from ..model_files.saved import write_whole
from . import inputs
from .screen import Command, notice, option


@click.command(cls=Command)
@click.argument("model", type=inputs.MODEL)
@click.argument("output", type=click.Path(dir_okay=False))
@option(
    "--to",
    "form",
    type=click.Choice(["libsvm", "onnx", "fwsvm"]),
    required=True,
    help="libsvm: the text that svm-predict reads. onnx: a graph for ONNX runtimes (needs "
    "skl2onnx). fwsvm: the file of this program, for example from a text model of LIBSVM.",
)
@option("--quiet", "-q", is_flag=True, help="Print only errors.")
def export(model: str, output: str, form: Any, quiet: bool) -> None:
    """Write MODEL in a form that other programs read.

    What a form cannot express, such as scaling in LIBSVM's, is refused.
    """
    loaded = load_model(model)
    if form == "onnx":
        write_whole(output, to_onnx(loaded).SerializeToString())
    else:
        save_model(loaded, output, format=form)
    if not quiet:
        notice(f"wrote {output}")
