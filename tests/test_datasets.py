"""Data sets by name; downloads from a server of this machine that cuts, lies and fails."""

import bz2
import email.utils
import io
import os
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from fwsvm import datasets
from fwsvm.data import read
from fwsvm.datasets import registry, transfer

TEXT = b"".join(b"%d %d:1 %d:0.5\n" % (i % 2, i % 7 + 1, i % 7 + 9) for i in range(5000))
DAY = 1_700_000_000


class Server(ThreadingHTTPServer):
    """Serves one file. ``plan`` says how each request goes: bytes before a cut, or a status."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.date, self.plan, self.requests = TEXT, DAY, [], []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/toy"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.requests.append(asked)
        step = server.plan.pop(0) if server.plan else None
        if step in (404, 500):
            self.send_error(step)
            return
        dated = email.utils.formatdate(server.date, usegmt=True) if server.date else None
        begin = int(asked[6:-1]) if asked and self.headers.get("If-Range") == dated else 0
        if begin > len(server.content):
            self.send_error(416)
            return
        self.send_response(206 if begin else 200)
        if dated:
            self.send_header("Last-Modified", dated)
        rest = server.content[begin:]
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[:step])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FWSVM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FWSVM_DATA", raising=False)
    monkeypatch.setattr(transfer, "WAITS", (0.0, 0.0))
    return tmp_path / "cache"


@pytest.fixture
def part(server, cache, monkeypatch):
    """The registry, with one set: what the server serves."""
    table = read(io.BytesIO(TEXT), n_features=16)
    part = registry.Part(
        name="toy",
        split="train",
        file="toy",
        rows=5000,
        features=16,
        classes=2,
        paper=None,
        source="here",
        url=server.url,
        checksum=datasets.content_checksum(table),
        exact=True,
        licence="none",
    )
    monkeypatch.setattr(registry, "available", lambda: (part,))
    return part


def change(monkeypatch, part, **changes):
    monkeypatch.setattr(registry, "available", lambda: (replace(part, **changes),))


@pytest.mark.usefixtures("part")
def test_download_once(server, cache):
    assert datasets.find("toy") is None
    X, y = datasets.load("toy")
    assert X.shape == (5000, 16)
    np.testing.assert_array_equal(y, np.arange(5000) % 2)
    assert datasets.find("toy") == datasets.fetch("toy") == cache / "toy"
    assert (cache / "toy").read_bytes() == TEXT
    assert server.requests == [None]


def test_packed_files_keep_their_ending(server, cache, part, monkeypatch):
    server.content = bz2.compress(TEXT)
    change(monkeypatch, part, url=server.url + ".bz2")
    assert datasets.fetch("toy") == cache / "toy.bz2"
    assert datasets.load("toy")[0].shape == (5000, 16)


@pytest.mark.usefixtures("part")
def test_a_cut_connection_is_continued(server, cache):
    server.plan = [20_000, 10_000]
    datasets.fetch("toy")
    assert (cache / "toy").read_bytes() == TEXT
    assert server.requests == [None, "bytes=20000-", "bytes=30000-"]
    assert os.listdir(cache) == ["toy"]


@pytest.mark.usefixtures("part")
def test_a_later_process_continues_too(server, cache):
    server.plan = [1000, 1000, 1000]
    with pytest.raises(
        ConnectionError, match=r"cut after 3000 of \d+ bytes. Run again to continue"
    ):
        datasets.fetch("toy")
    assert os.listdir(cache) == ["toy.part"]
    datasets.fetch("toy")
    assert server.requests[-1] == "bytes=3000-"
    assert (cache / "toy").read_bytes() == TEXT
    assert os.listdir(cache) == ["toy"]


@pytest.mark.usefixtures("part")
def test_another_version_is_not_continued(server, cache):
    server.plan = [1000, 1000, 1000]
    server.content = b"x" * 9999
    with pytest.raises(ConnectionError):
        datasets.fetch("toy")
    server.content, server.date = TEXT, DAY + 3600
    datasets.fetch("toy")
    assert (cache / "toy").read_bytes() == TEXT


@pytest.mark.usefixtures("part")
def test_without_a_date_it_begins_again(server, cache):
    server.date, server.plan = None, [1000, 1000]
    datasets.fetch("toy")
    assert server.requests == [None, None, None]
    assert os.listdir(cache) == ["toy"]


@pytest.mark.usefixtures("part")
def test_more_than_there_is_begins_again(server, cache):
    cache.mkdir()
    left = cache / "toy.part"
    left.write_bytes(TEXT + b"more")
    os.utime(left, (DAY, DAY))
    datasets.fetch("toy")
    assert server.requests == [f"bytes={len(TEXT) + 4}-", None]
    assert (cache / "toy").read_bytes() == TEXT


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TEXT.replace(b"0.5", b"0.25", 1), "its content has the checksum"),
        (TEXT[: len(TEXT) // 2], "expected 5000 rows and 2 classes, got"),
        (TEXT.replace(b"0 1:", b"3 1:"), "expected 5000 rows and 2 classes, got 5000 and 3"),
        (bz2.compress(TEXT)[:-20], "is damaged or cut short"),
        (b"<html>The page has moved</html>", "expected a finite number as the label"),
    ],
)
@pytest.mark.usefixtures("part")
def test_a_wrong_file_is_removed(content, message, server, cache):
    server.content = content
    with pytest.raises(ValueError, match=r"is not what was expected, and was removed") as error:
        datasets.fetch("toy")
    assert message in str(error.value)
    assert server.url in str(error.value)
    assert os.listdir(cache) == []
    server.content = TEXT
    assert datasets.load("toy")[0].shape == (5000, 16)


def test_only_the_shape_counts_where_other_digits_are_published(server, part, monkeypatch):
    server.content = TEXT.replace(b"0.5", b"0.25", 1)
    change(monkeypatch, part, exact=False)
    assert datasets.load("toy")[0].shape == (5000, 16)


@pytest.mark.usefixtures("part")
def test_an_error_of_the_server_is_tried_again_but_a_missing_file_is_not(server, cache):
    server.plan = [500, 500]
    datasets.fetch("toy")
    assert len(server.requests) == 3
    (cache / "toy").unlink()
    server.plan = [404]
    with pytest.raises(ConnectionError, match="404: Not Found"):
        datasets.fetch("toy")
    assert len(server.requests) == 4


def test_no_server_at_all(part, monkeypatch):
    change(monkeypatch, part, url="http://127.0.0.1:9/toy")
    with pytest.raises(ConnectionError, match="put the file into the folder that FWSVM_DATA names"):
        datasets.fetch("toy")


@pytest.mark.usefixtures("part")
def test_two_at_once(server, cache):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(datasets.fetch("toy"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [cache / "toy"] * 4
    assert os.listdir(cache) == ["toy"]


@pytest.mark.usefixtures("part")
def test_progress(server):
    server.plan = [30_000]
    calls = []
    datasets.fetch("toy", progress=lambda have, total: calls.append((have, total)))
    received = [have for have, _ in calls]
    assert received == [30_000, len(TEXT)]
    assert calls[-1] == (len(TEXT), len(TEXT))


@pytest.mark.usefixtures("part", "server")
def test_a_bar_on_a_terminal_only(cache, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for terminal in (io.StringIO(), Terminal()):
        monkeypatch.setattr("sys.stderr", terminal)
        datasets.fetch("toy")
        (cache / "toy").unlink()
        text = terminal.getvalue()
        assert ("[" + "#" * 30 + "]" in text) == terminal.isatty()


@pytest.mark.usefixtures("part")
def test_the_data_folder_comes_first_and_is_checked(server, tmp_path, monkeypatch):
    datasets.fetch("toy")
    monkeypatch.setenv("FWSVM_DATA", str(tmp_path))
    (tmp_path / "toy.bz2").write_bytes(bz2.compress(TEXT))
    assert datasets.find("toy") == tmp_path / "toy.bz2"
    (tmp_path / "toy.bz2").write_bytes(bz2.compress(TEXT[:-20]))
    with pytest.raises(ValueError, match=r"toy\.bz2 is not the train part of toy"):
        datasets.load("toy")
    assert (tmp_path / "toy.bz2").exists()


def test_place_of_the_cache(monkeypatch):
    for name in ("FWSVM_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    home = Path.home()
    for platform, expected in {
        "linux": home / ".cache" / "fwsvm",
        "darwin": home / "Library" / "Caches" / "fwsvm",
        "win32": home / "fwsvm" / "Cache",
    }.items():
        monkeypatch.setattr("sys.platform", platform)
        assert datasets.cache_folder() == expected
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert datasets.cache_folder() == Path("/xdg/fwsvm")
    monkeypatch.setenv("FWSVM_CACHE", "/mine")
    assert datasets.cache_folder() == Path("/mine")


def test_names_that_are_not_there():
    with pytest.raises(ValueError, match=r"no data set 'mushroms'. Did you mean mushrooms\?"):
        datasets.load("mushroms")
    with pytest.raises(ValueError, match=r"no data set 'zzz'. There are a1a, a2a"):
        datasets.load("zzz")
    with pytest.raises(ValueError, match=r"mushrooms has the parts train. Got 'test'"):
        datasets.load("mushrooms", "test")


@pytest.mark.usefixtures("cache")
def test_sets_that_are_not_published():
    with pytest.raises(
        FileNotFoundError, match=r"usps-ext .* from http.*/cvm\.html .* or usps-ext\.xz, into"
    ):
        datasets.load("usps-ext")


@pytest.mark.usefixtures("cache")
def test_sets_of_the_package():
    X, y = datasets.load("mushrooms")
    assert scipy.sparse.issparse(X)
    assert X.shape == (8124, 112)
    assert np.bincount(y).tolist() == [0, 3916, 4208]
    X, y = datasets.load("dna.scale")
    assert X.shape == (2000, 180)
    assert len(datasets.load("dna.scale", "test")[1]) == 1186


def test_registry():
    parts = datasets.available()
    keys = [(part.name, part.split) for part in parts]
    assert len(set(keys)) == len(keys)
    assert len({part.paper for part in parts if part.paper}) == 26
    for part in parts:
        assert part.file == part.name + (".t" if part.split == "test" else "") or "kdd" in part.name
        assert part.url is None or part.url.startswith("https://")
        assert part.source.startswith("http")
        assert part.checksum is None or len(part.checksum) == 64
        assert not part.exact or part.checksum


def test_checksum_is_of_the_content_alone():
    def checksum(text, n_features=3):
        return datasets.content_checksum(read(io.BytesIO(text), n_features=n_features))

    same = checksum(b"1 1:0.5 3:2\n-1 2:1\n")
    assert checksum(b"# rows\n+1.0 1:5e-1 2:0 3:2.0\r\n-1 2:1") == same
    for text in (
        b"1 1:0.5 3:2\n1 2:1\n",
        b"1 1:0.5 3:2\n-1 3:1\n",
        b"1 1:0.5 3:2 \n-1 2:2\n",
        b"-1 2:1\n1 1:0.5 3:2\n",
        b"1 1:0.5\n-1 2:1 3:2\n",
    ):
        assert checksum(text) != same
    assert checksum(b"1 1:0.5 3:2\n-1 2:1\n", 4) != same


SMALL = [p for p in registry.available() if p.rows * p.features < 2_000_000]
LARGE = [p for p in registry.available() if p not in SMALL]


@pytest.mark.parametrize(
    "part",
    [
        *(pytest.param(p, id=p.file) for p in SMALL[::4]),
        *(pytest.param(p, id=p.file, marks=pytest.mark.slow) for p in [*SMALL, *LARGE]),
    ],
)
def test_the_registry_says_what_is_in_the_data_folder(part, data_folder):
    path = data_folder / f"{part.file}.xz"
    if not path.exists():
        pytest.skip("not in the data folder")
    table = registry.read_checked(part, path)
    assert datasets.content_checksum(table) == part.checksum
