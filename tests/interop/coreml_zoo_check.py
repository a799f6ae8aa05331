#!/usr/bin/env python3
"""Whole networks as Core ML packages: architectures of torchvision and timm in the forms that PyTorch writes, and every real model of
../shared/data. Each package is loaded by coremltools, whose type inference must agree for every operation, is read back and run by
edgecompile, and must compute what the model's own runtime computes.

usage: coreml_zoo_check.py [--edgecompile PROGRAM] [--subset] [--only PATTERNS] [--evaluate MILRUN] [--keep DIR] [--out DIR]
       --subset: one architecture of every kind and all real models; --evaluate: the folder of milrun.py, which evaluates packages op by
       op through coremltools, every result rounded to its declared type: the same comparison with that

Runs in an environment of requirements-coreml.txt; --peers and --tensorflow name the Python of the environments with ONNX Runtime and
LiteRT, and with TensorFlow.
"""

from __future__ import annotations

import gc
import json
import logging
import pathlib
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import numpy as np  # noqa: E402

import comparison  # noqa: E402
import coreml_write_check  # noqa: E402
import coreml_zoo_list  # noqa: E402
import program  # noqa: E402

# Of the largest output.
BOUND = {"fp32": 1e-4, "fp16": 5e-3}
# Half precision in front of a rounding to 8 bits may turn it: coreml_read_check.py has the same for recorded packages.
INTEGER_STEP = 1e-2
# What may be refused, with the words that the refusal must have.
REFUSED: dict[str, str] = {
    "torchscript/control_scripted.pt": "if:",
    "torch213/cond.pt2": "if:",
    "torch213/mutated_buffer.pt2": "read_state",
    "torch213/mutated_buffer_dec.pt2": "read_state",
    # Scales that only the run knows.
    "torchscript/dynamic_linear_traced.pt": "a cast of integers that wraps around",
    "torch213/ptq_dynamic.pt2": "a cast of integers that wraps around",
    "torch213/dynamic_lstm_traced.pt": "a scale or zero point that is computed",
    "coral/keras_lstm_mnist_ptq.tflite": "read_state",
    "tflm/trained_lstm.tflite": "read_state",
    "tflm/trained_lstm_int8.tflite": "read_state",
    # The ONNX exporter's loops over lists, which the reader refuses; the traced archive is a package.
    "mvit_v1_b": "is a sequence",
}
# What the source's own side cannot run here.
NOT_RUN = {
    "tflm/person_detect.tflite": "LiteRT refuses the axis of its scales",
    "s3d": "PyTorch needs pictures of 224 pixels for it",
}
# Above the bound for a reason that is not the package's; with the error that they may not exceed.
EXPLAINED: dict[tuple[str, str], tuple[float, str]] = {
    ("fcn_resnet50", "fp32"): (2e-4, "ONNX Runtime's own results differ by 0.7e-4 between its optimised and its plain graph"),
    ("mlperf_tiny/kws_float.tflite", "fp32"): (2e-2, "8-bit weights times inputs that LiteRT quantises at each layer"),
    # Bounds set after the figures were seen.
    ("onnx/mobilenet_v2_1.0_224.onnx", "fp16"): (7e-2, "a softmax over noise: weights in half precision alone move it so, in TFLite's float16 files too"),
    ("mlperf_tiny/ad01_int8.tflite", "fp16"): (3e-2, "roundings to 8 bits turn over ten layers; in single precision it is equal"),
    ("tflm/hello_world_int8.tflite", "fp16"): (3e-2, "roundings to 8 bits turn, steps of the output; in single precision it is equal"),
    **{(f"basic_pitch/{name}", "fp16"): (6e-2, "logarithms of spectra that cancel; with --min-sqnr 50 and a sample it is 2.8e-3")
       for name in ("nmp", "nmp.onnx", "nmp.tflite")},
}


def as_feature(value: np.ndarray) -> np.ndarray:
    """As interfaces of packages have it: floats, integers of 32 bits, at least one dimension."""
    value = np.atleast_1d(value)
    if value.dtype == np.bool_ or value.dtype == np.float64:
        return value.astype(np.float32)
    return value.astype(np.int32) if value.dtype.kind in "iu" else value


