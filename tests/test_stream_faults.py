"""Sources of rows that do not fit in memory: what fails, going on later, and memory."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from processes import MEMORY, run_python
from sklearn.exceptions import ConvergenceWarning
from svc import make_data

from fwsvm import SVC, stream
from fwsvm.stream import passes, source, survey, text

pa = pytest.importorskip("pyarrow")
from stream_files import parquet_of, text_of  # noqa: E402

N, GAMMA = 3000, 0.2


@pytest.fixture(scope="module")
def data():
    X, y = make_data(N, n_features=6)
    return X.astype(np.float32), y


# --------------------------------------------------------------------------------------- what fails


def test_bad_values_say_where_they_are(data, small_blocks, monkeypatch, tmp_path):
    X, y = data[0].copy(), data[1].astype(object)
    y[1234] = None
    file = parquet_of(tmp_path / "p.parquet", X, pa.array(list(y)), 400)
    match = "p.parquet, row group 3, rows 1 to 400 of it: row 35, column 'label'.*null"
    with pytest.raises(ValueError, match=match):
        SVC().fit(stream.parquet(file, "label"))
    X[2500, 2] = np.nan
    with pytest.raises(ValueError, match=r"p.parquet, row group 6.*'f2'.*finite.*row 101"):
        SVC().fit(stream.parquet(parquet_of(file, X, data[1], 400), "label"))
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match=r"X.npy, rows 2501 to 3000: .*NaN"):
        SVC().fit(stream.arrays(tmp_path / "X.npy", data[1]))
    lines = text_of(tmp_path / "t.libsvm", *data).read_text().split("\n")
    lines[2000] = "1 3:nonsense"
    (tmp_path / "t.libsvm").write_text("\n".join(lines))
    monkeypatch.setattr(text, "BYTES_OF_TEXT", 10_000)
    with pytest.raises(ValueError, match=r"block \d+ of .*line 2001.*nonsense"):
        SVC().fit(stream.libsvm(tmp_path / "t.libsvm"))
    X[2500, 2] = 1e30
    with pytest.raises(ValueError, match=r"X, rows 2501 to 3000: .*too large"):
        SVC(gamma=0.1, random_state=0).fit(stream.arrays(X, data[1]))
    file.write_bytes(file.read_bytes()[:-2000])
    with pytest.raises(ValueError, match=r"p.parquet: damaged"):
        stream.parquet(file, "label")


def test_a_source_that_changes_is_an_error(data, small_blocks, tmp_path):
    file = parquet_of(tmp_path / "p.parquet", *data)
    rows = stream.parquet(file, "label")
    original = rows.read

    def read(number):
        if rows.blocks_read > 20:
            os.utime(file, ns=(1, 1))
        return original(number)

    rows.read = read
    with pytest.raises(stream.ChangedSourceError, match=r"p.parquet has changed since"):
        SVC().fit(rows)
    X, y = data
    rows = stream.arrays(X, y)
    original_of_arrays, n_blocks = rows.read, len(rows._bounds)

    def others(number):
        block = original_of_arrays(number)
        if rows.blocks_read > n_blocks + 2 and block is not None:
            return stream.Block(block.X, 1 - block.y)
        return block

    rows.read = others
    with pytest.raises(stream.ChangedSourceError, match=r"rows \d+ to \d+ has changed"):
        SVC().fit(rows)


def test_a_memory_limit_that_is_too_small(data, monkeypatch):
    with pytest.raises(ValueError, match=r"at least 692 MB: .*210 for cache_size.*Got 600 MB"):
        SVC().fit(stream.arrays(*data, memory_limit="600MB"))
    for wrong in ("2 pounds", "0GB", 0, -5, 1.5, None):
        with pytest.raises(ValueError, match="bytes, or text such as '2GB'"):
            stream.arrays(*data, memory_limit=wrong)
    monkeypatch.setattr(passes, "COPIES", 1e6)
    with pytest.raises(stream.MemoryLimitError, match=r"for the [\d,]+ rows that matter"):
        SVC().fit(stream.arrays(*data, memory_limit="800MB"))
    monkeypatch.setattr(survey, "BYTES_OF_ROW", 1e5)
    with pytest.raises(stream.MemoryLimitError, match=r"its 3,000 rows so far"):
        SVC().fit(stream.arrays(*data, memory_limit="700MB"))


def test_sizes():
    sizes = {"2GB": 2 * 10**9, "500 MB": 5 * 10**8, "1.5GiB": 1.5 * 2**30, "7": 7, "1k": 1000}
    for given, wanted in sizes.items():
        assert stream.bytes_of(given) == wanted


def test_room_is_made_for_the_rows_that_matter(data, monkeypatch):
    """What was kept in memory goes, and is read instead."""
    monkeypatch.setattr(source, "BYTES_OF_BLOCK", 12_000)
    rows, original = stream.arrays(*data), passes.Passes._make_room

    def make_room(self):
        self.room = 3 * sum(gathered.nbytes for gathered in self._gathered.values()) + 1
        original(self)

    monkeypatch.setattr(passes.Passes, "_make_room", make_room)
    model = SVC(gamma=GAMMA, random_state=0).fit(rows)
    assert model.converged_
    assert rows.blocks_read > 2 * len(rows._bounds)


def test_wrong_usage(data, tmp_path):
    X, y = data
    rows = stream.arrays(X, y)
    for arguments, match in [
        ({"solver": "mfw"}, "solver='auto'"),
        ({"warm_start": True}, "checkpoint="),
        ({"kernel": "precomputed"}, "precomputed"),
    ]:
        with pytest.raises(ValueError, match=match):
            SVC(**arguments).fit(rows)
    with pytest.raises(ValueError, match="give it alone"):
        SVC().fit(rows, y)
    with pytest.raises(ValueError, match="greater than one; got 1"):
        SVC().fit(stream.arrays(X, np.zeros(N)))
    with pytest.raises(ValueError, match="no rows"):
        SVC().fit(stream.arrays(X[:0], y[:0]))
    with pytest.raises(ValueError, match="2999 values for 3000 rows"):
        stream.arrays(X, y[1:])
    with pytest.raises(ValueError, match=r"Unknown label type|continuous"):
        SVC().fit(stream.arrays(X, X[:, 0]))
    with pytest.raises(ValueError, match="needs checkpoint="):
        stream.arrays(X, y, resume=True)
    with pytest.raises(ValueError, match="only once"):
        stream.libsvm("-")
    with pytest.raises(FileNotFoundError, match="is not there"):
        stream.parquet(tmp_path / "nothing", "label")
    file = parquet_of(tmp_path / "p", X, y, name=pa.array(["a"] * N))
    with pytest.raises(ValueError, match=r"'name' must hold numbers.*columns="):
        stream.parquet(file, "label")
    assert SVC().fit(stream.parquet(file, "label", columns=["f0", "f2"])).n_features_in_ == 2
    with pytest.raises(ValueError, match="expected a column 'nope'"):
        stream.parquet(file, "nope")
    with pytest.raises(ValueError, match="expected LIBSVM text, and this is parquet"):
        SVC().fit(stream.libsvm(file))


def test_max_time_leaves_a_model(data, small_blocks):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="time"):
        model = SVC(tol=1e-9, max_time=0.05, random_state=0).fit(stream.arrays(X, y))
    assert model.status_ == ["max_time"]
    assert 0 < model.gap_[0] < 1


# ----------------------------------------------------------------------------------- going on later

DRIVER = """
import sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_stream_faults import SVC, passes, source, stream, survey
source.BYTES_OF_BLOCK, survey.PART_KEPT = 12_000, 1e-6
original, rounds = passes.Passes._look, []

