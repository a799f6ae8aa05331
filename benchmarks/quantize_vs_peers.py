"""Quantisation side by side with ONNX Runtime, ai-edge-quantizer and the TensorFlow converter.

    python benchmarks/quantize_vs_peers.py [--part accuracy|calibration|weights] [--only GLOB] [--tool GLOB] [--out DIR]
        [--edgecompile PATH] [--ptq-python PYTHON] [--tf-python PYTHON] [--images N]

accuracy     int8 networks on 2,000 CIFAR-10 test images, 200 calibration images (the first 20 of each class)
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
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = pathlib.Path(os.environ.get("EC_SHARED_DATA", ROOT.parent / "shared" / "data"))
CIFAR_MEAN, CIFAR_STD = np.float32((0.4914, 0.4822, 0.4465)), np.float32((0.2470, 0.2435, 0.2616))


# --- data ---------------------------------------------------------------------------------------------------------------
def cifar_files(folder: str) -> dict[str, list[pathlib.Path]]:
    root = DATA / "cifar10" / folder
    return {p.name: sorted(p.iterdir()) for p in sorted(root.iterdir()) if p.is_dir()}


def calibration_files() -> list[pathlib.Path]:
    return [file for files in cifar_files("calibration").values() for file in files[:20]]


def test_files(limit: int) -> list[tuple[pathlib.Path, int]]:
    pairs = [(file, i) for i, files in enumerate(cifar_files("test").values()) for file in files]
    return pairs[:: max(1, len(pairs) // limit)] if limit else pairs


def pixels(file: pathlib.Path, kind: str) -> np.ndarray:
    """One picture, channels last."""
    from PIL import Image

    picture = Image.open(file).convert("RGB")
    if kind == "imagenet":
        left = (picture.width - 224) // 2
        return np.asarray(picture.crop((left, left, left + 224, left + 224)), np.float32) / 127.5 - 1
    raw = np.asarray(picture, np.float32)
    return raw if kind == "raw" else ((raw / 255 - CIFAR_MEAN) / CIFAR_STD).astype(np.float32)


OPTIONS = {
    "cifar": ["--mean", ",".join(f"{v:.4f}" for v in CIFAR_MEAN), "--std", ",".join(f"{v:.4f}" for v in CIFAR_STD)],
    "raw": ["--pixel-range", "255"],
    "imagenet": ["--mean", "127.5", "--std", "127.5", "--resize", "crop:256"],
}
# name: model for us, model for TensorFlow, kind of pixels
NETWORKS = {
    "mobilenetv2": ("cifar10/zoo/mobilenetv2.onnx", None, "cifar"),
    "efficientnet": ("cifar10/zoo/efficientnet.onnx", None, "cifar"),
    "vit": ("cifar10/zoo/vit.onnx", None, "cifar"),
    "resnet8": ("mlperf_tiny/resnet8_cifar10_float.tflite", "mlperf_tiny/resnet8_cifar10.h5", "raw"),
}


# --- quantisers, each in a process of its own ---------------------------------------------------------------------------
def samples_of(job: dict):
    for x in np.load(job["samples"], mmap_mode="r"):
        yield np.array(x[None])


def quantise_ort(job: dict) -> None:
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
    import onnx

    name = onnx.load(job["model"]).graph.input[0].name

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.samples = ({name: x.transpose(0, 3, 1, 2).copy()} for x in samples_of(job))

        def get_next(self):
            return next(self.samples, None)

    quantize_static(job["model"], job["output"], Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
                    calibrate_method=getattr(CalibrationMethod, job["method"]))


def quantise_ai_edge(job: dict) -> None:
    from ai_edge_quantizer import quantizer, recipe

    dynamic = job["method"] == "dynamic"
    worker = quantizer.Quantizer(job["model"], recipe.dynamic_wi8_afp32() if dynamic else recipe.static_wi8_ai8())
    if dynamic:
        worker.quantize().export_model(job["output"], overwrite=True)
        return
    from ai_edge_litert.interpreter import Interpreter

    signature, tensors = next(iter(Interpreter(job["model"]).get_signature_list().items()))
    data = {signature: [{tensors["inputs"][0]: x} for x in samples_of(job)]}
    worker.quantize(worker.calibrate(data)).export_model(job["output"], overwrite=True)


def quantise_tensorflow(job: dict) -> None:
    import tensorflow as tf

    converter = tf.lite.TFLiteConverter.from_keras_model(tf.keras.models.load_model(job["model"], compile=False))
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if job["method"] == "int8":
        converter.representative_dataset = lambda: ([x] for x in samples_of(job))
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    if job["method"] == "float16":
        converter.target_spec.supported_types = [tf.float16]
    pathlib.Path(job["output"]).write_bytes(converter.convert())


QUANTISERS = {"ort": quantise_ort, "ai_edge": quantise_ai_edge, "tensorflow": quantise_tensorflow}


def warm_up(tool: str) -> None:
    """Imports are no work of the quantiser."""
    if tool == "ort":
        import onnxruntime.quantization  # noqa: F401
    if tool == "ai_edge":
        from ai_edge_quantizer import quantizer  # noqa: F401
    if tool == "tensorflow":
        import tensorflow  # noqa: F401


def worker(text: str) -> int:
    job = json.loads(text)
    warm_up(job["tool"])
    start, before = time.perf_counter(), time.process_time()
    QUANTISERS[job["tool"]](job)
    seconds, busy = time.perf_counter() - start, time.process_time() - before
    print(json.dumps({"seconds": seconds, "cpu_seconds": busy}))
    return 0


def run_measured(command: list[str]) -> tuple[str, dict]:
    """Output, and what it took."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"})
        peak = 0.0
        while True:
            peak = max(peak, peak_memory(process.pid))
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            raise RuntimeError(f"exit {process.returncode}: {(out.read() + err.read())[-300:]}")
        return out.read(), {"wall": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime, "memory_mb": peak}


