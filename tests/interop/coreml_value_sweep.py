#!/usr/bin/env python3
"""Every operation of ML Programs that edgecompile writes, in many forms: programs made from single-operator models are type-checked by
coremltools and evaluated by its own value inference (coreml_evaluate.py), against edgecompile's run of the same package.

usage: coreml_value_sweep.py [--edgecompile PROGRAM] [--only TEXT] [--nodes DIR...] [--shard I/N] [--out DIR]
       --nodes: folders of ONNX node tests (default: those of Debian, and those that node_data.py made)

Sources: the ONNX node tests, and coreml_value_cases.py for what these lack. Each in single and in half precision.
"""

from __future__ import annotations

import collections
import json
import logging
import pathlib
import re
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import numpy as np  # noqa: E402

import comparison  # noqa: E402
import coreml_evaluate  # noqa: E402
import program  # noqa: E402
from coreml_write_check import reason  # noqa: E402
from model_set import REPOSITORY  # noqa: E402

BOUND = {"fp32": 1e-4, "fp16": 5e-3}
# What differs and why: half precision of every step, which the evaluation rounds to and our run, computing wider, does not.
HALVES = {
    "test_softmax_large_number": "10,000 and 10,001 are one number", "test_softmax_large_number_expanded": "10,000 and 10,001 are one number",
    "test_logsoftmax_large_number": "10,000 and 10,001 are one number", "test_logsoftmax_large_number_expanded": "10,000 and 10,001 are one number",
    "test_softmax_large_number_expanded_ver18": "10,000 and 10,001 are one number",
    "test_logsoftmax_large_number_expanded_ver18": "10,000 and 10,001 are one number",
    "test_ai_onnx_ml_tree_ensemble_set_membership": "numbers next to the thresholds that they are compared with",
    "test_tan": "near a pole", "test_reduce_prod_default_axes_keepdims_example": "a product of 479,001,600",
}
# A zero in sizes that are an input stands for a copied size, which programs have only where the ranks are equal.
ZERO_SIZES = {"test_reshape_zero_dim", "test_reshape_zero_and_negative_dim"}
DEBIAN = pathlib.Path("/usr/share/libonnx-testdata/data/node")


def node_folders(roots: list[pathlib.Path]) -> list[pathlib.Path]:
    """Each test once, of the first root that has it."""
    found: dict[str, pathlib.Path] = {}
    for root in roots:
        for model in sorted(root.glob("*/model.onnx")):
            found.setdefault(model.parent.name, model.parent)
    return list(found.values())


def node_inputs(folder: pathlib.Path) -> list[np.ndarray]:
    import onnx
    from onnx import numpy_helper

    values = []
    types = [value.type.tensor_type.elem_type for value in onnx.load(folder / "model.onnx").graph.input]
    if onnx.TensorProto.BFLOAT16 in types:  # older suites keep their bits as integers
        raise ValueError
    for i in range(len(list((folder / "test_data_set_0").glob("input_*.pb")))):
        proto = onnx.TensorProto()
        proto.ParseFromString((folder / "test_data_set_0" / f"input_{i}.pb").read_bytes())
        values.append(numpy_helper.to_array(proto))
    return values


