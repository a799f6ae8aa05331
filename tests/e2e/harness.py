"""Runs the program as a user does: a fresh directory, captured streams, JSON parsed."""

from __future__ import annotations

import array
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

PROGRAM = os.environ.get("EDGECOMPILE", "edgecompile")
# A program built with sanitizers takes longer to start.
SLOWER = 10 if "ASAN_OPTIONS" in os.environ else 1


class Outcome:
    def __init__(self, process: subprocess.CompletedProcess[str]) -> None:
        self.code = process.returncode
        self.out = process.stdout
        # Built with AddressSanitizer, memory that is refused shows up in the sanitizer's words too.
        self.err = re.sub(r"==\d+==WARNING: AddressSanitizer failed to allocate .*\n", "", process.stderr)

    @property
    def json(self) -> dict:
        return json.loads(self.out)

    @property
    def result(self) -> dict:
        return self.json["result"]

    @property
    def codes(self) -> list[str]:
        """Codes of all errors, in order."""
        return [d["code"] for d in self.json["diagnostics"] if d["severity"] == "error"]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="edgecompile-e2e-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def run_program(self, *arguments: object, **options) -> Outcome:
        command = [PROGRAM, *map(str, arguments)]
        environment = {**os.environ, **options.pop("env", {})}
        return Outcome(subprocess.run(command, cwd=self.dir, capture_output=True, text=True, timeout=120,
                                      check=False, env=environment, stdin=subprocess.DEVNULL, **options))

    def good(self, *arguments: object, **options) -> Outcome:
        outcome = self.run_program(*arguments, **options)
        self.assertEqual(outcome.code, 0, outcome.err + outcome.out)
        return outcome

    def bad(self, exit_code: int, code: str, *arguments: object, **options) -> Outcome:
        """Fails as text and as JSON with the same exit code, code and a way out."""
        text = self.run_program(*arguments, **options)
        self.assertEqual(text.code, exit_code, text.err + text.out)
        self.assertIn(f"error {code}:", text.err)
        self.assertIn("hint:", text.err)
        as_json = self.run_program(*arguments, "--json", **options)
        self.assertEqual(as_json.code, exit_code)
        self.assertEqual(as_json.codes[0], code, as_json.out)
        self.assertEqual(as_json.json["exit_code"], exit_code)
        self.assertFalse(as_json.json["ok"])
        self.assertTrue(as_json.json["diagnostics"][0]["hint"], as_json.out)
        self.assertEqual(as_json.err, "")
        return text

    def write(self, name: str, content: bytes | str) -> pathlib.Path:
        path = self.dir / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def files(self) -> list[str]:
        return sorted(str(p.relative_to(self.dir)) for p in self.dir.rglob("*") if p.is_file())

    def write_npy(self, name: str, shape: tuple[int, ...], values: list[float], descr: str = "<f4") -> pathlib.Path:
        form = {"<f4": "f", "<f8": "d", "<i8": "q", "<i4": "i", "|u1": "B", "|b1": "?"}[descr]
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
        header += " " * (-(10 + len(header) + 1) % 64) + "\n"
        content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
        return self.write(name, content + struct.pack(f"<{len(values)}{form}", *values))

    def read_npy(self, path: pathlib.Path) -> tuple[dict, list[float]]:
        content = path.read_bytes()
        size = int.from_bytes(content[8:10], "little")
        header = eval(content[10 : 10 + size].decode(), {"__builtins__": {}})  # a literal, written by our program
        form = {"f4": "f", "f8": "d", "i8": "q", "i4": "i", "u1": "B", "i1": "b"}[header["descr"][1:]]
        return header, list(array.array(form, content[10 + size :]))
