"""The stubs agree with the native module, and the package passes the type checker (where mypy is installed)."""

import os
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
    run("mypy.stubtest", "edgecompiler._jobs")
    run("mypy.stubtest", "edgecompiler._native", "--allowlist", str(PYTHON / "stubtest_allowlist.txt"), "--ignore-unused-allowlist")


def test_package_is_typed():
    run("mypy", "--strict", "--cache-dir=/dev/null", str(PYTHON / "edgecompiler"))


def test_misspelt_option_fails_the_type_checker(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import edgecompiler\nedgecompiler.compile("m.onnx", "t", quantize="ptq", num_calibration_samples=3)\n')
    environment = {**os.environ, "MYPYPATH": str(PYTHON)}
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null", str(wrong)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    wrong.write_text(wrong.read_text().replace("quantize=", "quantise="))
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode != 0 and "quantise" in done.stdout, done.stdout + done.stderr


def test_reports_have_types(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import edgecompiler\n"
        "from edgecompiler.reports import CheckReport, CompileReport, ModelSummary, PlacementReport\n"
        'one: PlacementReport = edgecompiler.check("m.onnx", "t")\n'
        'every: CheckReport = edgecompiler.check("m.onnx")\n'
        'latency: float = every["targets"][0]["estimate"]["latency_ms"]\n'
        'summary: ModelSummary = edgecompiler.inspect("m.onnx")\n'
        'report: CompileReport = edgecompiler.compile("m.onnx").report\n'
        'size: int = report["artifacts"][0]["bytes"]\n'
    )
    environment = {**os.environ, "MYPYPATH": str(PYTHON)}
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    program.write_text(program.read_text().replace('"latency_ms"', '"latency"'))
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode != 0 and "latency" in done.stdout, done.stdout + done.stderr