def worst_error(got: list[np.ndarray], want: list[np.ndarray]) -> float:
    """Relative to the largest value of the output, or a thousandth of the largest one where it is all but zero."""
    if len(got) != len(want):
        raise AssertionError(f"{len(got)} outputs, expected {len(want)}")
    worst, features = 0.0, [as_feature(b) for b in want]
    largest_of = [float(np.abs(b[np.isfinite(b)]).max(initial=0.0)) for b in features]
    for a, b, own in zip(got, features, largest_of):
        if a.shape != b.shape and a.size != b.size:
            raise AssertionError(f"shape {a.shape}, expected {b.shape}")
        a, b = a.reshape(-1).astype(np.float64), b.reshape(-1).astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        largest = max(own, 1e-3 * max(largest_of)) or 1.0
        error = float(np.abs(np.where(same, 0.0, a - b)).max(initial=0.0)) / largest
        worst = max(worst, error) if error == error else float("inf")
    return worst


def compile_model(binary: str, model: pathlib.Path, inputs: list[np.ndarray], output: pathlib.Path, *options: str) -> dict:
    shapes = program.shapes_in_order(inputs)
    try:
        return program.report(binary, "compile", model, *options, "-o", output, *shapes, timeout=600)
    except program.Failed as failure:
        if not any(error.get("code") == "EC2002" for error in failure.errors) and "shape" not in str(failure):
            raise
        return program.report(binary, "compile", model, *options, "-o", output, timeout=600)  # its sizes are fixed otherwise


def integer_session_error(binary: str, case: coreml_zoo_list.Case, model: pathlib.Path, inputs, wanted, folder: pathlib.Path) -> float:
    """What our integer session of the same model is off."""
    if case.as_stored:
        stored, real = case.as_stored()
        return worst_error(real(list(program.run_model(binary, model, stored).values())), wanted)
    file = folder / "integer.tflite"
    compile_model(binary, model, inputs, file, "-t", "tflite", "--keep-io-layout")
    return worst_error(list(program.run_model(binary, file, inputs).values()), wanted)


def measured_cost(report: dict) -> float | None:
    """What the compiler itself measured on its random inputs."""
    costs = (report.get("placement") or {}).get("costs") or []
    return max((o["largest_error"] for c in costs for o in c["outputs"]), default=None)


def check(binary: str, case: coreml_zoo_list.Case, folder: pathlib.Path, evaluate) -> list[dict]:
    model, inputs, wanted = case.make()
    base = {"name": case.name, "group": case.group, "file": model.name, "integers": case.integers}
    rows = []
    for precision, bound in BOUND.items():
        row, package = {**base, "precision": precision}, folder / f"{precision}.mlpackage"
        rows.append(row)
        try:
            report = compile_model(binary, model, inputs, package, "-t", "metal", "--precision", precision)
        except program.Failed as failure:
            row.update(ok=case.name in REFUSED and REFUSED[case.name] in str(failure), refused=str(failure)[:400])
            continue
        try:
            row["operations"] = coreml_write_check.load(package)
            features = [as_feature(x) for x in inputs]
            row["error"] = worst_error(list(program.run_model(binary, package, features).values()), wanted)
            row["told"] = measured_cost(report)
            if evaluate:
                try:
                    row["evaluated"] = worst_error(evaluate(str(package), features)[1], wanted)
                except NotImplementedError as missing:
                    row["not_evaluated"] = str(missing)
            limit = EXPLAINED.get((case.name, precision), (bound, ""))[0]
            if case.integers and row["error"] > limit:
                # Roundings that fall the other way are steps of 8 bits: no further off than our integer file may be.
                row["integer_session"] = integer_session_error(binary, case, model, inputs, wanted, folder)
                limit = max(limit, row["integer_session"] + INTEGER_STEP)
            if precision == "fp16" and case.halved and row["error"] > limit:
                # Random weights may blow rounding up: then PyTorch is as far off with nothing but its weights rounded.
                row["source_halved"] = worst_error(case.halved(), wanted)
                limit = max(limit, 1.5 * row["source_halved"])
            row["ok"] = row["error"] <= limit
        except Exception as error:  # whatever coremltools or the program throws is a finding
            row.update(ok=False, wrong=f"{type(error).__name__}: {error}"[:600])
    return rows


