#!/usr/bin/env python3
"""Compares every tensor of TFLite models with LiteRT's reference kernels.

    tflite_check.py [--runs N] [--images N] [--workers N] [--out DIR] [MODEL.tflite ...]

Needs ai-edge-litert and the edgecompiler package. Without models: all below ../shared/data, where that folder exists.
Inputs: N random ones, and images for models that take some (all in ../shared/data/images, then --images N of the
labelled sets). Integers must be equal in every element; floats may differ by 1e-5 of the tensor's largest magnitude.
Exit status 1: a model differs, or does not load though LiteRT runs it.
"""
from __future__ import annotations

import argparse
import pathlib
import sys
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np

import comparison
import litert
import model_set
from worker_pool import run_isolated

FLOAT_TOLERANCE = 1e-5
# Models whose own arithmetic blows rounding up, with the bound that they get.
EXPLAINED = {
    "nmp.tflite": (5e-4, "LOG of spectrogram sums that cancel to 4e-7 (the largest is 7): sums that agree to 1e-10 of "
                         "the largest differ by 1e-3 there, and everything after it is scaled by the minimum"),
    "kws_float.tflite": (2e-2, "8-bit weights times inputs that are quantised at each layer: a float that differs in its "
                               "last bit may round to the next of 255 steps"),
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


def image_files(count: int) -> list[pathlib.Path]:
    """All single images, then `count` from each labelled set, spread over its classes."""
    root = model_set.shared_data()
    found = sorted(p for p in (root / "images").glob("*") if p.suffix in (".bmp", ".jpg", ".png"))
    for folder in (root / "imagenet1000", root / "cifar10" / "test"):
        every = sorted(p for p in folder.rglob("*") if p.suffix in (".jpg", ".png"))
        found += every[:: max(1, len(every) // count)][:count] if count else []
    return found


def as_input(path: pathlib.Path, detail) -> np.ndarray:
    from PIL import Image

    _, height, width, channels = detail["shape"]
    image = Image.open(path).convert("L" if channels == 1 else "RGB").resize((int(width), int(height)))
    pixels = np.asarray(image, dtype=np.float32).reshape(detail["shape"])
    if detail["dtype"] == np.int8:
        return (pixels - 128).astype(np.int8)
    return (pixels / 127.5 - 1).astype(np.float32) if detail["dtype"] == np.float32 else pixels.astype(detail["dtype"])


def takes_images(details) -> bool:
    shape = details[0]["shape"]
    return len(details) == 1 and len(shape) == 4 and shape[0] == 1 and shape[3] in (1, 3) and min(shape[1:3]) >= 16


def input_sets(interpreter, runs: int, images: int):
    details = interpreter.get_input_details()
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        yield [random_input(d, d["shape"], rng) for d in details]
    if takes_images(details):
        for path in image_files(images):
            yield [as_input(path, details[0])]


def check_run(interpreter, session, values, tolerance):
    """Number of tensors compared, number not seen, faults as (operator, tensor, text)."""
    interpreter.reset_all_variables()
    names = input_names(interpreter)
    feeds = {}
    for detail, array in zip(interpreter.get_input_details(), values):
        interpreter.set_tensor(detail["index"], array)
        feeds[names[detail["index"]]] = array
    interpreter.invoke()
    made_by = producers(interpreter)
    ours = session.run_all_tensors(feeds)
    compared, unseen, faults = 0, 0, []
    for detail in interpreter.get_tensor_details():
        if detail["index"] not in made_by:
            continue
        if detail["name"] not in ours:
            unseen += 1
            continue
        fault = difference(ours[detail["name"]], interpreter.get_tensor(detail["index"]), tolerance)
        compared += 1
        if fault:
            faults.append((made_by[detail["index"]], detail["name"], fault))
    return compared, unseen, faults


def loads_in_litert(model):
    try:
        litert.open_model(model)
        return None
    except (RuntimeError, ValueError) as error:
        return str(error).strip().splitlines()[0][:100]


def open_ours(model):
    """The session, or the reason why there is none."""
    from edgecompiler.errors import EdgeCompilerError
    from edgecompiler.runtime import InferenceSession

    try:
        return InferenceSession(str(model), optimize=False, reference=True), ""
    except EdgeCompilerError as error:
        return None, " ".join(str(error).split())[:300]


def check_model(job):
    """In a worker."""
    model, runs, images = job
    session, reason = open_ours(model)
    refused = loads_in_litert(model)
    if refused:
        ours = "loads" if session else reason
        return {"model": model.name, "status": "refused by LiteRT", "reason": refused, "ours": ours}
    if session is None:
        return {"model": model.name, "status": "fails", "reason": reason}
    result = {"model": model.name, "status": "equal", "inputs": 0, "tensors": 0, "unseen": 0, "faults": []}
    tolerance = EXPLAINED.get(model.name, (FLOAT_TOLERANCE,))[0]
    interpreter = litert.open_model(model, experimental_preserve_all_tensors=True)
    for values in input_sets(interpreter, runs, images):
        compared, unseen, faults = check_run(interpreter, session, values, tolerance)
        result["inputs"] += 1
        result["tensors"] += compared
        result["unseen"] = unseen
        result["faults"] += faults
    if result["faults"]:
        result["status"] = "differs"
        result["by_operator"] = dict(Counter(f[0] for f in result["faults"]))
        result["first"] = result["faults"][0]
    return result


def detail_of(result) -> str:
    if "reason" in result:
        return result["reason"] + (f"; here: {result['ours']}" if "ours" in result else "")
    text = f"{result['inputs']} inputs, {result['tensors']} tensors, {result['unseen']} not seen"
    if result["status"] == "differs":
        text += f"; {result['by_operator']}, first {result['first']}"
    if result["model"] in EXPLAINED:
        text += f"; within {EXPLAINED[result['model']][0]}: {EXPLAINED[result['model']][1]}"
    return text


def unequal_operators(results) -> list[str]:
    """The table of operators that are not equal, or not within the usual tolerance, with the reason."""
    rows = [f"{name}: {count} tensors of {r['model']} differ" for r in results for name, count in r.get("by_operator", {}).items()]
    seen = {r["model"] for r in results}
    return rows + [f"floats of {model}: within {bound}, {why}" for model, (bound, why) in EXPLAINED.items() if model in seen]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--images", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    models = options.models or sorted(model_set.shared_tflite_files(), key=lambda p: -p.stat().st_size)
    if not models:
        print(f"tflite_check: skipped, there are no models below {model_set.shared_data()}")
        return 0
    jobs = [(model, options.runs, options.images) for model in models]
    results = []
    for index, state, value in run_isolated(check_model, jobs, options.workers, timeout=900):
        result = value if state == "done" else {"model": models[index].name, "status": "fails", "reason": f"{state} {value}"}
        results.append(result)
        print(f"{result['model']:55} {result['status']:18} {detail_of(result)}", flush=True)
    print("operators that are not equal:", *(unequal_operators(results) or ["none"]), sep="\n  ")
    comparison.save_json(options.out, "tflite_check.json", sorted(results, key=lambda r: r["model"]))
    bad = [r for r in results if r["status"] in ("differs", "fails")]
    print(f"tflite_check: {len(results) - len(bad)} of {len(results)} models as they should be, "
          f"{sum(r.get('inputs', 0) for r in results)} runs, {sum(r.get('tensors', 0) for r in results)} tensors")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
