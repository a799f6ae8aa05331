"""Quantisation side by side with ONNX Runtime, ai-edge-quantizer and the TensorFlow converter.

    python benchmarks/quantize_vs_peers.py [--part accuracy|sets|calibration|weights] [--only GLOB] [--tool GLOB] [--out DIR]
        [--edgecompile PATH] [--ptq-python PYTHON] [--tf-python PYTHON] [--images N]

accuracy     int8 networks on 2,000 CIFAR-10 test images, 200 calibration images (the first 20 of each class)
sets         the same with five sets of 200 calibration images each, and what of top-1 is chance
calibration  time and peak memory of calibrating MobileNetV2 on 10, 100 and 1,000 images
weights      file size and outputs of dynamic range and float16 files

Every quantiser runs in a process of its own, which tells its time without imports and its peak memory. Files of ONNX
Runtime are executed as they stand, in floating point (graph optimisation off: its 8-bit kernels saturate on CPUs without
VNNI), .tflite files by LiteRT. Peers whose Python is not given, and data that is absent, are left out with a message.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "interop"))

import numpy as np

import program
from comparison import save_json, save_lines
from engines import ort_session
from litert import PictureModel
from machine import describe_setup
from measured_process import run_measured
from labelled_images import DATA, OPTIONS, cifar_calibration, cifar_test, every_few, imagenet_files, pixels, write_listing
from quantize_table import COLUMNS, markdown, merged

# name: model for us, model for TensorFlow, kind of pixels
NETWORKS = {
    "mobilenetv2": ("cifar10/zoo/mobilenetv2.onnx", None, "cifar"),
    "efficientnet": ("cifar10/zoo/efficientnet.onnx", None, "cifar"),
    "vit": ("cifar10/zoo/vit.onnx", None, "cifar"),
    "resnet8": ("mlperf_tiny/resnet8_cifar10_float.tflite", "mlperf_tiny/resnet8_cifar10.h5", "raw"),
}

SETS = 5  # of calibration images: 20 of each class, from every tenth of its 50 on


def run_peer(python: str, job: dict) -> dict:
    out, took = run_measured([python, str(HERE / "peer_quantisers.py"), json.dumps(job, default=str)])
    return took | json.loads(out.splitlines()[-1])


def run_ours(args, *arguments) -> dict:
    out, took = run_measured([args.edgecompile, *map(str, arguments), "--json", "--threads", str(args.threads)])
    report = json.loads(out)["result"].get("quantization") or {}
    steps = {step["step"]: step["ms"] / 1e3 for step in report.get("steps", [])}
    return took | {"seconds": took["wall"], "steps": steps, "calibrate_seconds": steps.get("calibrate")}


class OnnxModel:
    """The graph as it stands, in floating point."""

    def __init__(self, path):
        self.session = ort_session(path, as_it_stands=True)
        self.name = self.session.get_inputs()[0].name

    def __call__(self, x):
        return self.session.run(None, {self.name: x.transpose(2, 0, 1)[None].copy()})[0].reshape(-1)


def picture_model(path: pathlib.Path):
    return (OnnxModel if path.suffix == ".onnx" else PictureModel)(path)


def chance(right: list[bool], other: list[bool]) -> float:
    """How likely two networks that are right equally often differ at least as much in these answers (exact McNemar test)."""
    gained = sum(a and not b for a, b in zip(right, other))
    changed = sum(a != b for a, b in zip(right, other))
    return min(1.0, 2 * sum(math.comb(changed, k) for k in range(min(gained, changed - gained) + 1)) / 2**changed)


def judge(path: pathlib.Path, exact: list[np.ndarray], inputs: list[np.ndarray], labels: list[int]) -> dict:
    model = picture_model(path)
    right = []
    same = gained = lost = 0
    noise = signal = 0.0
    for x, label, wanted in zip(inputs, labels, exact):
        got = model(x).astype(np.float64)
        answer, float_answer = got.argmax(), wanted.argmax()
        right.append(bool(answer == label))
        same += int(answer == float_answer)
        gained += int(answer == label != float_answer)
        lost += int(answer != label == float_answer)
        noise += float(np.sum((got - wanted) ** 2))
        signal += float(np.sum(wanted**2))
    count = len(inputs)
    return {"top1": sum(right) / count, "agreement": same / count, "sqnr_db": 10 * np.log10(signal / noise) if noise else 120.0,
            "changed": f"+{gained} -{lost}", "right": right}


class Table:
    """Rows of one part; a peer that fails is a row with its reason."""

    def __init__(self, args, keep_answers: bool = False):
        self.args, self.rows, self.keep_answers = args, [], keep_answers
        self.ours = None  # which answers of our network are right

    def add(self, key: dict, make) -> None:
        if self.args.tool and not any(fnmatch.fnmatch(key["tool"], glob) for glob in self.args.tool):
            return
        right = None
        try:
            row = key | make()
            right = row.pop("right", None)
            if key["tool"] == "ours":
                self.ours = right
            elif right and self.ours:
                row["chance"] = chance(right, self.ours)
        except (RuntimeError, ValueError, OSError) as error:
            row = key | {"error": str(error).replace("\n", " ")[-160:]}
        self.rows.append(row | {"right": right} if self.keep_answers and right else row)
        print(json.dumps(row), flush=True)

    def peer(self, key: dict, python: str | None, job: dict, then=lambda row: row) -> None:
        if python is None:
            print(f"quantize_vs_peers: no Python for {key['tool']}, left out")
            return
        self.add(key, lambda: then(run_peer(python, job)))


def array_file(folder: pathlib.Path, kind: str, files) -> pathlib.Path:
    """What peers calibrate on: images that are read and prepared already."""
    path = folder / f"{kind}.npy"
    first = pixels(files[0], kind)
    array = np.lib.format.open_memmap(path, "w+", np.float32, (len(files), *first.shape))
    for i, file in enumerate(files):
        array[i] = pixels(file, kind)
    array.flush()
    return path


def chosen(args, names):
    return [name for name in names if not args.only or any(fnmatch.fnmatch(name, glob) for glob in args.only)]


class Network:
    """One of NETWORKS with the test images, and every quantiser that takes it."""

    def __init__(self, args, name: str, folder: pathlib.Path) -> None:
        model, self.keras, self.kind = NETWORKS[name]
        test = every_few(cifar_test(), args.images)
        self.args, self.name, self.folder, self.source = args, name, folder, DATA / model
        self.labels = [label for _, label in test]
        self.inputs = [pixels(file, self.kind) for file, _ in test]
        exact_model = picture_model(self.source)
        self.exact = [exact_model(x).astype(np.float64) for x in self.inputs]
        self.shape = ["--input-shape", "1x3x32x32" if self.source.suffix == ".onnx" else "1x32x32x3"]

    def float_row(self) -> dict:
        right = [int(e.argmax() == label) for e, label in zip(self.exact, self.labels)]
        return {"top1": sum(right) / len(right)}

    def judged(self, output: pathlib.Path):
        return lambda row: row | judge(output, self.exact, self.inputs, self.labels)

    def quantise(self, table: "Table", files, key: dict) -> None:
        """A row for each quantiser, calibrated with these images."""
        args, name, folder, source, key = self.args, self.name, self.folder, self.source, {"network": self.name} | key
        listing, arrays = write_listing(folder / "calibration.txt", files), array_file(folder, self.kind, files)
        ours = folder / f"{name}_ours.tflite"
        table.add(key | {"tool": "ours"},
                  lambda: self.judged(ours)(run_ours(args, source, "-t", "tflite", "-q", "ptq", *self.shape, *OPTIONS[self.kind],
                                                     "--calibration-data", listing, "-o", ours)))
        if source.suffix == ".onnx":
            for method in ("MinMax", "Percentile", "Entropy"):
                output = folder / f"{name}_{method}.onnx"
                job = {"tool": "ort", "method": method, "model": source, "output": output, "samples": arrays}
                table.peer(key | {"tool": f"ORT {method}"}, sys.executable, job, self.judged(output))
        # ai-edge-quantizer takes .tflite files that have a signature: one of them as it is but for that.
        plain = folder / f"{name}_float.tflite"
        run_ours(args, source, "-t", "tflite", *(self.shape if source.suffix == ".onnx" else ()), "-o", plain)
        output = folder / f"{name}_ai_edge.tflite"
        job = {"tool": "ai_edge", "method": "static", "model": plain, "output": output, "samples": arrays}
        table.peer(key | {"tool": "ai-edge-quantizer"}, args.ptq_python, job, self.judged(output))
        if self.keras:
            output = folder / f"{name}_tf.tflite"
            job = {"tool": "tensorflow", "method": "int8", "model": DATA / self.keras, "output": output, "samples": arrays}
            table.peer(key | {"tool": "TensorFlow"}, args.tf_python, job, self.judged(output))


def accuracy_part(args, folder: pathlib.Path) -> list[dict]:
    table = Table(args)
    for name in chosen(args, NETWORKS):
        network = Network(args, name, folder)
        table.add({"network": name, "tool": "float"}, network.float_row)
        network.quantise(table, cifar_calibration(), {})
    return table.rows


def over_sets(rows: list[dict], tool: str) -> dict:
    """One quantiser's rows of several sets, and how far its answers are from ours, with what chance of the test images makes of it."""
    own = [row for row in rows if row["tool"] == tool]
    failed = [row for row in own if "error" in row]
    if failed:
        return {"error": failed[0]["error"]}
    row = {"top1": np.mean([r["top1"] for r in own]), "top1_least": min(r["top1"] for r in own), "top1_most": max(r["top1"] for r in own),
           "agreement": np.mean([r["agreement"] for r in own]), "sqnr_db": np.mean([r["sqnr_db"] for r in own]),
           "sqnr_least": min(r["sqnr_db"] for r in own)}
    ours = [r for r in rows if r["tool"] == "ours"]
    if tool == "ours" or len(ours) != len(own):
        return row
    # By image: the mean over the sets of being right or not, theirs less ours.
    difference = np.mean([r["right"] for r in own], axis=0) - np.mean([r["right"] for r in ours], axis=0)
    return row | {"against_ours": difference.sum(), "interval": 1.96 * difference.std() * len(difference) ** 0.5}


