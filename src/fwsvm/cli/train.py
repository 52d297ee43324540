"""``fwsvm train``"""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.model_selection import train_test_split

from .. import plots
from ..data import Preparation, Table, read
from ..model_files import TableModel, load_model, save_model
from . import inputs, parameters, streamed
from .live import watching
from .screen import (
    OUTPUT,
    Command,
    notice,
    option,
    output_options,
    quietly,
    seconds,
    show_facts,
    show_json,
)

_EXAMPLES = """\b
Examples:
  fwsvm train a9a -C 1 --gamma 0.03
  fwsvm train wine.csv --target quality --scale standard --validate 0.2
  fwsvm train big.parquet --target label --memory-limit 2GB --checkpoint big.ck --resume
  xzcat big.xz | fwsvm train - -o big.fwsvm --max-time 600 --plot big.png
"""


@click.command(cls=Command, epilog=_EXAMPLES)
@click.argument("data", type=inputs.DATA)
@option(
    "--output",
    "-o",
    type=OUTPUT,
    help="Model file; by default DATA without its endings, with .fwsvm, in this folder.",
)
@option(
    "--validate",
    metavar="FRACTION|FILE",
    help="Hold out this part of each class, or read another file, and report the accuracy on it.",
)
@option("--plot", type=OUTPUT, help="Draw gap and objective against time (PNG).")
@output_options
@inputs.training_options
@streamed.streaming_options
@parameters.parameter_options(
    notes={
        "kernel": "precomputed: DATA holds the matrix of kernel values.",
        "verbose": "Print the progress of the solver as a table, in place of the live line.",
        "warm_start": "Begin at the support vectors of the model that -o names.",
    }
)
def train(data: str, **settings: Any) -> None:
    """Train an SVC on DATA and write the model.

    Ctrl-C once finishes with the best model so far and says how good it certainly is; twice stops.
    The gap of the summary is a certificate: the objective is within that part of the optimum.
    """
    job = _Job(data, settings)
    with quietly(settings["quiet"]):
        job.run()
    if settings["as_json"]:
        show_json(job.summary())
    elif not settings["quiet"]:
        job.show()


