"""MobileNetV2 from PyTorch to int8 for the Edge TPU, with real images, beside the same network from ONNX.

    torch_mobilenet.py make FOLDER           writes mobilenet_v2.pt and .pt2 with the weights of the ONNX file (needs PyTorch)
    torch_mobilenet.py check EDGECOMPILE FOLDER [--limit N]
                                             compiles all three and compares their predictions in LiteRT

Works on ../shared/data (skips where that folder is absent). The predictions of the int8 files must agree with those of
the float network equally often, whichever format it came from, and none may contain a TRANSPOSE.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys

import numpy as np

import labelled_images
import program
from litert import PictureModel

SOURCE = labelled_images.DATA / "onnx" / "mobilenet_v2_1.0_224.onnx"
AGREEMENT = 0.97  # with the float network, as quantize_check.py asks of the ONNX file


def from_onnx(path: pathlib.Path):
    """The graph as a module of PyTorch: convolutions that own their weights, joined as the file says."""
    import onnx
    import torch
    from torch import nn
    from torch.nn import functional

    graph = onnx.load(path).graph
    constants = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in graph.initializer}

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleDict()
            for node in graph.node:
                if node.op_type != "Conv":
                    continue
                attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
                weight = constants[node.input[1]]
                layer = nn.Conv2d(weight.shape[1] * attributes["group"], weight.shape[0], weight.shape[2:],
                                  attributes["strides"], groups=attributes["group"])
                layer.weight.data, layer.bias.data = weight, constants[node.input[2]]
                top, left, bottom, right = attributes["pads"]
                if (top, left) == (bottom, right):
                    layer.padding = (top, left)
                    self.layers[node.output[0]] = layer
                else:
                    self.layers[node.output[0]] = nn.Sequential(nn.ZeroPad2d((left, right, top, bottom)), layer)

        def forward(self, x):
            values = {graph.input[0].name: x}
            for node in graph.node:
                operands = [values[name] for name in node.input if name in values]
                if node.op_type == "Conv":
                    result = self.layers[node.output[0]](*operands)
                elif node.op_type == "Clip":
                    result = functional.relu6(*operands)
                elif node.op_type == "Add":
                    result = operands[0] + operands[1]
                elif node.op_type == "GlobalAveragePool":
                    result = functional.adaptive_avg_pool2d(*operands, 1)
                elif node.op_type == "Flatten":
                    result = torch.flatten(*operands, 1)
                elif node.op_type == "Softmax":
                    result = functional.softmax(*operands, 1)
                else:
                    assert node.op_type == "Identity", node.op_type
                    result = operands[0]
                values[node.output[0]] = result
            return values[graph.output[0].name]

    return Network().eval()


def make(folder: pathlib.Path) -> int:
    import torch

    model, example = from_onnx(SOURCE), torch.zeros(1, 3, 224, 224)
    folder.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        torch.jit.trace(model, example).save(str(folder / "mobilenet_v2.pt"))
        torch.export.save(torch.export.export(model, (example,)), folder / "mobilenet_v2.pt2")
    return 0


def predictions(path: pathlib.Path, inputs: list[np.ndarray]) -> np.ndarray:
    model = PictureModel(path)
    return np.array([int(model(pixels).argmax()) for pixels in inputs])


def check(tool: str, folder: pathlib.Path, limit: int) -> int:
    test = labelled_images.every_few(labelled_images.imagenet_test(), limit)
    inputs = [labelled_images.pixels(file, "imagenet") for file, _ in test]
    labels = np.array([label for _, label in test])
    listing = labelled_images.write_listing(folder / "calibration.txt", labelled_images.imagenet_calibration())
    shape = ["--input-shape", "1x3x224x224"]
    program.report(tool, SOURCE, "-t", "tflite", "-o", folder / "float.tflite", *shape)
    exact = predictions(folder / "float.tflite", inputs)
    print(f"float: top-1 {np.mean(exact == labels):.4f} on {len(test)} images")
    rows, first, failed = {}, None, False
    for model in (SOURCE, folder / "mobilenet_v2.pt", folder / "mobilenet_v2.pt2"):
        output = folder / f"{model.suffix[1:]}_int8.tflite"
        program.report(tool, model, "-t", "coral", "-q", "ptq", "-o", output, "--calibration-data", listing,
                       *labelled_images.OPTIONS["imagenet"], *shape)
        operations = {row["op"]: row["count"] for row in program.report(tool, "inspect", output)["ops"]}
        classes = predictions(output, inputs)
        first = classes if first is None else first
        rows[model.suffix] = row = {
            "top1": float(np.mean(classes == labels)), "agreement": float(np.mean(classes == exact)),
            "same_as_onnx": float(np.mean(classes == first)), "transposes": operations.get("transpose", 0),
            "operations": sum(operations.values())}
        good = row["agreement"] >= AGREEMENT and row["transposes"] == 0 and row["same_as_onnx"] == 1.0
        failed |= not good
        print(f"{'pass' if good else 'FAIL'}  {model.suffix}: {json.dumps(row)}", flush=True)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("make").add_argument("folder", type=pathlib.Path)
    checker = verbs.add_parser("check")
    checker.add_argument("edgecompile")
    checker.add_argument("folder", type=pathlib.Path)
    checker.add_argument("--limit", type=int, default=300, help="score about this many images")
    args = parser.parse_args()
    if not SOURCE.exists():
        print(f"torch_mobilenet: no {SOURCE}, skipped")
        return 0
    return make(args.folder) if args.verb == "make" else check(args.edgecompile, args.folder, args.limit)


if __name__ == "__main__":
    sys.exit(main())
