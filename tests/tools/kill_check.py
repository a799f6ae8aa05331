#!/usr/bin/env python3
"""Kills, cuts and overwrites during `compile`, many times at random moments, and a table of what was left.

    kill_check.py build/bin/edgecompile --kills 1000 --cuts 300 --overwrites 300

A kill must leave the output as it was before or complete, and no other file. A model that is cut or overwritten must end in an
error with a code, or in the output of one of the versions. Exit 1: one of these did not hold.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import onnx_builder as onnx


def model(version: int, channels: int, layers: int) -> bytes:
    """Convolutions whose weights tell the version; both versions have the same size."""
    source = random.Random(version)
    nodes, weights, last = [], [], "x"
    for i in range(layers):
        count = channels * channels * 9
        body = b"".join(onnx.number(1, d) for d in [channels, channels, 3, 3]) + onnx.number(2, onnx.FLOAT)
        values = [source.uniform(-0.05, 0.05) for _ in range(1021)]
        raw = struct.pack(f"<{count}f", *(values[(i * 31 + k) % 1021] for k in range(count)))
        weights.append(body + onnx.data(8, f"w{i}") + onnx.data(9, raw))
        nodes.append(onnx.node("Conv", [last, f"w{i}"], [f"c{i}"], f"conv{i}", pads=[1, 1, 1, 1], kernel_shape=[3, 3]))
        nodes.append(onnx.node("Relu", [f"c{i}"], [f"r{i}"], f"relu{i}"))
        last = f"r{i}"
    shape = [1, channels, 8, 8]
    return onnx.model(nodes, [onnx.value("x", shape)], [onnx.value(last, shape)], weights)


class Bench:
    def __init__(self, program: str, folder: pathlib.Path, arguments: list[str], output: str, seed: int) -> None:
        self.command = [program, "m.onnx", *arguments, "-o", output]
        self.folder = folder
        self.output = folder / output
        self.source = random.Random(seed)
        self.versions = [model(v, 96, 4) for v in (1, 2)]
        self.results = []
        times = []
        for content in self.versions:
            self.put(content)
            start = time.monotonic()
            subprocess.run(self.command, cwd=folder, check=True, capture_output=True)
            times.append(time.monotonic() - start)
            self.results.append(self.hash())
        self.seconds = min(times)

    def put(self, content: bytes) -> None:
        (self.folder / "m.onnx").write_bytes(content)

    def hash(self) -> str | None:
        return hashlib.sha256(self.output.read_bytes()).hexdigest() if self.output.exists() else None

    def start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(self.command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(self.source.uniform(0, 1.1 * self.seconds))
        return process

    def leftovers(self) -> list[pathlib.Path]:
        return [p for p in self.folder.iterdir() if p.name not in ("m.onnx", self.output.name)]

    def kill(self, replace: bool) -> str:
        self.put(self.versions[0])
        before = None
        if replace:
            self.output.write_text("before")
            before = self.hash()
        else:
            self.output.unlink(missing_ok=True)
        process = self.start()
        process.kill()
        process.communicate()
        left = self.leftovers()
        for path in left:
            path.unlink()
        if left:
            return "LEFTOVER"
        if self.hash() == before:
            return "as before"
        return "complete" if self.hash() == self.results[0] else "PARTIAL"

    def change(self, how: str) -> str:
        self.put(self.versions[0])
        self.output.unlink(missing_ok=True)
        process = self.start()
        with open(self.folder / "m.onnx", "r+b") as file:
            if how == "cut":
                file.truncate(self.source.randrange(len(self.versions[0])))
            else:
                file.write(self.versions[1])
        _, errors = process.communicate()
        if self.leftovers():
            return "LEFTOVER"
        if process.returncode < 0:
            return "SIGNAL " + signal.Signals(-process.returncode).name
        if process.returncode != 0:
            return "error with a code" if "error EC" in errors and "EC9" not in errors else "ERROR WITHOUT A CODE"
        return {self.results[0]: "first version", self.results[1]: "second version"}.get(self.hash(), "A MIX")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--cuts", type=int, default=300)
    parser.add_argument("--overwrites", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7, help="of the moments")
    parser.add_argument("--folder", help="where the files go; default: a temporary folder")
    options = parser.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    table = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        forms = [(["-t", "tflite"], "o.tflite"), (["-t", "cpu"], "o.ecir")]
        benches = []
        for i, (arguments, output) in enumerate(forms):
            folder = pathlib.Path(name) / str(i)
            folder.mkdir()
            benches.append(Bench(program, folder, arguments, output, options.seed))
        for i in range(options.kills):
            replace = i // 2 % 2 == 1
            table["kill -9, file replaced" if replace else "kill -9, new file"][benches[i % 2].kill(replace)] += 1
        for i in range(options.cuts):
            table["model cut"][benches[i % 2].change("cut")] += 1
        for i in range(options.overwrites):
            table["model overwritten"][benches[i % 2].change("overwrite")] += 1
    print("| What | Runs | Outcome |\n|---|---|---|")
    bad = False
    for what, outcomes in table.items():
        bad = bad or any(key.isupper() or key.startswith("SIGNAL") for key in outcomes)
        text = ", ".join(f"{count} {key}" for key, count in sorted(outcomes.items()))
        print(f"| {what} | {sum(outcomes.values())} | {text} |")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