class _Job:
    """One run of the command."""

    def __init__(self, data: str, settings: dict[str, Any]) -> None:
        streamed.check_together(settings)
        self.data, self.settings = data, settings
        self.svc = parameters.checked(parameters.chosen(settings))
        self.fraction = _fraction(settings["validate"])
        self.output = _output(data, settings["output"])
        self.accuracy: tuple[float, int] | None = None
        self.messages: list[str] = []
        if settings["plot"]:
            plots.require_matplotlib()

    def run(self) -> None:
        """Read, fit, check, write."""
        in_blocks = self.settings["memory_limit"] is not None
        held_out = self._train_on_blocks() if in_blocks else self._train_on_table()
        if held_out is not None:
            self.accuracy = self.model.score(held_out), held_out.n_rows
        save_model(self.model, self.output)
        if self.settings["plot"]:
            plots.convergence(self.settings["plot"], self.svc.trace_, self.svc.gap_)

    def _train_on_table(self) -> Table | None:
        """Makes the model; the rows that were held out."""
        began = time.perf_counter()
        table, held_out = self._tables()
        preparation = Preparation(self.settings["scale"]).fit(table)
        X = preparation.apply(table)
        self.messages = preparation.describe()
        self._say(self.messages)
        self.read_seconds = time.perf_counter() - began
        assert table.y is not None
        parameters.with_classes_of(self.svc, table.y)
        if self.svc.warm_start:
            self._begin_at(X.shape[0])
        self._fit(X, table.y)
        self.model = TableModel(preparation, self.svc, table.target_name)
        return held_out

    def _train_on_blocks(self) -> Table | None:
        """The same for a file that is larger than memory."""
        if self.fraction is not None:
            raise click.UsageError("with --memory-limit, --validate takes a file, no fraction.")
        source = streamed.source_of(self.data, self.settings)
        self.read_seconds = 0.0  # a part of the training
        self._fit(source)
        self.model = streamed.table_model(self.svc, source)
        if self.settings["validate"] is None:
            return None
        is_text = source.feature_names is None
        return self._other_table(self.model.target_name, is_text, ())

    def _tables(self) -> tuple[Table, Table | None]:
        table = inputs.training_table(self.data, self.settings)
        if self.fraction is not None:
            rows, others = train_test_split(
                np.arange(table.n_rows),
                test_size=self.fraction,
                stratify=_strata(table.y),
                random_state=self.settings["random_state"] or 0,
            )
            return table.take(np.sort(rows)), table.take(np.sort(others))
        if self.settings["validate"] is None:
            return table, None
        is_text = not isinstance(table.X, dict) and table.feature_names is None
        known = table.target_name if self.settings["target"] is None or not is_text else None
        return table, self._other_table(known, is_text, table.categorical)

    def _other_table(self, target: str | None, is_text: bool, categorical: Any) -> Table:
        """The file to validate on."""
        return read(
            self.settings["validate"],
            target=target,
            dtype=np.float64 if self.settings["double"] else np.float32,
            zero_based=self.settings["zero_based"],
            categorical=categorical,
            target_optional=is_text,
        )

    def _fit(self, *data: Any) -> None:
        # The table of --verbose is no result.
        with watching(quiet=self._is_silent), contextlib.redirect_stdout(sys.stderr):
            self.svc.fit(*data)

    def _begin_at(self, n_rows: int) -> None:
        """The support vectors of an earlier model, if it was trained on as many rows."""
        if not Path(self.output).exists():
            self._say([f"{self.output} is not there yet: no warm start"])
            return
        earlier = load_model(self.output)
        before = earlier.svc if isinstance(earlier, TableModel) else earlier
        if before.shape_fit_[0] != n_rows:
            self._say([f"{self.output} is of another number of rows: no warm start"])
            return
        self.svc = before.set_params(**self.svc.get_params(deep=False))

    @property
    def _is_silent(self) -> bool:
        return bool(self.settings["quiet"] or self.settings["verbose"])

    def _say(self, lines: list[str]) -> None:
        if not self.settings["quiet"]:
            for line in lines:
                notice(line)

    # --------------------------------------------------------------------------------- the result

    def summary(self) -> dict[str, Any]:
        """What came out, for machines."""
        svc = self.svc
        names, counts = np.unique(svc.status_, return_counts=True)
        return {
            "model": str(self.output),
            "rows": self.svc.shape_fit_[0],
            "features": self.svc.shape_fit_[1],
            "classes": svc.classes_.tolist(),
            "kernel": repr(svc._kernel),
            "C": svc.C,
            "preparation": self.messages,
            "gap": float(svc.gap_.max()),
            "converged": svc.converged_,
            "status": dict(zip(names.tolist(), counts.tolist(), strict=True)),
            "iterations": int(svc.n_iter_.sum()),
            "support_vectors": len(svc.support_),
            "validation": self.accuracy
            and {"accuracy": self.accuracy[0], "rows": self.accuracy[1]},
            "read_seconds": self.read_seconds,
            "fit_seconds": svc.fit_time_,
            "peak_memory_mb": peak_memory_mb(),
        }

    def show(self) -> None:
        """The same for people."""
        some = self.summary()
        memory, gap = some["peak_memory_mb"], some["gap"]
        statuses = [f"{name} {count}" for name, count in some["status"].items()]
        status = ", ".join(statuses) if len(self.svc.gap_) > 1 else self.svc.status_[0]
        accuracy = None
        if self.accuracy is not None:
            accuracy = f"{self.accuracy[0]:.2%} on {self.accuracy[1]:,} held-out rows"
        facts = [
            ("rows", f"{some['rows']:,} of {some['features']:,} features"),
            ("classes", _few(some["classes"])),
            ("kernel", f"{some['kernel']}, C={self.svc.C:g}"),
            ("accuracy", accuracy),
            ("gap", f"{gap:.2e} ({status}; tol {self.svc.tol:g})"),
            ("support vectors", f"{some['support_vectors']:,}"),
            ("iterations", f"{some['iterations']:,}"),
            (
                "time",
                f"{seconds(self.read_seconds)} reading, {seconds(self.svc.fit_time_)} training",
            ),
            ("memory", memory and f"{memory:,.0f} MB at most"),
            ("model", self.output),
            ("plot", self.settings["plot"]),
        ]
        show_facts("", facts)


def _fraction(text: str | None) -> float | None:
    """A part to hold out; None for a file."""
    if text is None or Path(text).is_file():
        return None
    try:
        fraction = float(text)
    except ValueError:
        raise click.BadParameter(
            f"expected a fraction, such as 0.2, or a file. Got {text!r}.", param_hint="--validate"
        ) from None
    if not 0 < fraction < 1:
        raise click.BadParameter(f"must lie within 0 and 1. Got {text}.", param_hint="--validate")
    return fraction


def _strata(y: Any) -> Any:
    """Classes to split evenly; none where a class has a single row."""
    return y if np.unique(y, return_counts=True)[1].min() > 1 else None


def _output(data: str, given: str | None) -> str:
    if given is None and data == "-":
        raise click.UsageError("name the model with -o where the data comes from standard input.")
    return given or str(OUTPUT(f"{inputs.name_without_endings(data)}.fwsvm"))


def _few(classes: list[Any]) -> str:
    shown = ", ".join(map(str, classes[:8]))
    return f"{len(classes)}: {shown}{', ...' * (len(classes) > 8)}"


def peak_memory_mb() -> float | None:
    """The most memory this process has used; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
