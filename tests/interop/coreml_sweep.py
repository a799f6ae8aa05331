#!/usr/bin/env python3
"""Every operator of ML Programs in many forms and operator sets: packages that coremltools writes, run by edgecompile, against
coremltools' own evaluation of the operator, or its definition where coremltools has none (coreml_references.py).

usage: coreml_sweep.py [--edgecompile PROGRAM] [--only TEXT] [--target iOS17] [--out FOLDER]
"""
from __future__ import annotations

import argparse
import collections
import contextlib
import io
import json
import logging
import pathlib
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
import numpy as np  # noqa: E402

with contextlib.redirect_stderr(io.StringIO()):
    import coremltools as ct  # noqa: E402
    from coremltools.converters.mil import Builder as mb  # noqa: E402
    from coremltools.converters.mil.mil import types  # noqa: E402

import program  # noqa: E402
from coreml_cases import TARGETS, Case, all_cases  # noqa: E402
from coreml_references import REFERENCES  # noqa: E402

TYPES = {"float32": types.fp32, "int32": types.int32, "float16": types.fp16}


def flat(case: Case) -> list[np.ndarray]:
    return [a for v in case.tensors.values() for a in (v if isinstance(v, list) else [v])]


def bound(case: Case, values) -> dict:
    """The operands of a case in their structure, with `values` in place of the arrays."""
    values = iter(values)
    return {k: [next(values) for _ in v] if isinstance(v, list) else next(values) for k, v in case.tensors.items()}


def call(case: Case, values):
    results = getattr(mb, case.op)(**bound(case, values), **case.params)
    return list(results) if isinstance(results, (list, tuple)) else [results]


def evaluated(case: Case, target) -> list[np.ndarray] | None:
    """What coremltools itself computes of constants; nothing where it has no evaluation."""
    found = []

    @mb.program(input_specs=[mb.TensorSpec(shape=(1,))], opset_version=target)
    def _(dummy):
        found.extend(v.val for v in call(case, flat(case)))
        return mb.identity(x=dummy)

    return None if any(v is None for v in found) else [np.asarray(v) for v in found]


def as_output(var):
    """Programs give out fp32, fp16 and int32 alone."""
    if var.dtype in (types.fp32, types.fp16, types.int32):
        return mb.identity(x=var)
    return mb.cast(x=var, dtype="int32")


def package(cases: list[Case], target, path: pathlib.Path) -> None:
    specs = [mb.TensorSpec(shape=a.shape, dtype=TYPES[str(a.dtype)]) for c in cases for a in flat(c)] or [mb.TensorSpec(shape=(1,))]

    def build(inputs):
        inputs, outputs = list(inputs), []
        for case in cases:
            count = len(flat(case))
            outputs += [as_output(v) for v in call(case, inputs[:count])]
            inputs = inputs[count:]
        return tuple(outputs) if len(outputs) > 1 else outputs[0]

    # The builder asks the function for its arguments.
    names = ", ".join(f"p{i}" for i in range(len(specs)))
    scope = {"build": build}
    exec(f"def main({names}): return build([{names}])", scope)
    made = mb.program(input_specs=specs, opset_version=target)(scope["main"])
    ct.convert(made, source="milinternal", convert_to="mlprogram", minimum_deployment_target=target, compute_precision=ct.precision.FLOAT32,
               pass_pipeline=ct.PassPipeline.EMPTY, skip_model_load=True).save(str(path))


def results_of(edgecompile: str, cases: list[Case], target, wanted) -> list[str]:
    """One line for each case that differs."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        path = pathlib.Path(folder) / "case.mlpackage"
        package(cases, target, path)
        inputs = [a for c in cases for a in flat(c)] or [np.zeros(1, np.float32)]
        got = list(program.run_model(edgecompile, path, inputs, timeout=120).values())
    faults = []
    for case, expected in zip(cases, wanted):
        mine, got = got[: len(expected)], got[len(expected):]
        for a, b in zip(mine, expected):
            b = np.asarray(b)
            half = any(v.dtype == np.float16 for v in flat(case)) or case.params.get("dtype") == "fp16"
            scale = max(1.0, float(np.abs(b.astype(np.float64)).max(initial=0)))
            if a.shape != b.shape and a.size == b.size == 1:
                b = b.reshape(a.shape)
            if a.shape != b.shape:
                faults.append(f"{case.text()}: shape {a.shape}, wanted {b.shape}")
            elif not np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=0, atol=(4e-3 if half else 1e-4) * scale, equal_nan=True):
                faults.append(f"{case.text()}: difference {np.abs(a.astype(np.float64) - b).max():.3g}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--edgecompile", default=program.find())
    parser.add_argument("--only", default="")
    parser.add_argument("--target", default="")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    counts, faults, operators = collections.Counter(), [], set()
    for name in TARGETS if not options.target else [options.target]:
        target, groups = getattr(ct.target, name), collections.defaultdict(list)
        for case in all_cases():
            if options.only in case.op and case.runs_on(name):
                groups[case.op].append(case)
        for op, cases in groups.items():
            kept, wanted = [], []
            for case in cases:
                try:
                    values = REFERENCES[op](case.tensors, case.params) if op in REFERENCES else evaluated(case, target)
                except Exception as error:  # the form does not exist in this operator set
                    counts["not in coremltools"] += 1
                    if options.only:
                        print(f"  {name} {case.text()}: coremltools: {str(error)[:150]}")
                    continue
                if values is None:
                    counts["no reference"] += 1
                    continue
                kept.append(case)
                wanted.append(values)
            operators.add(op) if kept else None
            try:
                found = results_of(options.edgecompile, kept, target, wanted) if kept else []
            except Exception:
                # Which of them is it?
                found = []
                for case, values in zip(kept, wanted):
                    try:
                        found += results_of(options.edgecompile, [case], target, [values])
                    except Exception as error:
                        message = str(error)
                        ours = isinstance(error, program.Failed)
                        counts["not in coremltools"] += 0 if ours else 1
                        if ours or options.only:
                            found += [f"{case.text()}: {message[:300]}"] if ours else []
                            print(f"  {name} {case.text()}: coremltools: {message[:200]}") if not ours else None
            counts["cases"] += len(kept)
            faults += [f"{name} {line}" for line in found]
            counts["wrong"] += len(found)
    for line in faults:
        print(line)
    summary = {"operators": len(operators), **counts}
    print("coreml_sweep:", json.dumps(summary))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "coreml_sweep.json").write_text(json.dumps({**summary, "faults": faults}, indent=1) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
