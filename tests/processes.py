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
