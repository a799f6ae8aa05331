#!/usr/bin/env python3
"""Time and memory per node of large graphs: prints a table.

usage: scale.py EDGECOMPILE [--kinds chain,wide] [--nodes 100000,1000000] [--commands check,compile-tflite] [--limit SECONDS]

The last column is the time per node at the largest size divided by that at the smallest: 1 is linear.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import scale_graphs

COMMANDS = {
    "inspect": lambda program, model, out: [program, "inspect", model],
    "check": lambda program, model, out: [program, "check", model],
    "check-tflite": lambda program, model, out: [program, "check", model, "-t", "tflite"],
    "compile-tflite": lambda program, model, out: [program, "compile", model, "-t", "tflite", "-o", out],
}


def measure(command: list[str], limit: int) -> tuple[float, float] | str:
    """Processor seconds and MB, or why there are none. Processor time counts, so that other work on the machine does not."""
    with tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode < 0:
            return f"over {limit} s" if usage.ru_utime + usage.ru_stime >= limit - 1 else f"signal {-process.returncode}"
        if process.returncode != 0:
            err.seek(0)
            return f"exit {process.returncode}: {err.read(200).decode(errors='replace').splitlines()[0]}"
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kinds", default=",".join(scale_graphs.KINDS))
    parser.add_argument("--nodes", default="100000,1000000")
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--limit", type=int, default=300, help="processor seconds for one command")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.nodes.split(",")]
    print("| Graph | Command | " + " | ".join(f"{size:,} nodes" for size in sizes) + " | Growth per node |")
    print("|---|---|" + "---|" * (len(sizes) + 1))
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in arguments.kinds.split(","):
            models = []
            for size in sizes:
                models.append(pathlib.Path(folder) / f"{kind}_{size}.onnx")
                scale_graphs.write(models[-1], kind, size)
            for name in arguments.commands.split(","):
                cells, seconds = [], []
                for model in models:
                    result = measure(COMMANDS[name](arguments.program, str(model), f"{folder}/out.tflite"), arguments.limit)
                    if isinstance(result, str):
                        cells.append(result)
                        faults += 1
                        continue
                    seconds.append(result[0])
                    cells.append(f"{result[0]:.2f} s, {result[1]:.0f} MB")
                growth = f"{seconds[-1] / sizes[-1] * sizes[0] / seconds[0]:.2f}" if len(seconds) == len(sizes) else ""
                print(f"| {kind} | {name} | " + " | ".join(cells) + f" | {growth} |", flush=True)
            for model in models:
                model.unlink()
    return 1 if faults else 0


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
