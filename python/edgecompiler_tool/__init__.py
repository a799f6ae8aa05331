"""Starts the `edgecompile` program of the package.

A package of its own, so that the command does not wait for `edgecompiler` to load numpy and its native module.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys


def program() -> pathlib.Path:
    """The path of the packaged program."""
    spec = importlib.util.find_spec("edgecompiler")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the package edgecompiler is not installed")
    return pathlib.Path(spec.origin).parent / "bin" / "edgecompile"


def main() -> None:
    path = os.fspath(program())
    os.execv(path, [path, *sys.argv[1:]])
