"""A model of cost for training on many workers, checked by a simulation: tables of docs/scaling.md.

    python benchmarks/scaling.py [--tables]

Measures constants, simulates, extrapolates, and saves results/scaling.json; --tables only shows
what is there. Seconds are processor time of one thread, so that other processes hardly disturb.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from runner import RESULTS, machine, table
from scaling_model import (
    Constants,
    Setting,
    cost,
    factor_bytes,
    fitted,
    gathered_bytes,
    shard_bytes,
    steps_of,
    support_vectors,
)
from scaling_simulation import (
    FEATURES,
    SEED,
    TOL,
    C,
    Network,
    binary,
    gamma,
    parts_of,
    record,
    rows_of,
    simulated,
)

CALIBRATION = ((50_000, 16), (200_000, 2))  # rows and workers of the runs that give constants
SIMULATED = ((50_000, 4), (100_000, 8), (200_000, 16), (400_000, 32), (200_000, 4), (200_000, 64))
BANDWIDTH = 1.25e9  # bytes a second, 10 Gbit/s: assumed
FAR_AWAY = {"latency": 0.05, "bandwidth": 1.25e7}  # assumed: 50 ms, 100 Mbit/s
SLOWEST = 4.0
MANY = Setting(10**9, 100, FEATURES, Network(0.0, 0.0, BANDWIDTH))
MANY_ROWS = (10**6, 10**7, 10**8, 10**9)
GIVEN_SUPPORT = (10**3, 10**4, 10**5, 10**6)
THREADS = 16
DASK_ROWS, DASK_WORKERS, TASKS, REPEATS, FITS = 50_000, 2, 100, 20, 6
Row = dict[str, Any]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--tables", action="store_true", help="show the stored results")
    options.add_argument("--output", type=Path, default=RESULTS / "scaling.json")
    chosen = options.parse_args()
    if not chosen.tables:
        content = {"machine": machine(), **measured()}
        chosen.output.write_text(json.dumps(content, indent=1) + "\n")
    for title, lines in tables(json.loads(chosen.output.read_text())).items():
        print(f"{title}\n\n{lines}\n")


def measured() -> dict[str, Any]:
    """Everything that is stored: all tables follow from it."""
    network, fit = dask_measured()
    runs = [record(n_rows, workers)[0] for n_rows, workers in CALIBRATION]
    constants = replace(fitted(runs), row_bytes=bytes_of_a_row())
    return {
        "network": asdict(network),
        "constants": asdict(constants),
        "dask": fit,
        "simulation": [
            row
            for n_rows, workers in SIMULATED
            for row in simulate(n_rows, workers, network, constants)
        ],
    }


def simulate(n_rows: int, workers: int, near: Network, constants: Constants) -> list[Row]:
    """One run of the algorithm, on several networks: simulated and modelled."""
    rounds, result = record(n_rows, workers)
    rows = []
    cases = {"near": near, "far": replace(near, **FAR_AWAY)}
    for name, network, slowest in (
        ("near", cases["near"], 1.0),
        ("near", cases["near"], SLOWEST),
        ("far", cases["far"], 1.0),
    ):
        setting = Setting(n_rows, workers, FEATURES, network, slowest)
        passed, steps = simulated(rounds, network, slowest), steps_of(setting, constants)
        model = cost(setting, steps)
        rows.append(
            {
                "rows": n_rows,
                "workers": workers,
                "network": name,
                "slowest": slowest,
                "gap": float(result.certificate.gap),
                "rounds": [len(rounds), len(steps)],
                "support": [len(result.rows), support_vectors(setting, constants)],
                "sent": [sum(r.sent for r in rounds), model.sent],
                "received": [sum(sum(r.received) for r in rounds), model.received],
                "driver": [passed.driver, model.driver],
                "in rounds": [passed.rounds, model.scan + model.communication],
                "seconds": [passed.seconds, model.seconds],
            }
        )
    return rows


# -------------------------------------------------------------------------------- other constants


def dask_measured() -> tuple[Network, Row]:
    """What messages take on a LocalCluster, and a real fit there."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    from fwsvm.dask import DaskSVC

    with (
        LocalCluster(DASK_WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        few, many = (_seconds_of_tasks(client, n) for n in (DASK_WORKERS, DASK_WORKERS + TASKS))
        handling = max(0.0, many - few) / TASKS
        latency = max(0.0, few - DASK_WORKERS * handling) / 2
        X, y = rows_of(DASK_ROWS)
        chunk = -(-DASK_ROWS // DASK_WORKERS)
        arrays = [da.from_array(X, chunks=(chunk, -1)).persist()]
        arrays += [da.from_array(y, chunks=chunk).persist()]
        wait(arrays)
        model = DaskSVC(client=client, C=C, gamma=gamma(), tol=TOL, random_state=SEED, n_jobs=1)
        fits = []
        for _ in range(FITS):
            model.fit(*arrays)
            fits.append((model.traffic_[0], model.trace_[0][-1].solve_seconds))
    traffic, driver = min(fits, key=lambda fit: fit[0].seconds)  # the least disturbed
    fit = {"rows": DASK_ROWS, "workers": DASK_WORKERS, "support": int(model.n_support_.sum())}
    fit |= asdict(traffic) | {"driver": driver}
    return Network(latency, handling, BANDWIDTH), fit


def _seconds_of_tasks(client: Any, count: int) -> float:
    """Of a round of so many tasks that do nothing: the median, for clients send in batches."""
    workers, seconds = sorted(client.nthreads()), []
    for _ in range(REPEATS):
        began = time.perf_counter()
        tasks = [
            client.submit(bytes, b"", pure=False, workers=[workers[i % len(workers)]])
            for i in range(count)
        ]
        client.gather(tasks)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def bytes_of_a_row(n_rows: int = 100_000) -> float:
    """What a worker keeps for each of its rows, that row included."""
    tracemalloc.start()
    (part,) = parts_of(*rows_of(n_rows), 1)
    share = part.share(binary())
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / share.merged.problem.size


# ----------------------------------------------------------------------------------------- tables


def tables(content: Mapping[str, Any]) -> dict[str, str]:
    """Those of the document, from what was stored."""
    known, network = Constants(**content["constants"]), Network(**content["network"])
    many = replace(MANY, network=network)
    return {
        "Constants": table(
            [{"constant": k, "value": v} for k, v in {**asdict(known), **asdict(network)}.items()]
        ),
        "A fit on Dask": table(dask_lines(content["dask"], known, network)),
        "Simulated / modelled": table([_pair_line(row) for row in content["simulation"]]),
        "Rounds": table(round_lines(many, known)),
        "Growing rows": table(
            [_line(replace(many, rows=n), known) for n in MANY_ROWS] + variations(many, known)
        ),
        "Given support vectors": table(
            [_line(replace(many, support=float(n)), known) for n in GIVEN_SUPPORT]
        ),
    }


def dask_lines(fit: Row, known: Constants, network: Network) -> list[Row]:
    """Its traffic beside the model's."""
    setting = Setting(fit["rows"], fit["workers"], FEATURES, network)
    steps = [s for s in steps_of(setting, known) if s.what in ("level", "scan", "certificate")]
    model = cost(setting, steps)
    values = {
        "rounds": (fit["rounds"], len(steps)),
        "support vectors": (fit["support"], round(support_vectors(setting, known))),
        "MB to each worker": (fit["bytes_sent"] / 1e6, model.sent / 1e6),
        "MB received": (fit["bytes_received"] / 1e6, model.received / 1e6),
        "seconds of each worker": (fit["seconds_of_parts"] / fit["workers"], model.scan),
        "seconds of rounds": (fit["seconds"], model.scan + model.communication),
        "seconds of solving": (fit["driver"], model.driver),
    }
    return [{"": name, "Dask": one, "model": other} for name, (one, other) in values.items()]


def _pair_line(row: Row) -> Row:
    seconds, modelled = row["seconds"]
    return {
        "rows": row["rows"],
        "workers": row["workers"],
        "network": row["network"],
        "slowest": f"{row['slowest']:g}x",
        "rounds": _pair(row["rounds"]),
        "support vectors": _pair([round(n) for n in row["support"]]),
        "MB to each": _pair([n / 1e6 for n in row["sent"]]),
        "MB received": _pair([n / 1e6 for n in row["received"]]),
        "driver, s": _pair(row["driver"]),
        "rounds, s": _pair(row["in rounds"]),
        "fit, s": _pair(row["seconds"]),
        "model is off by": f"{100 * (modelled / seconds - 1):+.0f} %",
    }


def _pair(values: Sequence[float]) -> str:
    return " / ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in values)


def round_lines(setting: Setting, known: Constants) -> list[Row]:
    """Bytes and seconds of each round."""
    lines = []
    for step in steps_of(setting, known):
        one = cost(setting, [step])
        lines.append(
            {
                "round": step.what,
                "rows looked at": f"{step.looked_at:.2e}",
                "support vectors": f"{step.support:.2e}",
                "MB to each": one.sent / 1e6,
                "MB received": one.received / 1e6,
                "driver, s": one.driver,
                "scan, s": one.scan,
                "communication, s": one.communication,
            }
        )
    return lines


def variations(many: Setting, known: Constants) -> list[Row]:
    """The same with slower and faster machines."""
    return [
        _line(setting, known)
        for setting in (
            replace(many, slowest=SLOWEST),
            replace(many, network=replace(many.network, **FAR_AWAY)),
            replace(many, driver_threads=THREADS),
            replace(many, driver_threads=THREADS, worker_threads=THREADS),
        )
    ]


def _line(setting: Setting, known: Constants) -> Row:
    steps = steps_of(setting, known)
    whole, gathered = cost(setting, steps), gathered_bytes(setting, known)
    return {
        "rows": f"{setting.rows:.0e}",
        "threads of driver, worker": f"{setting.driver_threads}, {setting.worker_threads}",
        "slowest": f"{setting.slowest:g}x",
        "network, MB/s": f"{setting.network.bandwidth / 1e6:g}",
        "support vectors": f"{support_vectors(setting, known):.2e}",
        "rounds": len(steps),
        "GB to each": whole.sent / 1e9,
        "GB received": whole.received / 1e9,
        "driver, h": whole.driver / 3600,
        "scan, h": whole.scan / 3600,
        "communication, h": whole.communication / 3600,
        "fit, h": whole.seconds / 3600,
        "GB of rows gathered": gathered / 1e9,
        "GB of F": factor_bytes(setting, known) / 1e9,
        "GB of a worker": (shard_bytes(setting, known) + gathered) / 1e9,
    }


if __name__ == "__main__":
    main()
