"""Reading PyTorch files side by side: time and memory, `edgecompile inspect` against torch.jit.load and torch.export.load.

    python benchmarks/import_vs_torch.py EDGECOMPILE [--models vit_b_16,mobilenet_v2] [--repeat 5]

Needs torch and torchvision. Models have random weights. Ours is a whole run of the program, start-up, shape inference and
the printed summary included; PyTorch's is the load alone, after `import torch`, in a process that already has it. Memory is
the peak of resident bytes: ours of the whole process, PyTorch's what the load adds. Pages of the mapped file count for
neither until they are read. The file is in the page cache for all.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "interop"))

from zoo import declare_torchvision_ops

LOAD = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
import torch
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
load = torch.jit.load if sys.argv[2] == "jit" else torch.export.load
before, times = peak(), []
for _ in range(int(sys.argv[3])):
    begin = time.perf_counter(); model = load(sys.argv[1]); times.append(time.perf_counter() - begin); del model
print(json.dumps({"seconds": min(times), "bytes": peak() - before}))
"""


def paths(name: str, folder: pathlib.Path) -> dict[str, pathlib.Path]:
    return {"jit": folder / f"{name}.pt", "export": folder / f"{name}.pt2"}


def make(name: str, folder: pathlib.Path) -> None:
    """In a process of its own: a child's peak counts from the size of its parent."""
    import torch

    library = declare_torchvision_ops()  # noqa: F841: kept while torchvision is used
    import torchvision

    model = getattr(torchvision.models, name)(weights=None).eval()
    example = torch.zeros(1, 3, 224, 224)
    files = paths(name, folder)
    torch.jit.trace(model, example, check_trace=False).save(str(files["jit"]))
    torch.export.save(torch.export.export(model, (example,)), str(files["export"]))


def ours(program: str, path: pathlib.Path, repeat: int) -> dict:
    seconds, peak = [], 0
    for _ in range(repeat):
        begin = time.perf_counter()
        process = subprocess.Popen([program, "inspect", str(path), "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        error = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            return {"error": error.decode().strip() or f"exit code {process.returncode}"}
        seconds.append(time.perf_counter() - begin)
        peak = max(peak, usage.ru_maxrss * 1024)
    return {"seconds": min(seconds), "bytes": peak}


def theirs(path: pathlib.Path, how: str, repeat: int) -> dict:
    done = subprocess.run([sys.executable, "-c", LOAD, str(path), how, str(repeat)], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.strip().splitlines()[-1]}


def row(result: dict) -> str:
    if "error" in result:
        return result["error"][:60]
    return f"{result['seconds'] * 1e3:8.1f} ms {result['bytes'] / 1e6:8.1f} MB"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("edgecompile")
    parser.add_argument("--models", default="vit_b_16,mobilenet_v2")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name in args.models.split(","):
            worker = multiprocessing.get_context("spawn").Process(target=make, args=(name, pathlib.Path(folder)))
            worker.start()
            worker.join()
            for how, path in paths(name, pathlib.Path(folder)).items():
                size = path.stat().st_size / 1e6
                mine, peer = ours(args.edgecompile, path, args.repeat), theirs(path, how, args.repeat)
                print(f"{path.name:20s} {size:7.1f} MB   edgecompile {row(mine)}   torch.{how}.load {row(peer)}", flush=True)
                failed |= "error" in mine or mine["seconds"] > peer.get("seconds", 0)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
