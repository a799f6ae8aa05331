"""The stubs agree with the native module, and the package passes the type checker (where mypy is installed)."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("mypy")
PYTHON = pathlib.Path(__file__).resolve().parents[1]


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_match_the_module():
    run("mypy.stubtest", "edgecompiler._native", "--allowlist", str(PYTHON / "stubtest_allowlist.txt"), "--ignore-unused-allowlist")


def test_package_is_typed():
    run("mypy", "--strict", "--cache-dir=/dev/null", str(PYTHON / "edgecompiler"))
