"""Exports the model zoo to ONNX: many architectures, seeded random weights, both PyTorch exporters.

    python tests/interop/zoo.py [--only 'resnet*'] [--list]

Files go to EC_ZOO_DIR (default build/zoo) with manifest.json beside them. What exists is skipped; an export that
fails is listed in the manifest with its reason and does not stop the others.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import gc
import json
import logging
import os
import pathlib
import sys
import time
import warnings
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import zoo_list

MIN_OUTPUT_STD = 1e-3


def zoo_root() -> pathlib.Path:
    default = pathlib.Path(__file__).resolve().parents[2] / "build" / "zoo"
    return pathlib.Path(os.environ.get("EC_ZOO_DIR", default))


def declare_torchvision_ops():
    """torchvision without its compiled part needs these two declarations before it is imported."""
    import torch

    library = torch.library.Library("torchvision", "DEF")
    library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return library


class LogitsOnly:
    """Makes a module that returns the main output of networks answering with a dict."""

    def __new__(cls, inner, key: str):
        import torch

        class Wrapped(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner, self.key = inner, key

            def forward(self, x):
                return self.inner(x)[self.key]

        return Wrapped()


def build(entry: zoo_list.Entry):
    import torch
    from torch import nn

    torch.manual_seed(zlib.crc32(entry.model.encode()))
    options = dict(entry.options)
    if entry.source == "own":
        import zoo_modules

        return getattr(zoo_modules, entry.model)()
    if entry.source == "timm":
        import timm

        # Fused attention has no form before opset 14; written out it is one more pattern to recognise.
        timm.layers.set_fused_attn(entry.opset >= 14)
        return timm.create_model(entry.model, pretrained=False, **options)
    import torchvision

    if entry.source == "seg":
        model = getattr(torchvision.models.segmentation, entry.model)(weights=None, weights_backbone=None)
        return LogitsOnly(model, "out")
    small_head, depth = options.pop("small_head", False), options.pop("depth", None)
    model = getattr(torchvision.models, entry.model)(weights=None, **options)
    if small_head:  # the original fully connected layers hold over 100 M parameters and nothing new
        model.avgpool = nn.Identity()
        model.classifier = nn.Sequential(nn.LazyLinear(256), nn.ReLU(), nn.Linear(256, 100))
    if depth is not None:
        model.encoder.layers = model.encoder.layers[:depth]
    return model


def make_inputs(entry: zoo_list.Entry):
    import torch

    generator = torch.Generator().manual_seed(7)
    bounds = dict(entry.integer_inputs)
    inputs = []
    for i, shape in enumerate(entry.shapes):
        if i in bounds:
            inputs.append(torch.randint(0, bounds[i], shape, generator=generator))
        else:
            inputs.append(torch.randn(shape, generator=generator))
    return tuple(inputs)


def settle(model, inputs) -> None:
    """Gives random weights a life: no zero tensors, and normalisation statistics that fit the activations."""
    import torch
    from torch import nn

    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        model.eval()
        model(*inputs)  # lazy layers take their shapes
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            largest = float(parameter.abs().max())
            if parameter.dim() > 1 and largest == 0.0:
                parameter.copy_(noise * 0.02)
            elif parameter.dim() <= 1 and largest == 0.0:
                parameter.copy_(noise * 0.05)
            elif largest < 1e-2 and ("gamma" in name or "scale" in name or name.endswith("ls1") or name.endswith("ls2")):
                parameter.copy_(0.1 + 0.02 * noise)
            elif parameter.dim() == 1 and bool((parameter == 1.0).all()):
                parameter.add_(noise * 0.1)
        norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # cumulative average
            norm.train()
        if norms:
            for _ in range(2):
                # Two samples: normalisation over one value per channel is refused in training mode.
                model(*[torch.cat([i, torch.flip(i, [-1])]) if i.dim() > 1 else torch.cat([i, i]) for i in inputs])
    model.eval()


def export(entry: zoo_list.Entry, path: pathlib.Path) -> dict:
    import torch

    model, inputs = build(entry), make_inputs(entry)
    settle(model, inputs)
    with torch.no_grad():
        outputs = model(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    spread = [float(o.std()) for o in outputs if o.numel() > 1 and o.is_floating_point()]
    if not all(torch.isfinite(o).all() for o in outputs) or not spread or max(spread) < MIN_OUTPUT_STD:
        raise RuntimeError(f"degenerate output: standard deviations {spread}")
    input_names = [f"input_{i}" for i in range(len(inputs))]
    output_names = [f"output_{i}" for i in range(len(outputs))]
    arguments = {"input_names": input_names, "output_names": output_names, "opset_version": entry.opset}
    if entry.exporter == "legacy":
        if entry.dynamic:
            axes: dict[str, dict[int, str]] = {}
            for index, axis, symbol in entry.dynamic:
                axes.setdefault(input_names[index], {})[axis] = symbol
            arguments["dynamic_axes"] = axes
        if entry.keep_batch_norm:
            arguments["training"] = torch.onnx.TrainingMode.PRESERVE
        torch.onnx.export(model, inputs, str(path), dynamo=False, **arguments)
    else:
        if entry.dynamic:
            arguments["dynamic_shapes"] = tuple(
                {axis: torch.export.Dim.DYNAMIC for i, axis, _ in entry.dynamic if i == index} for index in range(len(inputs))
            )
        torch.onnx.export(model, inputs, str(path), dynamo=True, external_data=entry.external_data, verbose=False, **arguments)
    return describe(entry, path, inputs, input_names, output_names)


def describe(entry: zoo_list.Entry, path: pathlib.Path, inputs, input_names, output_names) -> dict:
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    bounds = dict(entry.integer_inputs)
    described = [
        {"name": n, "shape": list(t.shape), "dtype": str(t.dtype).removeprefix("torch."), "below": bounds.get(i)}
        for i, (n, t) in enumerate(zip(input_names, inputs))
    ]
    # The exporter may rename or drop unused inputs; what the file says counts.
    names = [v.name for v in graph.input]
    if len(names) == len(described):
        for d, name in zip(described, names):
            d["name"] = name
    size = path.stat().st_size
    data = path.with_name(path.name + ".data")
    return {
        "name": entry.name, "file": path.name, "source": entry.source, "model": entry.model, "exporter": entry.exporter,
        "opset": entry.opset, "dynamic": bool(entry.dynamic), "inputs": described, "outputs": output_names,
        "nodes": len(graph.node), "bytes": size + (data.stat().st_size if data.exists() else 0),
    }


@contextlib.contextmanager
def quiet():
    """Exporters talk a lot, also below Python; what matters is in the exception when they fail."""
    sys.stdout.flush()
    saved = os.dup(1), os.dup(2)
    with open(os.devnull, "w") as sink:
        os.dup2(sink.fileno(), 1)
        os.dup2(sink.fileno(), 2)
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
        sys.stdout.flush()
        for number, copy in zip((1, 2), saved):
            os.dup2(copy, number)
            os.close(copy)


def export_one(entry: zoo_list.Entry, root: pathlib.Path) -> dict:
    final = root / entry.file_name
    # Dynamo names the external file after the model file, so the scratch folder keeps the name.
    scratch = root / ".partial"
    scratch.mkdir(exist_ok=True)
    partial = scratch / entry.file_name
    try:
        with quiet():
            record = export(entry, partial)
        for made in scratch.iterdir():
            os.replace(made, root / made.name)
        record["file"] = final.name
        return record
    finally:
        for left in scratch.iterdir():
            left.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="glob on the file name")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    entries = [e for e in zoo_list.ENTRIES if not args.only or any(fnmatch.fnmatch(e.file_name, g) for g in args.only)]
    if args.list:
        for entry in entries:
            print(entry.file_name, entry.shapes)
        return 0
    root = zoo_root()
    root.mkdir(parents=True, exist_ok=True)
    manifest_path = root / "manifest.json"
    manifest = json.loads(manifest_path.read_text()) if manifest_path.exists() else {"models": {}, "failed": {}}
    todo = [e for e in entries if e.file_name not in manifest["models"] or not (root / e.file_name).exists()]
    library = None
    started = time.monotonic()
    for entry in todo:
        library = library or declare_torchvision_ops()
        begin = time.monotonic()
        try:
            manifest["models"][entry.file_name] = export_one(entry, root)
            manifest["failed"].pop(entry.file_name, None)
            note = "ok"
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:400]
            manifest["failed"][entry.file_name] = reason
            note = f"failed: {reason}"
        print(f"{entry.file_name}: {note} ({time.monotonic() - begin:.1f} s)", flush=True)
        manifest_path.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
        gc.collect()
    total = sum(m["bytes"] for m in manifest["models"].values()) / 1e6
    architectures = len({m["name"] for m in manifest["models"].values()})
    print(f"zoo: {len(manifest['models'])} files of {architectures} architectures, {total:.0f} MB, "
          f"{len(manifest['failed'])} failed, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
