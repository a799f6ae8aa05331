#!/usr/bin/env python3
"""Quantises Keras networks to int8 .tflite and for the Edge TPU, and compares with TensorFlow's converter.

    python tests/interop/keras_int8_check.py EDGECOMPILE [--only NAMES] [--out DIR]

Needs TensorFlow (requirements-tensorflow.txt). Networks have random weights and random samples; resnet8 is the trained one
of MLPerf Tiny, on CIFAR-10 pictures of ../shared/data. Both converters get the same calibration samples; all files run in
TensorFlow Lite. A network passes when its file has an SQNR to the float network that is at most 1 dB behind the converter's
(where that makes a file that runs), no TRANSPOSE where it is a CNN, and when its file for the Edge TPU (the integer .tflite that
Google's compiler takes, run on the CPU) is at most 1 dB behind as well. resnet8 passes when top-1 and agreement with the float
network of both files are not behind those of the converter's file.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import program

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
CALIBRATION, TEST = 48, 48


def networks(keras) -> dict:
    """Name: a function that makes the network, and whether it is a CNN."""
    L = keras.layers

    def chain(shape, *stack):
        x = inputs = keras.Input(shape)
        for layer in stack:
            x = layer(x)
        return keras.Model(inputs, x)

    def attention():
        inputs = keras.Input((12, 16))
        x = L.LayerNormalization()(inputs)
        x = L.Add()([inputs, L.MultiHeadAttention(2, 8)(x, x)])
        y = L.Dense(16)(L.Dense(32, activation="gelu")(L.LayerNormalization()(x)))
        return keras.Model(inputs, L.Dense(10)(L.GlobalAveragePooling1D()(L.Add()([x, y]))))

    def application(name):
        return getattr(keras.applications, name)(weights=None, input_shape=(64, 64, 3), classes=10, classifier_activation=None)

    return {
        "LSTM": (lambda: chain((12, 8), L.LSTM(16), L.Dense(10)), False),
        "GRU": (lambda: chain((12, 8), L.GRU(16), L.Dense(10)), False),
        "Bidirectional": (lambda: chain((12, 8), L.Bidirectional(L.LSTM(8, return_sequences=True)), L.Bidirectional(L.GRU(8)), L.Dense(10)), False),
        "ConvLSTM": (lambda: chain((4, 12, 12, 3), L.ConvLSTM2D(8, 3, padding="same"), L.GlobalAveragePooling2D(), L.Dense(10)), False),
        "attention": (attention, False),
        "MobileNetV3Small": (lambda: application("MobileNetV3Small"), True),
        "EfficientNetV2B0": (lambda: application("EfficientNetV2B0"), True),
    }


def settle(keras, network, samples) -> None:
    """Statistics of normalisations that fit the samples, as after training; scales and shifts that are not 1 and 0."""
    random = np.random.RandomState(2)
    for weight in network.weights:
        part = weight.path.rsplit("/", 1)[-1]
        if part == "gamma":
            weight.assign(random.uniform(0.7, 1.4, weight.shape))
        elif part in ("beta", "bias"):
            weight.assign(weight.numpy() + random.normal(0, 0.1, weight.shape))
    for layer in network._flatten_layers():
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.0
    network(samples, training=True)


class Lite:
    """A .tflite file in TensorFlow Lite."""

    def __init__(self, tf, path: pathlib.Path) -> None:
        self.interpreter = tf.lite.Interpreter(str(path), num_threads=1)
        self.interpreter.allocate_tensors()
        self.input, self.output = self.interpreter.get_input_details()[0], self.interpreter.get_output_details()[0]

    def operators(self) -> collections.Counter:
        # Without what the interpreter itself adds where it delegates.
        return collections.Counter(op["op_name"] for op in self.interpreter._get_ops_details() if op["op_name"] != "DELEGATE")

    def __call__(self, sample: np.ndarray) -> np.ndarray:
        value = sample[None]
        if self.input["dtype"] != np.float32:
            scale, zero = self.input["quantization"]
            limits = np.iinfo(self.input["dtype"])
            value = np.clip(np.round(value / scale) + zero, limits.min, limits.max).astype(self.input["dtype"])
        self.interpreter.set_tensor(self.input["index"], value)
        self.interpreter.invoke()
        result = self.interpreter.get_tensor(self.output["index"])[0]
        if self.output["dtype"] == np.float32:
            return result
        scale, zero = self.output["quantization"]
        return (result.astype(np.float32) - zero) * scale


def convert(folder: pathlib.Path) -> None:
    """TensorFlow's own int8 file of a Keras network and its results. A process of its own: the converter may crash."""
    import keras
    import tensorflow as tf

    calibration, test = np.load(folder / "samples.npy"), np.load(folder / "test.npy")
    shape = keras.InputSpec(shape=(1, *test.shape[1:]), dtype="float32")
    network = keras.models.load_model(next(folder.glob("network.*")), compile=False)
    network.export(str(folder / "exported"), verbose=False, input_signature=[shape])
    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder / "exported"))
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([sample[None]] for sample in calibration)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8, tf.lite.OpsSet.TFLITE_BUILTINS]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    (folder / "theirs.tflite").write_bytes(converter.convert())
    lite = Lite(tf, folder / "theirs.tflite")
    np.save(folder / "theirs.npy", np.array([lite(sample) for sample in test]))


