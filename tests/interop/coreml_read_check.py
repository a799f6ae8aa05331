#!/usr/bin/env python3
"""Networks that coremltools converts from PyTorch to packages of several precisions, deployment targets and compressions: read and
run by edgecompile against PyTorch. Compressed packages are compared with the same package after coremltools decompressed it.

usage: coreml_read_check.py [--edgecompile PROGRAM] [--only NAMES] [--recorded FOLDER] [--out FOLDER]
       --recorded: packages with .npz files beside them (inputs, outputs of an evaluation op by op) are run as well
"""
from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import pathlib
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
import numpy as np  # noqa: E402
import torch  # noqa: E402

with contextlib.redirect_stderr(io.StringIO()):
    import coremltools as ct  # noqa: E402
    import coremltools.optimize.coreml as cto  # noqa: E402

import program  # noqa: E402
from coreml_networks import NETWORKS, Network  # noqa: E402

# Of the largest output, the limits: 16-bit results differ by the rounding of every layer.
TOLERANCE = {"fp32": 1e-4, "fp16": 5e-3}


def compressed(model, kind: str):
    config, quantize, palette, prune = cto.OptimizationConfig, cto.OpLinearQuantizerConfig, cto.OpPalettizerConfig, cto.OpMagnitudePrunerConfig
    small = {"weight_threshold": 200}
    if kind == "int8":
        return cto.linear_quantize_weights(model, config(quantize(mode="linear", **small)))
    if kind == "int8_symmetric":
        return cto.linear_quantize_weights(model, config(quantize(mode="linear_symmetric", dtype="int8", **small)))
    if kind == "int4":
        return cto.linear_quantize_weights(model, config(quantize(mode="linear", dtype="int4", granularity="per_block", block_size=8, **small)))
    if kind.startswith("palette") and kind != "palette_grouped":
        return cto.palettize_weights(model, config(palette(mode="uniform", nbits=int(kind[-1]), **small)))
    if kind == "palette_grouped":
        return cto.palettize_weights(model, config(palette(mode="uniform", nbits=4, granularity="per_grouped_channel", group_size=8, **small)))
    if kind == "sparse":
        return cto.prune_weights(model, config(prune(target_sparsity=0.5, **small)))
    raise ValueError(kind)


def convert(network: Network, module, inputs):
    def type_of(i, x):
        shape = list(x.shape)
        if network.flexible:
            shape[-1] = ct.RangeDim(32, 128, default=shape[-1])
        return ct.TensorType(name=f"x{i}", shape=shape, dtype=np.int32 if network.tokens else None)

    traced = torch.jit.trace(module, inputs, check_trace=False)
    return ct.convert(traced, inputs=[type_of(i, x) for i, x in enumerate(inputs)], minimum_deployment_target=getattr(ct.target, network.target), convert_to="mlprogram",
                      compute_precision=ct.precision.FLOAT16 if network.precision == "fp16" else ct.precision.FLOAT32, skip_model_load=True)


def settle(module) -> None:
    """Random weights that keep numbers of the size that trained networks have."""
    for part in module.modules():
        if isinstance(part, (torch.nn.BatchNorm2d, torch.nn.BatchNorm3d)):
            part.running_var.uniform_(0.5, 1.5)
            part.running_mean.uniform_(-0.1, 0.1)


def run(edgecompile: str, package: pathlib.Path, arrays: list[np.ndarray], *options: str) -> list[np.ndarray]:
    try:
        return list(program.run_model(edgecompile, package, arrays, *options).values())
    except program.Failed as error:
        if "EC7003" not in str(error):
            raise
    return list(program.run_model(edgecompile, package, [a.astype(np.float16) for a in arrays], *options).values())


def difference(got: list[np.ndarray], wanted: list[np.ndarray]) -> float:
    """The largest over all outputs, relative to each one's largest number."""
    worst = 0.0
    for a, b in zip(got, wanted, strict=True):
        a, b = a.astype(np.float64).reshape(b.shape), b.astype(np.float64)
        worst = max(worst, float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-6)))
    return worst