def peak_memory(pid: int) -> float:
    """MB so far. What the kernel tells when the process ends counts this program's memory too."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmHWM:")), 0.0)


def run_peer(python: str, job: dict) -> dict:
    out, took = run_measured([python, __file__, "--worker", json.dumps(job, default=str)])
    return took | json.loads(out.splitlines()[-1])


def run_ours(args, *arguments) -> dict:
    out, took = run_measured([args.edgecompile, *map(str, arguments), "--json", "--threads", str(args.threads)])
    report = json.loads(out)["result"].get("quantization") or {}
    steps = {step["step"]: step["ms"] / 1e3 for step in report.get("steps", [])}
    return took | {"seconds": took["wall"], "steps": steps, "calibrate_seconds": steps.get("calibrate")}


# --- judging ------------------------------------------------------------------------------------------------------------
class OnnxScores:
    def __init__(self, path):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.name = self.session.get_inputs()[0].name

    def __call__(self, x):
        return self.session.run(None, {self.name: x.transpose(2, 0, 1)[None].copy()})[0].reshape(-1)


class TfliteScores:
    def __init__(self, path):
        from ai_edge_litert.interpreter import Interpreter

        self.interpreter = Interpreter(str(path))
        self.interpreter.allocate_tensors()
        self.input = self.interpreter.get_input_details()[0]
        self.output = self.interpreter.get_output_details()[0]

    def __call__(self, x):
        value = x[None] if self.input["shape"][-1] == 3 else x.transpose(2, 0, 1)[None]
        if self.input["dtype"] != np.float32:
            scale, zero = self.input["quantization"]
            limits = np.iinfo(self.input["dtype"])
            value = np.clip(np.round(value / scale) + zero, limits.min, limits.max).astype(self.input["dtype"])
        self.interpreter.set_tensor(self.input["index"], np.ascontiguousarray(value))
        self.interpreter.invoke()
        result = self.interpreter.get_tensor(self.output["index"]).reshape(-1)
        if self.output["dtype"] == np.float32:
            return result
        scale, zero = self.output["quantization"]
        return (result.astype(np.float32) - zero) * scale


def scores_of(path: pathlib.Path):
    return (OnnxScores if path.suffix == ".onnx" else TfliteScores)(path)


def judge(path: pathlib.Path, exact: list[np.ndarray], inputs: list[np.ndarray], labels: list[int]) -> dict:
    scores = scores_of(path)
    right = same = 0
    noise = signal = 0.0
    for x, label, wanted in zip(inputs, labels, exact):
        got = scores(x).astype(np.float64)
        right += int(got.argmax() == label)
        same += int(got.argmax() == wanted.argmax())
        noise += float(np.sum((got - wanted) ** 2))
        signal += float(np.sum(wanted**2))
    count = len(inputs)
    return {"top1": right / count, "agreement": same / count, "sqnr_db": 10 * np.log10(signal / noise) if noise else 120.0}


# --- parts --------------------------------------------------------------------------------------------------------------
class Table:
    """Rows of one part; a peer that fails is a row with its reason."""

    def __init__(self, args):
        self.args, self.rows = args, []

    def add(self, key: dict, make) -> None:
        if self.args.tool and not any(fnmatch.fnmatch(key["tool"], glob) for glob in self.args.tool):
            return
        try:
            row = key | make()
        except (RuntimeError, ValueError, OSError) as error:
            row = key | {"error": str(error).replace("\n", " ")[-160:]}
        self.rows.append(row)
        print(json.dumps(row), flush=True)

    def peer(self, key: dict, python: str | None, job: dict, then=lambda row: row) -> None:
        if python is None:
            print(f"quantize_vs_peers: no Python for {key['tool']}, left out")
            return
        self.add(key, lambda: then(run_peer(python, job)))


def listing(folder: pathlib.Path, name: str, files) -> pathlib.Path:
    path = folder / f"{name}.txt"
    path.write_text("".join(f"{file}\n" for file in files))
    return path


def array_file(folder: pathlib.Path, kind: str, files) -> pathlib.Path:
    """What peers calibrate on: pictures that are read and prepared already."""
    path = folder / f"{kind}.npy"
    first = pixels(files[0], kind)
    array = np.lib.format.open_memmap(path, "w+", np.float32, (len(files), *first.shape))
    for i, file in enumerate(files):
        array[i] = pixels(file, kind)
    array.flush()
    return path


def chosen(args, names):
    return [name for name in names if not args.only or any(fnmatch.fnmatch(name, glob) for glob in args.only)]


def accuracy_part(args, folder: pathlib.Path) -> list[dict]:
    table = Table(args)
    calibration = listing(folder, "calibration", calibration_files())
    test = test_files(args.images)
    labels = [label for _, label in test]
    for name in chosen(args, NETWORKS):
        model, keras, kind = NETWORKS[name]
        arrays = array_file(folder, kind, calibration_files())
        inputs = [pixels(file, kind) for file, _ in test]
        source = DATA / model
        exact_scores = scores_of(source)
        exact = [exact_scores(x).astype(np.float64) for x in inputs]
        top1 = sum(int(e.argmax() == label) for e, label in zip(exact, labels)) / len(labels)
        table.add({"network": name, "tool": "float"}, lambda: {"top1": top1})
        shape = ["--input-shape", "1x3x32x32" if source.suffix == ".onnx" else "1x32x32x3"]

        def judged(output):
            return lambda row: row | judge(output, exact, inputs, labels)

        ours = folder / f"{name}_ours.tflite"
        table.add({"network": name, "tool": "ours"},
                  lambda: judged(ours)(run_ours(args, source, "-t", "tflite", "-q", "ptq", *shape, *OPTIONS[kind],
                                                "--calibration-data", calibration, "-o", ours)))
        if source.suffix == ".onnx":
            for method in ("MinMax", "Percentile", "Entropy"):
                output = folder / f"{name}_{method}.onnx"
                job = {"tool": "ort", "method": method, "model": source, "output": output, "samples": arrays}
                table.peer({"network": name, "tool": f"ORT {method}"}, sys.executable, job, judged(output))
        plain = folder / f"{name}_float.tflite"
        run_ours(args, source, "-t", "tflite", *shape, "-o", plain)
        output = folder / f"{name}_ai_edge.tflite"
        job = {"tool": "ai_edge", "method": "static", "model": plain, "output": output, "samples": arrays}
        table.peer({"network": name, "tool": "ai-edge-quantizer"}, args.ptq_python, job, judged(output))
        if keras:
            output = folder / f"{name}_tf.tflite"
            job = {"tool": "tensorflow", "method": "int8", "model": DATA / keras, "output": output, "samples": arrays}
            table.peer({"network": name, "tool": "TensorFlow"}, args.tf_python, job, judged(output))
    return table.rows


def calibration_part(args, folder: pathlib.Path) -> list[dict]:
    table = Table(args)
    files = sorted((DATA / "imagenet1000").glob("*.jpg"))
    model = DATA / "onnx" / "mobilenet_v2_1.0_224.onnx"
    for count in (10, 100, 1000):
        subset = files[:: len(files) // count][:count]
        images, arrays = listing(folder, f"images{count}", subset), array_file(folder, "imagenet", subset)
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
    test = test_files(args.images or 500)
    labels = [label for _, label in test]
    for name in chosen(args, NETWORKS):
        model, keras, kind = NETWORKS[name]
        source = DATA / model
        inputs = [pixels(file, kind) for file, _ in test]
        exact_scores = scores_of(source)
        exact = [exact_scores(x).astype(np.float64) for x in inputs]
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


# --- output -------------------------------------------------------------------------------------------------------------
def cell(row: dict, key: str, form: str) -> str:
    return form.format(row[key]) if row.get(key) is not None else ""


COLUMNS = {
    "accuracy": [("network", "network", "{}"), ("quantiser", "tool", "{}"), ("top-1", "top1", "{:.4f}"),
                 ("agreement with float", "agreement", "{:.4f}"), ("output SQNR dB", "sqnr_db", "{:.1f}"),
                 ("seconds", "seconds", "{:.1f}"), ("of CPU", "cpu_seconds", "{:.1f}"), ("peak MB", "memory_mb", "{:.0f}"), ("", "error", "{}")],
    "calibration": [("images", "images", "{}"), ("quantiser", "tool", "{}"), ("seconds", "seconds", "{:.1f}"),
                    ("of CPU", "cpu_seconds", "{:.1f}"), ("calibration alone", "calibrate_seconds", "{:.1f}"), ("peak MB", "memory_mb", "{:.0f}"), ("", "error", "{}")],
    "weights": [("network", "network", "{}"), ("form", "how", "{}"), ("writer", "tool", "{}"), ("bytes", "size", "{:,}"),
                ("top-1", "top1", "{:.4f}"), ("agreement with float", "agreement", "{:.4f}"),
                ("output SQNR dB", "sqnr_db", "{:.1f}"), ("", "error", "{}")],
}
TITLES = {"accuracy": "int8 networks", "calibration": "Calibrating MobileNetV2", "weights": "Weights stored smaller"}


def markdown(part: str, rows: list[dict]) -> list[str]:
    columns = COLUMNS[part]
    lines = ["", f"## {TITLES[part]}", "", "| " + " | ".join(c[0] for c in columns) + " |", "|---" * len(columns) + "|"]
    for row in rows:
        lines.append("| " + " | ".join(cell(row, key, form) for _, key, form in columns) + " |")
    return lines


def merged(old: list[dict], new: list[dict]) -> list[dict]:
    """New rows in the place of old ones for the same thing."""
    keys = ("network", "how", "images", "tool")
    fresh = {tuple(row.get(key) for key in keys): row for row in new}
    rows = [fresh.pop(tuple(row.get(key) for key in keys), row) for row in old]
    return rows + list(fresh.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--edgecompile", default=os.environ.get("EC_BIN", str(ROOT / "build" / "bin" / "edgecompile")))
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
    if args.worker:
        return worker(args.worker)
    if not DATA.is_dir():
        print(f"quantize_vs_peers: no {DATA}, skipped")
        return 0
    from machine import describe_setup

    parts = {"accuracy": accuracy_part, "calibration": calibration_part, "weights": weights_part}
    record_path = args.out / "quantize.json" if args.out else None
    results = json.loads(record_path.read_text())["parts"] if record_path and record_path.exists() else {}
    with tempfile.TemporaryDirectory() as scratch:
        for part in args.part or parts:
            results[part] = merged(results.get(part, []), parts[part](args, pathlib.Path(scratch)))
    setup = describe_setup("onnxruntime", "ai-edge-litert")
    lines = ["# Quantisation against its peers", "",
             f"{setup} {args.threads} threads for ours, as many as they like for the others. Seconds are those of the quantiser "
             "without imports of Python (of CPU: of all its threads together), peak MB those of its whole process. We read and prepare the pictures within that time, "
             "the others get arrays."]
    for part in COLUMNS:
        if part in results:
            lines += markdown(part, results[part])
    print("\n".join(lines))
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "quantize.md").write_text("\n".join(lines) + "\n")
        record_path.write_text(json.dumps({"setup": setup, "parts": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