def theirs(folder: pathlib.Path) -> np.ndarray | str:
    """What the converter's file gives, or what the converter said."""
    done = subprocess.run([sys.executable, __file__, "-", "--convert", str(folder)], capture_output=True, text=True)
    if done.returncode == 0:
        return np.load(folder / "theirs.npy")
    if done.returncode < 0:
        return f"signal {-done.returncode}"
    return next((line for line in reversed(done.stderr.splitlines()) if "rror" in line), done.stderr[-120:])[:160]


def sqnr(got: np.ndarray, wanted: np.ndarray) -> float:
    noise = float(np.square(got.astype(np.float64) - wanted).sum())
    return float(10 * np.log10(float(np.square(wanted.astype(np.float64)).sum()) / max(noise, 1e-30)))


def compile_for(binary: str, target: str, model: pathlib.Path, shape, samples: pathlib.Path, output: pathlib.Path) -> dict:
    return program.report(binary, model, "-t", target, "-q", "int8", "--io-type", "int8", "--input-shape", "1x" + "x".join(map(str, shape)),
                          "--calibration-data", samples, "-o", output)


def device_share(report: dict) -> str:
    """Operations on the Edge TPU of all."""
    placement = report["placement"]
    return f"{placement['native']} of {len(placement['operations'])}"


def check(tf, keras, binary: str, name: str, make, cnn: bool, folder: pathlib.Path) -> dict:
    keras.utils.set_random_seed(1)
    network = make()
    random = np.random.RandomState(0)
    samples = random.normal(0, 1, (CALIBRATION + TEST, *network.input_shape[1:])).astype(np.float32)
    if cnn:
        # Smooth pictures, as photographs are.
        coarse = random.uniform(0, 255, (len(samples), 8, 8, 3)).astype(np.float32)
        samples = np.array(tf.image.resize(coarse, network.input_shape[1:3], "bicubic"))
    settle(keras, network, samples[:CALIBRATION])
    wanted = np.array(network(samples[CALIBRATION:], training=False))
    np.save(folder / "samples.npy", samples[:CALIBRATION])
    np.save(folder / "test.npy", samples[CALIBRATION:])
    network.save(folder / "network.keras")
    row: dict = {"name": name}
    compile_for(binary, "tflite", folder / "network.keras", samples.shape[1:], folder / "samples.npy", folder / "ours.tflite")
    ours = Lite(tf, folder / "ours.tflite")
    row["ours"] = sqnr(np.array([ours(s) for s in samples[CALIBRATION:]]), wanted)
    row["operators"] = sum(ours.operators().values())
    row["transposes"] = ours.operators()["TRANSPOSE"]
    other = theirs(folder)
    if isinstance(other, str):
        row["theirs_failed"] = other
    else:
        row["theirs"] = sqnr(other, wanted)
    row["coral"] = device_share(compile_for(binary, "coral", folder / "network.keras", samples.shape[1:], folder / "samples.npy", folder / "coral.tflite"))
    coral = Lite(tf, folder / "coral.tflite")
    row["coral_sqnr"] = sqnr(np.array([coral(s) for s in samples[CALIBRATION:]]), wanted)
    least = row.get("theirs", 0) - 1
    row["good"] = bool(row["ours"] >= least and row["coral_sqnr"] >= least and (not cnn or row["transposes"] == 0))
    return row