def check(edgecompile: str, network: Network) -> dict:
    torch.manual_seed(1)
    module = network.make().eval()
    settle(module)
    inputs = [torch.randint(0, network.tokens, s) if network.tokens else torch.rand(s) for s in network.shapes]
    arrays = [x.numpy().astype(np.int32) if network.tokens else x.numpy() for x in inputs]
    row = {"network": network.name, "target": network.target, "precision": network.precision, "compression": network.compression}
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        wanted = module(*inputs)
        wanted = [y.numpy() for y in (wanted if isinstance(wanted, (list, tuple)) else [wanted])]
        with contextlib.redirect_stderr(io.StringIO()):
            start = time.process_time()
            model = convert(network, module, inputs)
            row["convert_s"] = round(time.process_time() - start, 1)
            path = pathlib.Path(folder) / "model.mlpackage"
            model.save(str(path))
        row["operations"] = program.report(edgecompile, "inspect", path).get("operations")
        options = program.shapes_in_order(arrays) if network.flexible else []
        row["difference"] = difference(run(edgecompile, path, arrays, *options), wanted)
        limit = TOLERANCE[network.precision]
        row["ok"] = row["difference"] <= limit
        if network.compression:
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                kind = network.compression.removesuffix("18")
                small = compressed(compressed(model, "sparse"), "palette4") if kind == "sparse_palette" else compressed(model, kind)
                small.save(str(pathlib.Path(folder) / "small.mlpackage"))
                cto.decompress_weights(small).save(str(pathlib.Path(folder) / "plain.mlpackage"))
            values = [run(edgecompile, pathlib.Path(folder) / f"{n}.mlpackage", arrays) for n in ("small", "plain")]
            row["compressed_difference"] = difference(*values)
            row["ok"] = row["ok"] and row["compressed_difference"] <= limit
    return row


def check_recorded(edgecompile: str, folder: pathlib.Path) -> list[dict]:
    rows = []
    for recorded in sorted(folder.glob("*.npz")):
        data = np.load(recorded)
        arrays = [data[f"in{i}"] for i in range(sum(k.startswith("in") for k in data.files))]
        arrays = [a.astype(np.int32) if a.dtype == np.int64 else a for a in arrays]
        wanted = [data[f"out{i}"] for i in range(sum(k.startswith("out") for k in data.files))]
        row = {"network": recorded.stem, "recorded": True}
        try:
            row["difference"] = difference(run(edgecompile, recorded.with_suffix(".mlpackage"), arrays), wanted)
            # Where activations are integers, a rounding that falls the other way is one step of 8 bits.
            row["ok"] = row["difference"] <= (1e-2 if "w8a8" in recorded.stem else TOLERANCE["fp16"])
        except Exception as error:
            row.update(ok=False, error=str(error)[:500])
        rows.append(row)
    return rows


def check_twins(edgecompile: str, folder: pathlib.Path) -> list[dict]:
    """A trained network as a package and as an ONNX file, both run here."""
    package, onnx = folder / "nmp.mlpackage", folder / "nmp.onnx"
    if not package.exists() or not onnx.exists():
        return []
    sound = np.random.default_rng(0).uniform(-1, 1, (1, 43844, 1)).astype(np.float32)
    outputs = [sorted(run(edgecompile, model, [sound]), key=lambda y: (y.shape, float(y.sum()))) for model in (package, onnx)]
    row = {"network": package.stem, "recorded": True, "difference": difference(*outputs)}
    return [{**row, "ok": row["difference"] <= TOLERANCE["fp32"]}]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--edgecompile", default=program.find())
    parser.add_argument("--only", default="")
    parser.add_argument("--recorded", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = check_recorded(options.edgecompile, options.recorded) if options.recorded else []
    rows += check_twins(options.edgecompile, options.recorded.parent / "basic_pitch") if options.recorded else []
    for row in rows:
        print(json.dumps(row), flush=True)
    names = [n for n in options.only.split(",") if n]
    for network in NETWORKS:
        if names and network.name not in names:
            continue
        try:
            row = check(options.edgecompile, network)
        except Exception as error:
            row = {"network": network.name, "ok": False, "error": f"{type(error).__name__}: {str(error)[:500]}"}
        rows.append(row)
        print(json.dumps(row), flush=True)
    good = sum(row["ok"] for row in rows)
    print(f"coreml_read_check: {good} of {len(rows)} agree")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "coreml_read.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if good == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
