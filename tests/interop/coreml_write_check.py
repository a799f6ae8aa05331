#!/usr/bin/env python3
"""Packages that edgecompile writes, loaded by coremltools: every operation, its parameters and the type of every result
must be what coremltools' own type inference says.

usage: coreml_write_check.py [--edgecompile PROGRAM] [--out DIR] [MODEL...]

Without models: the ONNX backend tests of Debian (one model for each form of an operator), the models of ../shared/data
and the exported zoo, each with half and single precision. Refusals are counted by what is refused. What cannot be
loaded, or crashes, fails the check. Runs in an environment of requirements-coreml.txt.
"""

from __future__ import annotations

import argparse
import collections
import logging
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from coremltools.converters.mil.frontend.milproto.load import load as load_program  # noqa: E402
from coremltools.proto import Model_pb2  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
EXTENSIONS = (".onnx", ".tflite", ".pt2", ".pt", ".h5", ".keras", ".pb")


def models() -> list[pathlib.Path]:
    shared = pathlib.Path(os.environ.get("EC_SHARED_DATA", REPOSITORY.parent / "shared/data"))
    found = sorted(pathlib.Path("/usr/share/libonnx-testdata/data").rglob("model.onnx"))
    found += sorted(p for p in shared.rglob("*") if p.suffix in EXTENSIONS and "hostile" not in p.parts)
    found += sorted((REPOSITORY / "build/interop/zoo").rglob("*.onnx"))
    return found


def load(package: pathlib.Path) -> int:
    """The number of operations of the program, all of them type-checked."""
    # Not through coremltools.utils: opening a package there rewrites its manifest.
    spec = Model_pb2.Model()
    spec.ParseFromString((package / "Data/com.apple.CoreML/model.mlmodel").read_bytes())
    weights = package / "Data/com.apple.CoreML/weights"
    program = load_program(spec, spec.specificationVersion, file_weights_dir=str(weights))
    described = [output.name for output in spec.description.output]
    written = list(spec.mlProgram.functions["main"].block_specializations.values())[0].outputs
    if described != list(written):
        raise AssertionError(f"the interface has {described}, the program {list(written)}")
    return sum(op.op_type != "const" for op in program.functions["main"].operations)


def reason(messages: str) -> str:
    found = re.search(r"error (EC\d+: .*)", messages)
    return re.sub(r"'[^']*'", "...", found.group(1)) if found else messages.strip()[-200:]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--edgecompile", default=str(REPOSITORY / "build/bin/edgecompile"))
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    loaded, seconds, failed = 0, 0.0, []
    refused: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models or models():
            for precision in ("fp16", "fp32"):
                package = pathlib.Path(folder) / f"{loaded}.mlpackage"
                begin = time.perf_counter()
                run = subprocess.run([options.edgecompile, model, "-t", "metal", "--precision", precision, "-o", package],
                                     capture_output=True, text=True, timeout=300)
                seconds += time.perf_counter() - begin
                if run.returncode in (1, 2, 3, 5, 7):
                    refused[reason(run.stderr)] += 1
                elif run.returncode != 0:
                    failed.append(f"{model} {precision}: exit status {run.returncode}: {reason(run.stderr)}")
                else:
                    try:
                        load(package)
                        loaded += 1
                    except Exception as error:  # whatever coremltools throws is a finding
                        failed.append(f"{model} {precision}: {type(error).__name__}: {error}")
    lines = [f"coremltools loads {loaded} packages, written in {seconds:.1f} s; {sum(refused.values())} refused, {len(failed)} wrong", ""]
    lines += ["| refused | because |", "|---|---|"]
    lines += [f"| {count} | {what} |" for what, count in refused.most_common()]
    lines += [""] + failed
    print(lines[0])
    for line in failed:
        print("  " + line)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "coreml_write.md").write_text("\n".join(lines) + "\n")
    return 1 if failed or loaded == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
