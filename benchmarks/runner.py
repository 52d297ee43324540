"""What all benchmarks share: timing side by side, the machine, tables and JSON."""

import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fwsvm

RESULTS = Path(__file__).parent / "results"


def measure(functions: Mapping[str, Callable[[], Any]], repeats: int = 5) -> dict[str, float]:
    """Median seconds of each function; they take turns, so that a slow moment hits them all."""
    for function in functions.values():
        function()
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def machine() -> dict[str, Any]:
    """Where and with what a result was measured."""
    return {
        "cpu": _cpu_name(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        **(fwsvm.show_config(mode="dicts") or {}),
        "commit": _commit(),
        "date": time.strftime("%Y-%m-%d"),
    }


def report(name: str, rows: Sequence[Mapping[str, Any]], notes: Sequence[str] = ()) -> None:
    """Print the rows as a table and save them, with the machine, to results/<name>.json."""
    print(table(rows))
    for note in notes:
        print(note)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {"machine": machine(), "rows": list(rows), "notes": list(notes)}
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(f"saved {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path.name}")


def merge(path: Path, rows: Sequence[Mapping[str, Any]], keys: Sequence[str], **more: Any) -> list:
    """Put the rows into a file of results in place of those with the same keys; all rows it has.

    Rows of another machine, or of other versions of what was measured, do not mix: the file then
    begins anew, and says so.
    """
    environment = environment_of_results(**more)
    kept = stored(path, **more)
    if path.exists() and not kept:
        print(f"{path.name} was measured elsewhere or with other versions: it begins anew")
    new = {tuple(row[key] for key in keys): dict(row) for row in rows}
    merged = {tuple(row[key] for key in keys): row for row in kept} | new
    path.parent.mkdir(exist_ok=True)
    content = {"environment": environment, "rows": list(merged.values())}
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(content, indent=1) + "\n")
    unfinished.replace(path)
    return content["rows"]


def stored(path: Path, **more: Any) -> list[dict[str, Any]]:
    """The rows of a file of results, if they were measured here and with these versions."""
    if not path.exists():
        return []
    content = json.loads(path.read_text())
    return content["rows"] if content["environment"] == environment_of_results(**more) else []


def environment_of_results(**more: Any) -> dict[str, Any]:
    """What results that stand in one table have in common."""
    changing = ("load", "commit", "date")
    return {key: value for key, value in machine().items() if key not in changing} | more


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table of rows that have the same keys."""
    columns = list(rows[0])
    cells = [columns, *([_shown(row[c]) for c in columns] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    lines = [
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def data_folder() -> Path | None:
    """The folder of real data sets, if it is there: FWSVM_DATA, or beside the repository."""
    given = os.environ.get("FWSVM_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / "shared" / "data"
    return folder if folder.is_dir() else None


def ending(return_code: int, errors: str, limit: float) -> str:
    """How the process of a run ended: "ok" or what went wrong."""
    if return_code == 0:
        return "ok"
    if return_code == -signal.SIGALRM:
        return f"> {limit:g} s"
    if return_code < 0:
        return f"died of {signal.Signals(-return_code).name}"
    last = errors.strip().splitlines()[-1:] or [f"exit code {return_code}"]
    return f"failed: {last[0][:150]}"


def stop_runs_when_stopped() -> None:
    """A termination of this process ends the run under way, too, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), "")


def _commit() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
