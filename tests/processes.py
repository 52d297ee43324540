"""Runs Python code in a fresh process."""

import os
import subprocess
import sys


def run_python(code, *, timeout=120, **environment):
    """Output of the code; its errors fail the test with what it printed."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


# For code that runs so: `megabytes("VmRSS")` is the memory at hand, `megabytes("VmHWM")` the peak
# since `forget_peak()`. Linux only.
MEMORY = """
import re
from pathlib import Path

def megabytes(field):
    status = Path("/proc/self/status").read_text()
    return int(re.search(field + r":\\s+(\\d+) kB", status)[1]) / 1024

def forget_peak():
    Path("/proc/self/clear_refs").write_text("5")
"""
