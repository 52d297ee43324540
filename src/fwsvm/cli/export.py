"""``fwsvm export``"""

from __future__ import annotations

from typing import Any

import click

from ..model_files import load_model, save_model, to_onnx
from ..whole_file import whole_file
from . import inputs
from .screen import OUTPUT, Command, notice, option, output_options, show_json


@click.command(cls=Command)
@click.argument("model", type=inputs.MODEL)
@click.argument("output", type=OUTPUT)
@option(
    "--to",
    "form",
    type=click.Choice(["libsvm", "onnx", "fwsvm"]),
    required=True,
    help="libsvm: the text that svm-predict reads. onnx: a graph for ONNX runtimes (needs "
    "skl2onnx). fwsvm: the file of this program, for example from a text model of LIBSVM.",
)
@output_options
def export(model: str, output: str, form: Any, as_json: bool, quiet: bool) -> None:
    """Write MODEL in a form that other programs read.

    What a form cannot express, such as scaling in LIBSVM's, is refused.
    """
    loaded = load_model(model)
    if form == "onnx":
        content = to_onnx(loaded).SerializeToString()
        with whole_file(output) as file:
            file.write(content)
    else:
        save_model(loaded, output, format=form)
    if as_json:
        show_json({"model": model, "output": output, "format": form})
    elif not quiet:
        notice(f"wrote {output}")