def as_feature(value: np.ndarray) -> np.ndarray:
    value = np.atleast_1d(value)
    if value.dtype.kind in "fb" and value.dtype != np.float16:
        return value.astype(np.float32)
    return value.astype(np.int32) if value.dtype.kind in "iu" else value


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Relative to the largest value."""
    if ours.size != theirs.size:
        raise AssertionError(f"shape {ours.shape}, evaluated {theirs.shape}")
    a, b = ours.reshape(-1).astype(np.float64), theirs.reshape(-1).astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    largest = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0)))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(a - b)).max(initial=0.0) / largest
    return float(error) if error == error else float("inf")


class Sweep:
    def __init__(self, binary: str) -> None:
        self.binary = binary
        self.counts: collections.Counter = collections.Counter()
        self.refused: collections.Counter = collections.Counter()
        self.missing: collections.Counter = collections.Counter()
        self.own: collections.Counter = collections.Counter()
        self.defined: collections.Counter = collections.Counter()
        self.written: collections.Counter = collections.Counter()
        self.faults: list[str] = []

    def add(self, name: str, model: pathlib.Path, inputs: list[np.ndarray], options: list[str]) -> None:
        for precision, bound in BOUND.items():
            with tempfile.TemporaryDirectory() as folder:
                package = pathlib.Path(folder) / "p.mlpackage"
                try:
                    report = program.report(self.binary, "compile", model, "-t", "metal", "--precision", precision, "-o", package, *options, timeout=60)
                except program.Failed as failure:
                    self.counts["refused"] += 1
                    self.refused[reason("error " + str(failure))[:150]] += 1
                    continue
                self.counts["programs"] += 1
                self.written.update(report["operators"].keys())
                try:
                    known = precision == "fp16" and name in HALVES
                    self.counts["known"] += known
                    self.judge(f"{name} {precision}", package, [as_feature(x) for x in inputs], float("inf") if known else bound)
                except coreml_evaluate.NoEvaluation as error:
                    self.counts["not evaluated"] += 1
                    self.missing[str(error)] += 1
                except Exception as error:  # whatever coremltools throws is a finding
                    if name in ZERO_SIZES:
                        self.counts["known"] += 1
                        continue
                    self.faults.append(f"{name} {precision}: {type(error).__name__}: {str(error)[:300]}")

    def judge(self, name: str, package: pathlib.Path, inputs: list[np.ndarray], bound: float) -> None:
        evaluation = coreml_evaluate.evaluate(package, inputs)
        ours = list(program.run_model(self.binary, package, inputs, timeout=60).values())
        self.own += evaluation.own
        self.defined += evaluation.defined
        if len(ours) != len(evaluation.outputs):
            raise AssertionError(f"{len(ours)} outputs, evaluated {len(evaluation.outputs)}")
        error = max(map(difference, ours, evaluation.outputs), default=0.0)
        self.counts["evaluated"] += 1
        if not error <= bound:
            self.faults.append(f"{name}: difference {error:.2e}")

    def never_written(self) -> list[str]:
        """Operations that stand in the writer's source and in no program here."""
        from coremltools.converters.mil.mil.ops.registry import SSAOpRegistry

        source = "".join(p.read_text() for p in (REPOSITORY / "src/writer/coreml").glob("*.cpp"))
        known = {name for name in SSAOpRegistry.core_ops}
        return sorted(set(re.findall(r'"([a-z0-9_]+)"', source)) & known - set(self.written))


def main() -> int:
    parser = comparison.parser(__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--nodes", type=pathlib.Path, nargs="*")
    parser.add_argument("--shard", default="0/1", help="every Nth case from the Ith on, as I/N")
    options = parser.parse_args()
    index, count = map(int, options.shard.split("/"))
    sweep, started = Sweep(options.edgecompile), time.monotonic()
    roots = options.nodes if options.nodes is not None else [DEBIAN, *sorted((REPOSITORY / "build/onnx-data").glob("*/node"))]
    for folder in node_folders(roots)[index::count]:
        if options.only not in folder.name:
            continue
        try:
            inputs = node_inputs(folder)
            if any(x.dtype.kind not in "fiub" or x.dtype.name.startswith(("bfloat", "float8")) for x in inputs):
                raise ValueError
        except Exception:  # lists, texts and types that NumPy lacks are no inputs of programs
            sweep.counts["no arrays"] += 1
            continue
        sweep.add(folder.name, folder / "model.onnx", inputs, program.shapes_in_order(inputs))
    import coreml_value_cases

    with tempfile.TemporaryDirectory() as scratch:
        for case in list(coreml_value_cases.all_cases())[index::count]:
            if options.only in case.name:
                model = pathlib.Path(scratch) / f"{case.name}.ecir"
                model.write_text(case.text)
                sweep.add(case.name, model, case.inputs, list(case.options))
    for line in sweep.faults:
        print("  " + line)
    summary = {**sweep.counts, "operations": len(sweep.written), "by coremltools": len(sweep.own), "by definition": len(sweep.defined),
               "wrong": len(sweep.faults)}
    absent = [] if options.only else sweep.never_written()
    print("coreml_value_sweep:", json.dumps(summary), f"{time.monotonic() - started:.0f} s")
    print("  never written here:", ", ".join(absent) or "none")
    print("  refused:", "; ".join(f"{v} {k}" for k, v in sweep.refused.most_common(40)) or "none")
    print("  not evaluated:", ", ".join(f"{k} {v}" for k, v in sweep.missing.most_common()) or "none")
    comparison.save_json(options.out, "coreml_value_sweep.json", {
        **summary, "never written": absent, "not evaluated": sweep.missing, "refused": sweep.refused, "faults": sweep.faults,
        "evaluated by coremltools": sweep.own, "evaluated by definition": sweep.defined})
    return 1 if sweep.faults or not sweep.counts["evaluated"] else 0


if __name__ == "__main__":
    sys.exit(main())