def pictures(folder: pathlib.Path) -> tuple[np.ndarray, np.ndarray]:
    import tensorflow as tf

    files = [(f, label) for label, part in enumerate(sorted(p for p in folder.iterdir() if p.is_dir())) for f in sorted(part.iterdir())]
    return (np.array([tf.io.decode_jpeg(f.read_bytes(), channels=3).numpy().astype(np.float32) for f, _ in files]), np.array([label for _, label in files]))


def check_resnet8(tf, keras, binary: str, data: pathlib.Path, folder: pathlib.Path) -> dict:
    model = data / "mlperf_tiny" / "resnet8_cifar10.h5"
    network = keras.models.load_model(model, compile=False)
    calibration, _ = pictures(data / "cifar10" / "calibration")
    test, labels = pictures(data / "cifar10" / "test")
    np.save(folder / "samples.npy", calibration)
    np.save(folder / "test.npy", test)
    shutil.copy(model, folder / "network.h5")
    wanted = np.array(network(test, training=False))
    compile_for(binary, "tflite", model, (32, 32, 3), folder / "samples.npy", folder / "ours.tflite")
    placed = device_share(compile_for(binary, "coral", model, (32, 32, 3), folder / "samples.npy", folder / "coral.tflite"))
    other = theirs(folder)
    if isinstance(other, str):
        return {"name": "resnet8", "good": False, "failed": "TensorFlow's converter: " + other}
    published = data / "mlperf_tiny" / "resnet8_cifar10_int8.tflite"
    row: dict = {"name": "resnet8", "float_top1": float((wanted.argmax(1) == labels).mean()), "pictures": len(labels), "placed": placed}
    for name, path in (("ours", folder / "ours.tflite"), ("coral", folder / "coral.tflite"), ("theirs", folder / "theirs.tflite"), ("published", published)):
        lite = Lite(tf, path)
        got = np.array([lite(s) for s in test])
        row[name] = {"top1": float((got.argmax(1) == labels).mean()), "agreement": float((got.argmax(1) == wanted.argmax(1)).mean()),
                     "sqnr": sqnr(got, wanted), "operators": dict(lite.operators())}
    behind = [(mine, other) for mine in ("ours", "coral") for other in ("theirs", "published")
              if row[mine]["top1"] < row[other]["top1"] and row[mine]["agreement"] < row[other]["agreement"]]
    row["good"] = not behind and row["ours"]["operators"].get("TRANSPOSE", 0) == 0
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--only", help="networks, separated by commas")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--convert", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.convert:
        convert(options.convert)
        return 0
    import keras
    import tensorflow as tf

    binary, data = os.path.abspath(options.binary), pathlib.Path(os.environ.get("EC_SHARED_DATA", "../shared/data"))
    wanted = options.only.split(",") if options.only else None
    rows = []
    jobs = {name: lambda folder, n=name, m=make, c=cnn: check(tf, keras, binary, n, m, c, folder) for name, (make, cnn) in networks(keras).items()}
    if (data / "cifar10").is_dir():
        jobs["resnet8"] = lambda folder: check_resnet8(tf, keras, binary, data, folder)
    else:
        print(f"resnet8: no {data}, skipped")
    for name, job in jobs.items():
        if wanted and name not in wanted:
            continue
        keras.backend.clear_session()
        with tempfile.TemporaryDirectory() as folder:
            try:
                row = job(pathlib.Path(folder))
            except program.Failed as failure:
                row = {"name": name, "good": False, "failed": str(failure)[:300]}
        rows.append(row)
        print(("" if row["good"] else "FAILED ") + json.dumps(row), flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "keras_int8.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if all(row["good"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
