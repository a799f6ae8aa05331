#!/usr/bin/env python3
"""Runs single-operator TFLite models here and in LiteRT's reference kernels.

    op_sweep.py [--edgecompile PATH] [--only TEXT] [--seed N] [--factor F] [--reference] [--rewrite] [--out DIR]
    op_sweep.py --record DIR [--only TEXT] [--seed N]

Needs ai-edge-litert and flatbuffers. Cases come from sweep_cases.py: shapes, strides, dilations,
paddings, activations and quantisation of i8, u8, 16x8, hybrid and float operators. Many cases share
a file, so that programs start a few dozen times instead of thousands; a file that LiteRT or we
refuse is tried again case by case. Integers must be equal in every element; floats may differ by
1e-5 of the tensor's largest magnitude. Exit status 1: a case differs or is refused by us only.

--rewrite compares LiteRT with itself: the model as it is, and as `edgecompile -t tflite` writes it again.

--record writes models of a few integer cases each with LiteRT's results, for the tests that run
without LiteRT (tests/runtime/recorded).
"""
import pathlib
import sys
import tempfile
from collections import Counter

import numpy as np

import comparison
import litert
import program
import sweep_cases
from tflite_builder import ModelBuilder
from tflite_check import difference

CASES_PER_FILE = 50


def build(specs):
    """One model of the cases: bytes, input values, and the output tensors of each case."""
    model, values, outputs = ModelBuilder(), {}, []
    for function, seed in specs:
        case = sweep_cases.Case(model, np.random.default_rng(seed))
        before = len(model.outputs)
        function(case)
        values |= case.values
        outputs.append([f"t{i}" for i in model.outputs[before:]])
    return model.finish(), values, outputs


def run_litert(content, values):
    return litert.run_by_name(litert.open_model(content), values)


def run_ours(tool, content, values, reference):
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.tflite"
        model.write_bytes(content)
        return program.run_model(tool, model, values, *(["--reference"] if reference else []))


def rewrite(tool, content):
    """The model read and written again."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder) / "model.tflite", pathlib.Path(folder) / "again.tflite"
        source.write_bytes(content)
        program.report(tool, source, "-t", "tflite", "-o", target)
        return target.read_bytes()


class Sweep:
    def __init__(self, tool, reference, rewrites):
        self.tool, self.reference, self.rewrites = tool, reference, rewrites
        self.counts, self.faults = Counter(), []

    def check(self, name, specs):
        """Compares the cases in one file; falls back to single cases where one side refuses the file."""
        content, values, outputs = build(specs)
        try:
            theirs = run_litert(content, values)
        except (RuntimeError, ValueError) as error:
            return self.split(name, specs, "refused by LiteRT", str(error).strip().splitlines()[0][:120])
        try:
            if self.rewrites:
                ours = run_litert(rewrite(self.tool, content), values)
            else:
                ours = run_ours(self.tool, content, values, self.reference)
        except (RuntimeError, ValueError) as error:
            # The reference set lacks the versions that belong to some types (TILE 3 of i8); the cases' files say 1.
            newer = "Didn't find op for builtin opcode" in str(error)
            return self.split(name, specs, "of a version that the reference kernels lack" if newer else "refused", str(error)[:200])
        for (_, seed), names in zip(specs, outputs):
            texts = [difference(ours[n], theirs[n]) if n in ours else "missing" for n in names]
            text = next((t for t in texts if t), None)
            self.count(name, seed, "equal" if text is None else "different", text)

    def split(self, name, specs, status, reason):
        if len(specs) == 1:
            return self.count(name, specs[0][1], status, reason)
        for spec in specs:
            self.check(name, [spec])

    def count(self, name, seed, status, reason):
        self.counts[status] += 1
        if status in ("different", "refused"):
            self.faults.append({"case": name, "seed": seed, "status": status, "reason": reason})
        if status == "refused by LiteRT":
            self.counts[f"{status}: {name}"] += 1


def record(folder, only, seed):
    folder.mkdir(parents=True, exist_ok=True)
    groups = {}
    for number, (name, count, function) in enumerate(sweep_cases.families()):
        kind = next((k for k in ("i8", "u8", "i16", "hybrid") if k in name.split("_")), None)
        if kind is None or only not in name:
            continue
        for i in range(max(1, count // 12)):
            spec = (function, [seed, number, i])
            try:
                content, values, _ = build([spec])
                run_litert(content, values)
            except (RuntimeError, ValueError):
                continue
            if sum(v.size for v in values.values()) <= 3000:
                groups.setdefault(kind, []).append(spec)
    for kind, specs in groups.items():
        content, values, _ = build(specs)
        results = run_litert(content, values)
        (folder / f"{kind}.tflite").write_bytes(content)
        arrays = {f"in/{n}": v for n, v in values.items()} | {f"out/{n}": v for n, v in results.items()}
        np.savez_compressed(folder / f"{kind}.npz", **arrays)
        print(f"{kind}: {len(specs)} cases")


def main():
    parser = comparison.parser(__doc__)
    parser.add_argument("--only", default="", help="only families whose name contains this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--factor", type=float, default=1.0, help="how many times the usual number of cases")
    parser.add_argument("--reference", action="store_true", help="run our reference kernels without optimisation")
    parser.add_argument("--rewrite", action="store_true", help="let LiteRT run what we write of the model")
    parser.add_argument("--record", type=pathlib.Path, help="write models with LiteRT's results to this folder")
    args = parser.parse_args()
    if args.record:
        return record(args.record, args.only, args.seed)
    sweep = Sweep(args.edgecompile, args.reference, args.rewrite)
    for number, (name, count, function) in enumerate(sweep_cases.families()):
        if args.only not in name:
            continue
        total = max(1, round(count * args.factor))
        specs = [(function, [args.seed, number, i]) for i in range(total)]
        for first in range(0, total, CASES_PER_FILE):
            sweep.check(name, specs[first:first + CASES_PER_FILE])
    for fault in sweep.faults:
        print(f"{fault['case']} {fault['seed']}: {fault['status']}: {fault['reason']}")
    print(", ".join(f"{count} {status}" for status, count in sorted(sweep.counts.items())))
    name = "op_rewrite.json" if args.rewrite else "op_sweep.json"
    comparison.save_json(args.out, name, {"counts": sweep.counts, "faults": sweep.faults})
    return 1 if sweep.faults else 0


if __name__ == "__main__":
    sys.exit(main())
