"""The edgecompile program, run as its users run it: what it reports, and what a model gives."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from model_set import REPOSITORY

BUILT = REPOSITORY / "build" / "bin" / "edgecompile"


class Failed(RuntimeError):
    """The program ended with an error: `errors` and `result` of its report (none if it wrote no report)."""

    def __init__(self, command: Sequence[str], status: int, output: str, messages: str) -> None:
        report = json.loads(output) if output.startswith("{") else {}
        self.result = report.get("result")
        self.errors = [d for d in report.get("diagnostics", []) if d.get("severity") == "error"]
        super().__init__("; ".join(map(_sentence, self.errors)) or f"exit status {status}: {(messages or output).strip()[-300:]}")
        self.add_note(" ".join(command))


def _sentence(error: dict) -> str:
    where = " ".join(filter(None, (error.get("code"), error.get("op_type"), error.get("node"))))
    return f"{where}: {error.get('message', '')}"


def find() -> str:
    """EC_BIN, the build folder's, or that of the PATH."""
    if "EC_BIN" in os.environ:
        return os.environ["EC_BIN"]
    return str(BUILT) if BUILT.exists() else shutil.which("edgecompile") or str(BUILT)


def report(program: str, *arguments: Any, timeout: float | None = None) -> dict:
    """The result that a command reports with --json."""
    command = [str(program), *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise Failed(command, done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)["result"]


def shape_options(shapes: Iterable[tuple[Any, Sequence[int]]]) -> list[str]:
    """Of pairs of an input, by name or position, and its shape."""
    return [text for key, shape in shapes for text in ("--input-shape", f"{key}:{'x'.join(map(str, shape))}")]


def shapes_in_order(inputs: Sequence[np.ndarray]) -> list[str]:
    return shape_options((i, value.shape) for i, value in enumerate(inputs))


def run_model(
    program: str, model: pathlib.Path, inputs: Mapping[str, np.ndarray] | Sequence[np.ndarray], *options: str, timeout: float = 600
) -> dict[str, np.ndarray]:
    """The outputs by name, in order; inputs by name, or in order."""
    with tempfile.TemporaryDirectory() as folder:
        arguments: list[str] = []
        named = inputs.items() if isinstance(inputs, Mapping) else (("", value) for value in inputs)
        for i, (name, value) in enumerate(named):
            file = f"{folder}/in{i}.npy"
            np.save(file, value)
            arguments += ["-i", f"{name}={file}" if name else file]
        outputs = report(program, "run", model, "-o", f"{folder}/out", *arguments, *options, timeout=timeout)["outputs"]
        return {output["name"]: np.load(output["file"]) for output in outputs}
