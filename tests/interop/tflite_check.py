#!/usr/bin/env python3
"""Compares every tensor of TFLite models with LiteRT's reference kernels.

    tflite_check.py [--edgecompile PATH] [--runs N] [--out DIR] [MODEL.tflite ...]

Needs ai-edge-litert. Without models: all below ../shared/data, where that folder exists. Integers
must be equal in every element; floats may differ by 1e-5 of the tensor's largest magnitude.
Exit status 1: a model differs, or does not load though LiteRT runs it.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("EC_SHARED_DATA", ROOT.parent / "shared" / "data"))
FLOAT_TOLERANCE = 1e-5
# Models whose own arithmetic blows rounding up, with the bound that they get.
EXPLAINED = {
    "nmp.tflite": (5e-4, "LOG of spectrogram sums that cancel to 4e-7 (the largest is 7): sums that agree to 1e-10 of "
                         "the largest differ by 1e-3 there, and everything after it is scaled by the minimum"),
    "hello_world_float.tflite": (1e-4, "a last layer of 16 products that cancel to one small number: the order of the "
                                       "float sums shows"),
}


def random_input(detail, shape, rng):
    dtype = detail["dtype"]
    if np.issubdtype(dtype, np.floating):
        return rng.uniform(-1, 1, shape).astype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if np.dtype(dtype).itemsize > 2:  # an index or a size, not a quantised number
        return rng.integers(0, 4, shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def input_names(interpreter):
    """Our names of the inputs by tensor index: the signature's where there is one."""
    names = {d["index"]: d["name"] for d in interpreter.get_input_details()}
    for key in list(interpreter.get_signature_list())[:1]:
        runner = interpreter.get_signature_runner(key)
        for name, detail in runner.get_input_details().items():
            if detail["index"] in names:
                names[detail["index"]] = name
    return names


class OurRun:
    """Tensors by name, from `run --all-tensors`."""

    def __init__(self, program, model, inputs, folder):
        folder = pathlib.Path(folder)
        command = [program, "run", str(model), "--all-tensors", "--json", "-o", str(folder / "out")]
        for i, (name, array) in enumerate(inputs.items()):
            np.save(folder / f"in{i}.npy", array)
            command += ["-i", f"{name}={folder / f'in{i}.npy'}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            first = json.loads(done.stdout)["diagnostics"][0] if done.stdout else {}
            raise RuntimeError(f"{first.get('op_type', '')} {first.get('code', '')}: {first.get('message', done.stderr)}")
        rows = json.loads(done.stdout)["result"]["outputs"]
        self.files = {row["name"]: row["file"] for row in rows}

    def tensor(self, name):
        return np.load(self.files[name])


def difference(ours, theirs, tolerance=FLOAT_TOLERANCE):
    """None when equal enough, else a text."""
    if ours.shape != theirs.shape and ours.size == theirs.size == 1:
        ours = ours.reshape(theirs.shape)
    if ours.shape != theirs.shape:
        return f"shape {ours.shape} instead of {theirs.shape}"
    if ours.dtype != theirs.dtype:
        return f"type {ours.dtype} instead of {theirs.dtype}"
    if np.issubdtype(theirs.dtype, np.floating):
        both_nan = np.isnan(ours) & np.isnan(theirs)
        gap = np.abs(np.where(both_nan, 0, ours.astype(np.float64) - theirs))
        largest = max(float(np.abs(np.nan_to_num(theirs)).max(initial=0)), 1e-30)
        worst = float(gap.max(initial=0))
        return None if worst <= tolerance * largest else f"off by {worst / largest:.2e} of the largest"
    wrong = int((ours != theirs).sum())
    if wrong == 0:
        return None
    gap = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
    return f"{wrong} of {ours.size} differ, by up to {int(gap.max())}"


def producers(interpreter):
    """Operator names by output tensor index."""
    return {int(o): op["op_name"] for op in interpreter._get_ops_details() for o in op["outputs"]}


def check_run(program, model, seed):
    interpreter = Interpreter(str(model), experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
                              experimental_preserve_all_tensors=True)
    interpreter.allocate_tensors()
    rng = np.random.default_rng(seed)
    names = input_names(interpreter)
    inputs = {}
    for detail in interpreter.get_input_details():
        array = random_input(detail, detail["shape"], rng)
        interpreter.set_tensor(detail["index"], array)
        inputs[names[detail["index"]]] = array
    interpreter.invoke()
    made_by = producers(interpreter)
    tolerance = EXPLAINED.get(model.name, (FLOAT_TOLERANCE,))[0]
    with tempfile.TemporaryDirectory() as folder:
        ours = OurRun(program, model, inputs, folder)
        compared, faults, unseen = 0, [], 0
        for detail in interpreter.get_tensor_details():
            if detail["index"] not in made_by:
                continue
            if detail["name"] not in ours.files:
                unseen += 1
                continue
            fault = difference(ours.tensor(detail["name"]), interpreter.get_tensor(detail["index"]), tolerance)
            compared += 1
            if fault:
                faults.append((made_by[detail["index"]], detail["name"], fault))
        return compared, unseen, faults


def loads_in_litert(model):
    try:
        Interpreter(str(model), experimental_op_resolver_type=OpResolverType.BUILTIN_REF).allocate_tensors()
        return None
    except (RuntimeError, ValueError) as error:
        return str(error).strip().splitlines()[0][:100]


def check_model(program, model, runs):
    refused = loads_in_litert(model)
    if refused:
        done = subprocess.run([program, "inspect", str(model)], capture_output=True, text=True)
        ours = "loads" if done.returncode == 0 else done.stderr.strip().splitlines()[0][-160:]
        return {"model": model.name, "status": "refused by LiteRT", "reason": refused, "ours": ours}
    result = {"model": model.name, "status": "equal", "tensors": 0, "unseen": 0, "faults": []}
    for seed in range(runs):
        try:
            compared, unseen, faults = check_run(program, model, seed)
        except RuntimeError as error:
            return {"model": model.name, "status": "fails", "reason": str(error)[:600]}
        result["tensors"] += compared
        result["unseen"] = unseen
        result["faults"] += faults
    if result["faults"]:
        result["status"] = "differs"
        result["by_operator"] = dict(Counter(f[0] for f in result["faults"]))
        result["first"] = result["faults"][0]
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--edgecompile", default=os.environ.get("EC_BIN", str(ROOT / "build" / "bin" / "edgecompile")))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out")
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    models = options.models or sorted(DATA.glob("**/*.tflite"))
    if not models:
        print(f"tflite_check: skipped, there are no models below {DATA}")
        return 0
    results = []
    for model in models:
        result = check_model(options.edgecompile, model, options.runs)
        results.append(result)
        detail = result.get("reason") or (f"{result['by_operator']}; first {result['first']}"
                                          if result["status"] == "differs"
                                          else f"{result['tensors']} tensors, {result['unseen']} not seen")
        if result["model"] in EXPLAINED:
            detail += f"; within {EXPLAINED[result['model']][0]}: {EXPLAINED[result['model']][1]}"
        if "ours" in result:
            detail += f"; here: {result['ours']}"
        print(f"{result['model']:55} {result['status']:18} {detail}", flush=True)
    if options.out:
        out = pathlib.Path(options.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "tflite_check.json").write_text(json.dumps(results, indent=1))
    bad = [r for r in results if r["status"] in ("differs", "fails")]
    print(f"tflite_check: {len(results) - len(bad)} of {len(results)} models as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