def table(rows: list[dict]) -> list[str]:
    names = {r["name"] for r in rows}
    loaded = sum("operations" in r for r in rows)
    lines = ["# Networks as Core ML packages", "",
             f"{len(names)} models in single and in half precision: {loaded} packages that coremltools loads, {sum(r['ok'] for r in rows)} of "
             f"{len(rows)} within {BOUND['fp32']:g} (fp32) and {BOUND['fp16']:g} (fp16) of the largest output, where "
             "the source itself keeps that: networks marked * are further off in PyTorch as well when nothing but its weights is rounded to half "
             f"precision (ours at most 1.5 times as far), integer networks marked ° are as far off as our integer session and at most {INTEGER_STEP:g} (one step) beyond it.", "",
             "| model | from | file | operations | fp32 | fp16 |", "|---|---|---|---|---|---|"]
    for name in dict.fromkeys(r["name"] for r in rows):
        both = {r["precision"]: r for r in rows if r["name"] == name}
        first = next(iter(both.values()))
        cells = [f"{r['error']:.1e}{'*' * ('source_halved' in r)}{'°' * ('integer_session' in r)}" if "error" in r else "refused" if "refused" in r else "wrong" for r in both.values()]
        lines.append(f"| {name} | {first['group']} | {first['file']} | {first.get('operations', '')} | " + " | ".join(cells) + " |")
    return lines + ["", *(f"- {r['name']} {r['precision']}: {str(r.get('refused') or r.get('wrong') or r.get('error'))[:160]}" for r in rows
                         if "refused" in r or "wrong" in r or not r["ok"])]


def main() -> int:
    parser = comparison.parser(__doc__)
    parser.add_argument("--subset", action="store_true")
    parser.add_argument("--only", default="", help="names or patterns, separated by commas")
    parser.add_argument("--evaluate", type=pathlib.Path)
    environments = coreml_write_check.REPOSITORY / "build" / "interop"
    parser.add_argument("--keep", type=pathlib.Path, default=environments / "torch-archives")
    parser.add_argument("--peers", type=pathlib.Path, default=environments / "peers/bin/python")
    parser.add_argument("--tensorflow", type=pathlib.Path, default=environments / "tensorflow/bin/python")
    options = parser.parse_args()
    import tempfile

    import torch

    torch.set_num_threads(1)
    evaluate = None
    if options.evaluate:
        sys.path.insert(0, str(options.evaluate))
        import milrun

        evaluate = milrun.run
    library = coreml_zoo_list.declare_operators()
    options.keep.mkdir(parents=True, exist_ok=True)
    only = [p for p in options.only.split(",") if p] or ([*coreml_zoo_list.SUBSET, "*/*"] if options.subset else [])
    rows: list[dict] = []
    started = time.monotonic()
    for case in coreml_zoo_list.all_cases(options.keep, options.peers, options.tensorflow, only):
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = check(options.edgecompile, case, pathlib.Path(folder), evaluate)
            except Exception as error:
                found = [{"name": case.name, "group": case.group, "file": "", "precision": "", "ok": case.name in NOT_RUN,
                          "wrong": f"{type(error).__name__}: {error}"[:400]}]
        rows += found
        for row in found:
            print(json.dumps(row, default=comparison.plain), flush=True)
        gc.collect()
    del library
    comparison.save_json(options.out, "coreml_zoo.json", rows)
    comparison.save_lines(options.out, "coreml_zoo.md", table(rows))
    print(f"coreml zoo: {sum(r['ok'] for r in rows)} of {len(rows)} packages of {len({r['name'] for r in rows})} models agree, {time.monotonic() - started:.0f} s")
    return 0 if rows and all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