def look(self, *arguments):
    rounds.append(1)
    if len(rounds) == {pause}:
        Path({folder!r}, "paused").touch()
        time.sleep(100)
    return original(self, *arguments)

passes.Passes._look = look
folder = Path({folder!r})
rows = stream.parquet(folder / "p.parquet", "label", checkpoint=folder / "ck", resume=True)
model = SVC(C=2.0, gamma=0.2, tol=1e-6, random_state=0).fit(rows)
print(len(rounds), model.gap_[0])
"""


@pytest.mark.skipif(os.name != "posix", reason="kills processes as POSIX does")
def test_a_killed_process_goes_on_from_its_checkpoint(data, tmp_path):
    X, y = data
    file = parquet_of(tmp_path / "p.parquet", X, y)

    def drive(pause):
        code = DRIVER.format(folder=str(tmp_path), tests=str(Path(__file__).parent), pause=pause)
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)

    first, ends = drive(pause=4), time.monotonic() + 60
    while not (tmp_path / "paused").exists():
        assert time.monotonic() < ends
        assert first.poll() is None
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    checkpoint = (tmp_path / "ck").read_bytes()
    second, _ = drive(pause=0).communicate(timeout=60)
    (tmp_path / "ck").unlink()
    whole, _ = drive(pause=0).communicate(timeout=60)
    (rounds, gap), (all_rounds, _) = (map(float, out.split()) for out in (second, whole))
    assert gap <= 1e-6
    assert rounds < all_rounds
    (tmp_path / "ck").write_bytes(checkpoint)
    rows = stream.parquet(file, "label", checkpoint=tmp_path / "ck", resume=True)
    with pytest.raises(ValueError, match=r"other C.*resume=False"):
        SVC(C=3.0, gamma=0.2).fit(rows)


def test_a_finished_checkpoint_is_the_model(data, small_blocks, tmp_path):
    X, y = data
    settings = {"gamma": GAMMA, "random_state": 0}
    first = SVC(**settings).fit(stream.arrays(X, y, checkpoint=tmp_path / "ck"))
    again = stream.arrays(X, y, checkpoint=tmp_path / "ck", resume=True)
    second = SVC(**settings).fit(again)
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    assert again.blocks_read <= 2 * len(again._bounds) + 1
    other = stream.arrays(X, 1 - y, checkpoint=tmp_path / "ck", resume=True)
    with pytest.raises(ValueError, match="other labels"):
        SVC(**settings).fit(other)


# ------------------------------------------------------------------------------------------- memory

PEAK = """
import sys
sys.path.insert(0, {benchmarks!r})
from out_of_core import write
from fwsvm import SVC, stream

if sys.argv[1:] == ["write"]:
    write({file!r}, 3_000_000)
else:
    forget_peak()
    rows = stream.parquet({file!r}, "label", memory_limit={limit})
    model = SVC(random_state=0).fit(rows)
    print(megabytes("VmHWM"), model.gap_[0], rows.blocks_read)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux counts so")
def test_memory_stays_within_its_limit(tmp_path):
    limit = 720_000_000
    benchmarks = str(Path(__file__).parents[1] / "benchmarks")
    code = MEMORY + PEAK.format(
        benchmarks=benchmarks, file=str(tmp_path / "rows.parquet"), limit=limit
    )
    run_python("import sys; sys.argv.append('write')\n" + code)
    peak, gap, blocks_read = map(float, run_python(code, timeout=300).split())
    assert gap <= 1e-3
    assert peak * 2**20 < limit
    assert blocks_read > 100
    assert (tmp_path / "rows.parquet").stat().st_size > 0.5 * limit - 1e7