def sets_part(args, folder: pathlib.Path) -> list[dict]:
    rows = []
    for name in chosen(args, NETWORKS):
        network, table = Network(args, name, folder), Table(args, keep_answers=True)
        for number in range(SETS):
            network.quantise(table, cifar_calibration(first=number * 10), {"set": number})
        for tool in dict.fromkeys(row["tool"] for row in table.rows):
            rows.append({"network": name, "tool": tool} | over_sets(table.rows, tool))
    return rows


def calibration_part(args, folder: pathlib.Path) -> list[dict]:
    table = Table(args)
    files = imagenet_files()
    model = DATA / "onnx" / "mobilenet_v2_1.0_224.onnx"
    for count in (10, 100, 1000):
        subset = files[:: len(files) // count][:count]
        images, arrays = write_listing(folder / f"images{count}.txt", subset), array_file(folder, "imagenet", subset)
        for method in ("auto", "kl", "minmax") if count == 100 else ("auto",):
            table.add({"images": count, "tool": f"ours {method}"},
                      lambda: run_ours(args, "quantize", model, "--input-shape", "1x3x224x224", *OPTIONS["imagenet"], "--calibration-data", images,
                                       "--calibration-method", method))
        for method in ("MinMax", "Entropy") if count > 10 else ():
            if method == "Entropy" and count > args.entropy_images:
                table.rows.append({"images": count, "tool": "ORT Entropy", "error": "not run: it keeps every activation of every image in memory"})
                continue
            job = {"tool": "ort", "method": method, "model": model, "output": folder / "q.onnx", "samples": arrays}
            table.peer({"images": count, "tool": f"ORT {method}"}, sys.executable, job)
    return table.rows


def weights_part(args, folder: pathlib.Path) -> list[dict]:
    table = Table(args)
    test = every_few(cifar_test(), args.images or 500)
    labels = [label for _, label in test]
    for name in chosen(args, NETWORKS):
        model, keras, kind = NETWORKS[name]
        source = DATA / model
        inputs = [pixels(file, kind) for file, _ in test]
        exact_model = picture_model(source)
        exact = [exact_model(x).astype(np.float64) for x in inputs]
        shape = ["--input-shape", "1x3x32x32" if source.suffix == ".onnx" else "1x32x32x3"]
        plain = folder / f"{name}_float.tflite"
        run_ours(args, source, "-t", "tflite", *shape, "-o", plain)

        def judged(output):
            return lambda row: row | judge(output, exact, inputs, labels) | {"size": output.stat().st_size}

        for how in ("dynamic", "float16"):
            key = {"network": name, "how": how}
            ours = folder / f"{name}_{how}.tflite"
            table.add(key | {"tool": "ours"}, lambda: judged(ours)(run_ours(args, source, "-t", "tflite", "-q", how, *shape, "-o", ours)))
            if how == "dynamic":
                output = folder / f"{name}_ai_edge_{how}.tflite"
                job = {"tool": "ai_edge", "method": how, "model": plain, "output": output}
                table.peer(key | {"tool": "ai-edge-quantizer"}, args.ptq_python, job, judged(output))
            if keras:
                output = folder / f"{name}_tf_{how}.tflite"
                job = {"tool": "tensorflow", "method": how, "model": DATA / keras, "output": output}
                table.peer(key | {"tool": "TensorFlow"}, args.tf_python, job, judged(output))
        table.add({"network": name, "how": "float", "tool": "ours"}, lambda: {"size": plain.stat().st_size})
    return table.rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edgecompile", default=program.find())
    parser.add_argument("--ptq-python", help="Python with ai-edge-quantizer")
    parser.add_argument("--tf-python", help="Python with TensorFlow")
    parser.add_argument("--part", action="append", choices=list(COLUMNS))
    parser.add_argument("--only", action="append", help="networks by name")
    parser.add_argument("--tool", action="append", help="quantisers by name: only their rows are made anew")
    parser.add_argument("--images", type=int, default=0, help="score about this many test images (default: all)")
    parser.add_argument("--entropy-images", type=int, default=100, help="largest set for ONNX Runtime's Entropy: 67 MB per image")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path, help="folder for quantize.{md,json}")
    args = parser.parse_args()
    if not DATA.is_dir():
        print(f"quantize_vs_peers: no {DATA}, skipped")
        return 0
    parts = {"accuracy": accuracy_part, "sets": sets_part, "calibration": calibration_part, "weights": weights_part}
    record_path = args.out / "quantize.json" if args.out else None
    results = json.loads(record_path.read_text())["parts"] if record_path and record_path.exists() else {}
    with tempfile.TemporaryDirectory() as scratch:
        for part in args.part or parts:
            results[part] = merged(results.get(part, []), parts[part](args, pathlib.Path(scratch)))
    setup = describe_setup("onnxruntime", "ai-edge-litert")
    lines = ["# Quantisation against its peers", "",
             f"{setup} {args.threads} threads for ours, as many as they like for the others. Seconds are those of the quantiser "
             "without imports of Python (of CPU: of all its threads together), peak MB those of its whole process. We read and prepare the pictures within that time, "
             "the others get arrays. Answers put right and wrong are those that differ from the float network's; chance is how likely "
             "top-1 would differ from ours at least as much if both were right equally often (exact McNemar test). With several sets: "
             "how many answers of the test images more are right than with ours, mean of the sets, and the interval that the choice of test images gives it."]
    for part in COLUMNS:
        if part in results:
            lines += markdown(part, results[part])
    print("\n".join(lines))
    save_lines(args.out, "quantize.md", lines)
    save_json(args.out, "quantize.json", {"setup": setup, "parts": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
