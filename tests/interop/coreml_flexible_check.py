#!/usr/bin/env python3
"""Packages that edgecompile writes with open sizes: loaded by coremltools, whose type inference must agree for every operation, and
run by edgecompile at several sizes against PyTorch.

usage: coreml_flexible_check.py [--edgecompile PROGRAM] [--only NAMES] [--out FOLDER]

Runs in an environment of requirements-coreml.txt with torchvision and timm.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import logging
import pathlib
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
import numpy as np  # noqa: E402
import program  # noqa: E402
import torch  # noqa: E402
from coreml_flexible_networks import NETWORKS, Flexible  # noqa: E402
from coreml_read_check import TOLERANCE, difference, settle  # noqa: E402
from coreml_write_check import load  # noqa: E402
from coremltools.proto import Model_pb2  # noqa: E402
from torch.onnx._internal.torchscript_exporter import onnx_proto_utils  # noqa: E402

# The exporter wants the package onnx for functions that these networks do not have.
onnx_proto_utils._add_onnxscript_fn = lambda model, _: model


def inputs_of(network: Flexible, shapes, seed: int) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    return [torch.randint(0, network.tokens, shape) if network.tokens else torch.rand(shape) for shape in shapes]


def export(network: Flexible, module, inputs, folder: pathlib.Path) -> pathlib.Path:
    path = folder / f"{network.name}.{network.export}"
    names = [f"x{i}" for i in range(len(inputs))]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if network.export == "onnx":
            torch.onnx.export(module, tuple(inputs), str(path), dynamo=False, opset_version=17, input_names=names, dynamic_axes=network.open)
        else:
            made = {n: torch.export.Dim(n, min=network.bounds[0], max=network.bounds[1]) for dims in network.open.values() for n in dims.values()}
            shapes = [{d: made[n] for d, n in network.open.get(name, {}).items()} for name in names]
            torch.export.save(torch.export.export(module, tuple(inputs), dynamic_shapes=shapes), str(path))
    return path


def interface(package: pathlib.Path) -> str:
    """How the inputs are flexible; the default must be one of what they take."""
    spec = Model_pb2.Model()
    spec.ParseFromString((package / "Data/com.apple.CoreML/model.mlmodel").read_bytes())
    forms = []
    for feature in spec.description.input:
        array = feature.type.multiArrayType
        default, form = list(array.shape), array.WhichOneof("ShapeFlexibility")
        if form == "shapeRange":
            bounds = [(r.lowerBound, r.upperBound) for r in array.shapeRange.sizeRanges]
            assert len(bounds) == len(default) and all(low <= size <= high for (low, high), size in zip(bounds, default)), (bounds, default)
        elif form == "enumeratedShapes":
            assert default in [list(s.shape) for s in array.enumeratedShapes.shapes], default
        forms.append(form or "fixed")
    function = spec.mlProgram.functions["main"]
    block = list(function.block_specializations.values())[0]
    types = {o.name: o.type.tensorType for op in block.operations for o in op.outputs}
    for feature in spec.description.output:
        dimensions = [d.constant.size if d.WhichOneof("dimension") == "constant" else None for d in types[feature.name].dimensions]
        stated = list(feature.type.multiArrayType.shape)
        assert stated == ([] if None in dimensions else dimensions), (stated, dimensions)
    return ",".join(forms)


def check(edgecompile: str, network: Flexible, precision: str) -> dict:
    torch.manual_seed(1)
    module = network.make().eval()
    settle(module)
    row = {"network": network.name, "precision": precision}
    with tempfile.TemporaryDirectory() as name, torch.no_grad():
        folder = pathlib.Path(name)
        model = export(network, module, inputs_of(network, network.shapes[0], 1), folder)
        package = folder / "m.mlpackage"
        names = [f"x{i}" for i in range(len(network.shapes[0]))]
        if network.export == "pt2":  # has the names of the arguments
            names = list(inspect.signature(module.forward).parameters)
        options = [option.replace("x0:", f"{names[0]}:") for option in network.options]
        if "--dim" not in options and "," not in "".join(options):
            options += program.shape_options(zip(names, network.shapes[0], strict=True))
        start = time.process_time()
        report = program.report(edgecompile, model, "-t", "metal", "--precision", precision, "-o", package, *options)
        row["checked"] = report["self_check"]
        row["operations"], row["interface"] = load(package), interface(package)
        row["differences"] = []
        for seed, shapes in enumerate(network.shapes):
            inputs = inputs_of(network, shapes, seed)
            wanted = module(*inputs)
            wanted = [y.numpy() for y in (wanted if isinstance(wanted, (list, tuple)) else [wanted])]
            arrays = [x.numpy().astype(np.int32) if network.tokens else x.numpy() for x in inputs]
            got = list(program.run_model(edgecompile, package, arrays, *program.shapes_in_order(arrays)).values())
            for a, b in zip(got, wanted, strict=True):
                assert a.shape == b.shape, f"{a.shape} in place of {b.shape}"
            row["differences"].append(difference(got, wanted))
        row["seconds"] = round(time.process_time() - start, 1)
    row["ok"] = max(row["differences"]) <= TOLERANCE[precision] and row["checked"]["ran"] and len(row["checked"]["shapes"]) > 1
    return row


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--edgecompile", default=program.find())
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    rows = []
    for network in NETWORKS:
        if options.only and network.name not in options.only.split(","):
            continue
        for precision in ("fp32", "fp16"):
            try:
                rows.append(check(options.edgecompile, network, precision))
            except Exception as error:  # one network's failure must not hide the others
                rows.append({"network": network.name, "precision": precision, "ok": False, "error": f"{type(error).__name__}: {error}"[:600]})
            print(rows[-1] if not rows[-1]["ok"] else f"{network.name} {precision} {rows[-1]['interface']} {max(rows[-1]['differences']):.1e}", flush=True)
    failed = [row for row in rows if not row["ok"]]
    worst = {p: max((max(r["differences"]) for r in rows if r["ok"] and r["precision"] == p), default=0) for p in ("fp32", "fp16")}
    lines = [
        f"{len(rows) - len(failed)} of {len(rows)} packages with open sizes load in coremltools and agree with PyTorch at every size tried "
        f"({sum(len(r.get('differences', [])) for r in rows)} runs; worst {worst['fp32']:.1e} in single, {worst['fp16']:.1e} in half precision)",
        "",
        "| network | precision | inputs | operations | runs | largest difference |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "error" in row:
            lines.append(f"| {row['network']} | {row['precision']} | | | | {row['error']} |")
        else:
            lines.append(f"| {row['network']} | {row['precision']} | {row['interface']} | {row['operations']} | {len(row['differences'])} | {max(row['differences']):.1e} |")
    print(lines[0])
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "coreml_flexible.md").write_text("\n".join(lines) + "\n")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
