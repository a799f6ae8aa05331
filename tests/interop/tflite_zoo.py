"""Compiles every model of the set to a .tflite file and compares LiteRT's results with ONNX Runtime's.

    python tests/interop/tflite_zoo.py [--only 'mobilenet*'] [--out DIR]

Per model: compilation by the program, the file run by LiteRT (its reference kernels and its default ones), max abs error
over max abs output of the worst output, operators and TRANSPOSE among them. The bound is 1e-4. A pure CNN must have no
TRANSPOSE. Exit status 0 only if everything holds.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np

import comparison
import litert
import model_set
import program
from engines import ort_session
from worker_pool import run_isolated
from zoo_check import relative_error

BOUND = 1e-4
ABSENT = "no such kernel"
# Models known to lie above the bound, with the error they may not exceed and the reason.
KNOWN_ABOVE: dict[str, float] = {
    # Ill-conditioned: ONNX Runtime's own results differ by 0.7e-4 between its optimised and its plain graph.
    "fcn_resnet50-legacy-op13": 2e-4,
}
# Models whose results under the reference kernels are not compared, with the reason.
NOT_WITH_REFERENCE = {
    "levit_128s-legacy-op12": "random weights give logits of several hundred: softmax turns the last bit of a sum into 1e-3 of a weight",
}
# Models that keep transposes because they are no pure CNNs: attention, token mixing, sequences.
MAY_TRANSPOSE = (
    "BiGru", "CausalDecoder", "ElmanRnn", "Encoder", "LstmTagger", "SpatialTransformer", "TwoTower", "DynamicFull", "cait", "coat",
    "convit", "crossvit", "deit", "edgenext", "efficientformer", "efficientvit", "gmlp", "levit", "maxvit", "mixer", "mobilevit",
    "GroupNormBlock", "shared-vit", "pit_ti", "pvt", "resmlp", "swin", "tiny_vit", "vit_", "xcit", "magika", "fastvit",
)


def channels_last(value: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(value, 1, -1))


def compile_tflite(model: model_set.Model, output: pathlib.Path) -> dict:
    shapes = program.shape_options((value.name, value.shape) for value in model.inputs) if model.dynamic else []
    start = time.perf_counter()
    result = program.report(program.find(), model.path, "-t", "tflite", "-o", output, *shapes)
    return {**result, "seconds": time.perf_counter() - start}


def run_litert(path: pathlib.Path, feeds: dict[str, np.ndarray], layouts: dict, outputs: list[str], reference: bool) -> list[np.ndarray]:
    given = {name: channels_last(value) if f"input.{name}" in layouts else value for name, value in feeds.items()}
    results = litert.run_signature(litert.open_model(path, reference, allocate=False, num_threads=2), given)
    return [np.moveaxis(results[n], -1, 1) if f"output.{n}" in layouts else results[n] for n in outputs]


def check_model(model: model_set.Model) -> dict:
    """In a worker."""
    feeds = model.feeds()
    session = ort_session(model.path, threads=2)
    expected = session.run(None, feeds)
    names = [output.name for output in session.get_outputs()]
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "model.tflite"
        try:
            report = compile_tflite(model, file)
        except RuntimeError as error:
            return {"failed": str(error)}
        layouts = report.get("interface_layouts", {})
        result = {
            "operators": report["num_operators"],
            "transposes": report["operators"].get("TRANSPOSE", 0),
            "seconds": report["seconds"],
            "counts": report["operators"],
        }
        for column, reference in (("reference", True), ("default", False)):
            try:
                result[column] = relative_error(run_litert(file, feeds, layouts, names, reference), expected)
            except Exception as error:  # the runtime's own message is the finding
                text = f"{type(error).__name__}: {error}"[:300]
                # The set of reference kernels lacks some operators (ELU, BROADCAST_TO) altogether.
                absent = reference and "Didn't find op for builtin opcode" in text
                result[column] = ABSENT if absent else text
    return result


def is_cnn(name: str) -> bool:
    return not name.startswith(MAY_TRANSPOSE)


def faults_of(name: str, result: dict) -> list[str]:
    if "failed" in result:
        return [result["failed"]]
    limit = KNOWN_ABOVE.get(name, BOUND)
    faults = []
    for column in ("reference", "default"):
        value = result[column]
        if value == ABSENT or (column == "reference" and name in NOT_WITH_REFERENCE):
            continue
        if not isinstance(value, float) or not value <= limit:
            faults.append(f"{column}: {value if isinstance(value, str) else f'{value:.1e}'}")
    if is_cnn(name) and result["transposes"] > 0:
        faults.append(f"{result['transposes']} TRANSPOSE in a CNN")
    return faults


def table(results: dict[str, dict]) -> list[str]:
    lines = ["# .tflite files run by LiteRT against ONNX Runtime", ""]
    lines += [f"Max abs error over max abs output, worst output; the bound is {BOUND:g}.", ""]
    lines += ["| model | reference kernels | default kernels | operators | TRANSPOSE | compile s |", "|---|---|---|---|---|---|"]
    for name, r in results.items():
        if "failed" in r:
            lines.append(f"| {name} | {r['failed']} | | | | |".replace("\n", " "))
            continue
        cells = [f"{r[c]:.1e}" if isinstance(r[c], float) else str(r[c]) for c in ("reference", "default")]
        lines.append(f"| {name} | {cells[0]} | {cells[1]} | {r['operators']} | {r['transposes']} | {r['seconds']:.2f} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", help="names or patterns of models")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/interop/results"))
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    try:
        import ai_edge_litert  # noqa: F401
    except ImportError:
        print("skipped: ai-edge-litert is not installed")
        return 0
    models = model_set.all_models(arguments.only)
    results: dict[str, dict] = {}
    failed = 0
    for index, state, value in run_isolated(check_model, models, arguments.workers, timeout=300):
        name = models[index].name
        results[name] = value if state == "done" else {"failed": f"{state} {value}"}
        faults = faults_of(name, results[name])
        failed += bool(faults)
        print(f"{'FAIL' if faults else 'ok  '} {name}" + (": " + "; ".join(faults)[:400] if faults else ""), flush=True)
    ordered = {name: results[name] for name in sorted(results)}
    comparison.save_lines(arguments.out, "tflite_zoo.md", table(ordered))
    comparison.save_json(arguments.out, "tflite_zoo.json", ordered)
    print(f"{len(models) - failed} of {len(models)} models hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
