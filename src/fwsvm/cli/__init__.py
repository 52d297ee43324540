"""The command ``fwsvm``: parsing of arguments and printing of results, nothing else.

One file for each command; ``parameters`` makes options of the estimator's parameters, ``inputs``
reads data, ``screen`` prints, ``live`` shows a running fit and stops it on Ctrl-C.
"""

from __future__ import annotations

import click

from .._version import __version__
from .data_sets import datasets
from .demo import demo
from .evaluate import evaluate
from .export import export
from .info import info
from .predict import predict
from .screen import Group
from .train import train
from .tune import tune

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=Group, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="fwsvm")
def main() -> None:
    """Kernel support vector machines from the shell.

    Reads LIBSVM text, CSV, TSV, Parquet, Arrow and NPZ, also packed by gzip, bzip2 or xz, from
    files and, as "-", from standard input. Every command has --json for machines and --quiet for
    jobs. Exit codes: 0 done, 1 failed, 2 wrong usage.

    \b
    fwsvm demo                                        what it is, in a minute
    fwsvm train a9a -C 1 --gamma 0.03 -o a9a.fwsvm    train, and keep the model
    fwsvm evaluate a9a.fwsvm a9a.t                    how good it is on other rows
    fwsvm predict a9a.fwsvm a9a.t -o labels           a label for each row
    fwsvm tune iris.csv --target kind --plot map.png  find C and gamma
    """


for command in (train, predict, evaluate, tune, info, export, datasets, demo):
    main.add_command(command)
