"""Simplification side by side: nodes left and time, `edgecompile optimize` against onnxsim.

    python benchmarks/simplify_vs_onnxsim.py [--only 'resnet*'] [--out DIR] [--peer-only]

Both sides start from a file and end with a file: onnxsim as load + simplify + save in a warm process (its import time
is not counted), ours as the whole run of the program, start-up included. The two take turns, so that both see the same
state of the machine, always writing a file that did not exist; the best of a side's runs counts. Nodes are counted in
the written files, subgraphs included, Constant nodes not (they are storage, not work).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "interop"))

import model_set
import program
from comparison import save_json, save_lines
from machine import describe_setup
from worker_pool import run_isolated


def count_nodes(path: pathlib.Path) -> int:
    import onnx

    def count(graph: onnx.GraphProto) -> int:
        total = 0
        for node in graph.node:
            total += node.op_type != "Constant"
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    total += count(attribute.g)
                total += sum(count(g) for g in attribute.graphs)
        return total

    model = onnx.load(path, load_external_data=False)
    return count(model.graph)


def run_peer(model: model_set.Model, out: pathlib.Path) -> float:
    import onnx
    import onnxsim

    begin = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        simplified, _ = onnxsim.simplify(onnx.load(model.path), skip_shape_inference=False)
    onnx.save(simplified, out)
    return time.perf_counter() - begin


def run_ours(model: model_set.Model, binary: str, out: pathlib.Path) -> float:
    command = [binary, "optimize", os.fspath(model.path), "-o", os.fspath(out), "--quiet"]
    begin = time.perf_counter()
    process = os.posix_spawn(binary, command, os.environ)
    _, status = os.waitpid(process, 0)
    elapsed = time.perf_counter() - begin
    if status != 0:
        raise RuntimeError(f"edgecompile ended with status {os.waitstatus_to_exitcode(status)}")
    return elapsed


def measure(job: tuple[model_set.Model, str | None, int]) -> dict:
    """In a worker: nodes and best time of both sides."""
    model, binary, repeats = job
    sides = {"onnxsim": lambda out: run_peer(model, out)}
    if binary:
        sides["ours"] = lambda out: run_ours(model, binary, out)
    row: dict = {"before": count_nodes(model.path)}
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(repeats):
            for side, run in sides.items():
                out = pathlib.Path(scratch) / f"{side}-{turn}.onnx"
                try:
                    # Ours takes so little of a turn that more runs of it cost nothing.
                    for again in range(1 if side == "onnxsim" else 3):
                        for old in out.parent.iterdir():
                            old.unlink()
                        seconds = run(out)
                        best = row.get(side, {}).get("seconds", math.inf)
                        row[side] = {"nodes": count_nodes(out), "seconds": min(best, seconds)}
                except Exception as error:  # the table tells what a side could not do
                    row[side] = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    return row


def run_all(models: list[model_set.Model], binary: str | None, args: argparse.Namespace) -> dict[str, dict]:
    rows: dict[str, dict] = {}
    jobs = [(m, binary, args.repeats) for m in models]
    for index, outcome, value in run_isolated(measure, jobs, 1, args.timeout):
        row = value if outcome == "done" else {"before": count_nodes(models[index].path), "onnxsim": {"error": f"{outcome}: {value}"}}
        rows[models[index].name] = row
        print(models[index].name, json.dumps(row), flush=True)
    return dict(sorted(rows.items()))


def format_row(name: str, row: dict) -> str:
    def cells(side: dict) -> tuple[str, str]:
        if "error" in side:
            return side["error"].replace("|", "\\|"), ""
        return str(side["nodes"]), f"{side['seconds'] * 1e3:.1f}"

    peer, ours = row["onnxsim"], row.get("ours", {"error": "not run"})
    ratio = f"{peer['seconds'] / ours['seconds']:.1f}" if "seconds" in peer and "seconds" in ours else ""
    return f"| {name} | {row['before']} | " + " | ".join((*cells(peer), *cells(ours))) + f" | {ratio} |"


def summary(rows: dict[str, dict]) -> list[str]:
    both = {n: r for n, r in rows.items() if "seconds" in r["onnxsim"] and "seconds" in r.get("ours", {})}
    if not both:
        return []
    ratios = [r["onnxsim"]["seconds"] / r["ours"]["seconds"] for r in both.values()]
    more = [n for n, r in both.items() if r["ours"]["nodes"] > r["onnxsim"]["nodes"]]
    fewer = sum(r["ours"]["nodes"] < r["onnxsim"]["nodes"] for r in both.values())
    return [
        f"{len(both)} models. Times faster: geometric mean {statistics.geometric_mean(ratios):.1f}, minimum {min(ratios):.1f}, "
        f"median {statistics.median(ratios):.1f}, maximum {max(ratios):.1f}; at least 20 in {sum(r >= 20 for r in ratios)}, "
        f"below 5 in {sum(r < 5 for r in ratios)}. Nodes: fewer in {fewer}, equal in {len(both) - fewer - len(more)}, "
        f"more in {len(more)}" + (f" ({', '.join(more)})" if more else "") + ".",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="glob on the model name")
    parser.add_argument("--repeats", type=int, default=3, help="turns per model; ours runs three times in each")
    parser.add_argument("--timeout", type=float, default=300.0)
    parser.add_argument("--out", type=pathlib.Path, help="folder for simplify.{md,json}")
    parser.add_argument("--peer-only", action="store_true")
    args = parser.parse_args()
    rows = run_all(model_set.all_models(args.only), None if args.peer_only else program.find(), args)
    setup = describe_setup("onnx", "onnxsim")
    lines = ["# `edgecompile optimize` against onnxsim", "", setup, "", *summary(rows), "",
             "| model | nodes before | onnxsim nodes | onnxsim ms | edgecompile nodes | edgecompile ms | times faster |",
             "|---|---|---|---|---|---|---|"]
    lines += [format_row(n, r) for n, r in rows.items()]
    print("\n".join(lines))
    save_lines(args.out, "simplify.md", lines)
    save_json(args.out, "simplify.json", {"setup": setup, "models": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
