"""Networks of torchvision and timm with random weights, saved by PyTorch in every form it has.

Forms: traced (.pt), scripted (.pt), export (.pt2 as torch.export.export gives it), core (.pt2 after
run_decompositions), and the ONNX twins onnx (by tracing) and onnx-dynamo (from the exported program).
"""

from __future__ import annotations

import copy
import dataclasses
import json
import pathlib

import numpy as np
import zoo
import zoo_list

FORMS = ("traced", "scripted", "export", "core")
TWINS = ("onnx", "onnx-dynamo")
SUFFIXES = {"traced": ".pt", "scripted": ".pt", "export": ".pt2", "core": ".pt2", "onnx": ".onnx", "onnx-dynamo": ".onnx"}
VIDEO = {"r3d_18": (8, 64), "mc3_18": (8, 64), "r2plus1d_18": (8, 64), "s3d": (16, 64), "swin3d_t": (8, 64), "mvit_v1_b": (16, 224)}
DETECTORS = ("fpn_resnet18", "fpn_mobilenet_v2", "ssdlite_mobilenet_v3", "retinanet_resnet18")


def entries() -> list[zoo_list.Entry]:
    """Each architecture once."""
    video = [zoo_list.Entry(name, "video", name, ((1, 3, frames, size, size),)) for name, (frames, size) in VIDEO.items()]
    detectors = [zoo_list.Entry(name, "detection", name, zoo_list.image(320 if name.startswith("ssd") else 128)) for name in DETECTORS]
    found: dict[str, zoo_list.Entry] = {}
    for entry in [*zoo_list.ENTRIES, *video, *detectors]:
        if not entry.dynamic:
            found.setdefault(entry.name, entry)
    return list(found.values())


def feature_pyramid(name: str):
    from torchvision.models import mobilenet_v2
    from torchvision.models.detection import backbone_utils

    if name == "mobilenet_v2":
        return backbone_utils.BackboneWithFPN(
            mobilenet_v2(weights=None).features, {"6": "0", "13": "1", "18": "2"}, [32, 96, 1280], 64)
    return backbone_utils.resnet_fpn_backbone(backbone_name=name, weights=None)


def detector(name: str):
    """What a detector computes on a picture: features, and for some the boxes and scores; not the choice among them."""
    import torch
    from torchvision.models import detection

    if name.startswith("fpn_"):
        return feature_pyramid(name.removeprefix("fpn_"))
    if name.startswith("ssdlite"):
        whole = detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None)
        backbone, head = whole.backbone, whole.head
    else:
        backbone = feature_pyramid("resnet18")
        head = detection.retinanet.RetinaNetHead(backbone.out_channels, num_anchors=9, num_classes=20)

    class Detector(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone, self.head = backbone, head

        def forward(self, x: torch.Tensor):
            return self.head(list(self.backbone(x).values()))

    return Detector()


def build(entry: zoo_list.Entry):
    import torch

    if entry.source not in ("video", "detection"):
        return zoo.build(entry)
    torch.manual_seed(1)
    if entry.source == "detection":
        return detector(entry.model)
    import torchvision

    return getattr(torchvision.models.video, entry.model)(weights=None)


def flat(value) -> list[np.ndarray]:
    import torch

    if isinstance(value, torch.Tensor):
        return [value.detach().numpy()]
    if isinstance(value, dict):
        return [x for item in value.values() for x in flat(item)]
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in flat(item)]
    return []


def save(form: str, model, inputs, path: pathlib.Path, exported: dict) -> None:
    import torch

    with torch.no_grad():
        if form == "traced":
            torch.jit.trace(model, inputs, check_trace=False, strict=False).save(str(path))
        elif form == "scripted":
            torch.jit.script(model).save(str(path))
        elif form == "onnx":
            # Normalisation stays as it is: folding it in single precision would be the exporter's rounding.
            torch.onnx.export(model, inputs, str(path), dynamo=False, opset_version=17,
                              training=torch.onnx.TrainingMode.PRESERVE)
        elif form == "onnx-dynamo":
            torch.onnx.export(model, inputs, str(path), dynamo=True, opset_version=18, external_data=False, verbose=False)
        else:
            if "program" not in exported:
                exported["program"] = torch.export.export(model, inputs)
            program = exported["program"]
            torch.export.save(program.run_decompositions() if form == "core" else program, path)


@dataclasses.dataclass
class Archives:
    """One network on disk: io.npz, a file per form, and why PyTorch could not write the missing ones."""

    folder: pathlib.Path
    refused: dict[str, str]

    def path(self, form: str) -> pathlib.Path:
        return self.folder / f"{form}{SUFFIXES[form]}"

    def arrays(self, prefix: str) -> list[np.ndarray]:
        with np.load(self.folder / "io.npz") as npz:
            return [npz[f"{prefix}{i}"] for i in range(sum(name.startswith(prefix) for name in npz.files))]


def double_precision(model, inputs) -> list[np.ndarray]:
    """The results without the rounding of single precision; none where a network insists on that."""
    import torch

    try:
        with torch.no_grad():
            return flat(copy.deepcopy(model).double()(*[x.double() if x.is_floating_point() else x for x in inputs]))
    except RuntimeError:
        return []


def write_archives(entry: zoo_list.Entry, forms, folder: pathlib.Path) -> Archives:
    """Writes the forms that the folder does not have yet."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    notes = folder / "refused.json"
    archives = Archives(folder, json.loads(notes.read_text()) if notes.exists() else {})
    missing = [form for form in forms if form not in archives.refused and not archives.path(form).exists()]
    if not missing:
        return archives
    model, inputs = build(entry), zoo.make_inputs(entry)
    zoo.settle(model, inputs)
    with torch.no_grad():
        results = flat(model(*inputs))
    np.savez(folder / "io.npz", **{f"in{i}": x.numpy() for i, x in enumerate(inputs)},
             **{f"out{i}": x for i, x in enumerate(results)},
             **{f"exact{i}": x for i, x in enumerate(double_precision(model, inputs))})
    exported: dict = {}
    for form in missing:
        part = archives.path(form).with_name(f"partial{SUFFIXES[form]}")
        try:
            with zoo.quiet():
                save(form, model, inputs, part, exported)
            part.rename(archives.path(form))
        except Exception as error:  # noqa: BLE001: PyTorch cannot write this form; the table says so
            archives.refused[form] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            part.unlink(missing_ok=True)
    notes.write_text(json.dumps(archives.refused, indent=1))
    return archives
