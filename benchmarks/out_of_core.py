"""SVC on a Parquet file that is larger than the memory it may use.

    python benchmarks/out_of_core.py [--rows 1000000 10000000] [--memory-limit 2GB]

The file has 30 float32 features of overlapping clusters; it is made in a temporary folder and
removed at the end. Each fit has a process of its own, whose peak of resident memory is measured.
"passes" are blocks read, in files; "solve" and "scan" are parts of the fit's seconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from runner import report

FEATURES, CLUSTERS, DISTANCE = 30, 12, 1.5
ROWS_OF_GROUP = 250_000

FIT = """
import json, sys, time
import fwsvm
from fwsvm.cli.train import peak_memory_mb

before = peak_memory_mb()
source = fwsvm.stream.parquet(sys.argv[1], "label", memory_limit=sys.argv[2])
model = fwsvm.SVC(C=1.0, random_state=0, n_jobs=int(sys.argv[3])).fit(source)
last = model.trace_[0][-1]
n_blocks = len(source._spans)
print(json.dumps({
    "peak MB": peak_memory_mb(),
    "fit seconds": model.fit_time_,
    "solve": last.solve_seconds,
    "scan": last.scan_seconds,
    "passes": source.blocks_read / n_blocks,
    "support vectors": int(model.n_support_.sum()),
    "gap": float(model.gap_.max()),
}))
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    options.add_argument("--memory-limit", default="2GB")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--name", default="out_of_core", help="of the file of results")
    chosen = options.parse_args()
    rows = [measure(n, chosen.memory_limit, chosen.threads) for n in chosen.rows]
    report(chosen.name, rows)


def measure(n_rows: int, memory_limit: str, threads: int) -> dict[str, Any]:
    """A line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        write(file, n_rows)
        command = [sys.executable, "-c", FIT, str(file), memory_limit, str(threads)]
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        size = file.stat().st_size / 1e6
    return {"rows": n_rows, "file MB": size, "limit": memory_limit, **json.loads(run.stdout)}


def write(file: Path, n_rows: int, seed: int = 0) -> None:
    """Normal clusters that overlap, half of them of each class."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    centres = DISTANCE * rng.standard_normal((CLUSTERS, FEATURES)).astype(np.float32)
    names = [*(f"f{k}" for k in range(FEATURES)), "label"]
    writer = None
    for begin in range(0, n_rows, ROWS_OF_GROUP):
        cluster = rng.integers(CLUSTERS, size=min(ROWS_OF_GROUP, n_rows - begin))
        X = rng.standard_normal((len(cluster), FEATURES), dtype=np.float32) + centres[cluster]
        table = pa.table([*X.T, (cluster % 2).astype(np.int8)], names=names)
        writer = writer or pq.ParquetWriter(file, table.schema, use_dictionary=False)
        writer.write_table(table)
    if writer is not None:
        writer.close()


if __name__ == "__main__":
    main()
