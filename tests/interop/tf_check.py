#!/usr/bin/env python3
"""TensorFlow models against what TensorFlow computes.

usage: tf_check.py EDGECOMPILE recorded FOLDER      files with recorded results (index.json beside them); no TensorFlow needed
       tf_check.py EDGECOMPILE networks [NAME...]   networks that Keras and TensorFlow save here, as SavedModel and as frozen graph;
                                                    needs requirements-tensorflow.txt
       tf_check.py EDGECOMPILE operators [NAME...]  single operators that networks seldom have, as frozen graphs

An error of 1e-4 of the largest output is allowed. Of networks, the processor time of our whole program is printed beside that of
TensorFlow's loader alone; it decides nothing, as small networks measure the start of a process.
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

import program

TOLERANCE = 1e-4
# Architectures of keras.applications and the size of their pictures: one of every family.
APPLICATIONS = {
    "MobileNet": 96, "MobileNetV2": 96, "MobileNetV3Small": 96, "EfficientNetB0": 64, "EfficientNetV2B0": 64, "ResNet50": 64,
    "ResNet50V2": 64, "DenseNet121": 64, "NASNetMobile": 64, "Xception": 96, "InceptionV3": 96, "VGG16": 64, "ConvNeXtTiny": 64,
}


def arrays(npz, prefix: str) -> list[np.ndarray]:
    found = []
    while f"{prefix}{len(found)}" in npz:
        found.append(npz[f"{prefix}{len(found)}"])
    return found


def worst_error(binary: str, model: pathlib.Path, inputs: list[np.ndarray], wanted: list[np.ndarray]) -> float:
    """The largest error of any output, relative to its largest value."""
    got = list(program.run_model(binary, model, inputs, *program.shapes_in_order(inputs)).values())
    if [g.shape for g in got] != [w.shape for w in wanted]:
        raise program.Failed([binary], 0, "", f"shapes {[g.shape for g in got]}, expected {[w.shape for w in wanted]}")
    return max(float(np.abs(g.astype(np.float64) - w).max() / max(1e-30, np.abs(w).max())) for g, w in zip(got, wanted))


def check_recorded(binary: str, folder: pathlib.Path) -> bool:
    good = True
    for name, entry in json.loads((folder / "index.json").read_text()).items():
        model = folder / name
        if not (model.is_dir() or name.endswith(".pb")):
            continue
        if "reject" in entry:
            outcome = subprocess.run([binary, "inspect", model], capture_output=True, text=True)
            words = [word.strip("():;,") for word in entry["reject"].split() if "=" in word or "/" in word]
            passed = outcome.returncode != 0 and all(word in outcome.stderr for word in words)
            print(f"{name}: {'refused with the advice' if passed else 'FAILED: ' + outcome.stderr[:300]}")
        else:
            npz = np.load(folder / entry["npz"])
            try:
                error = worst_error(binary, model, arrays(npz, "in"), arrays(npz, "out"))
                passed = error <= TOLERANCE
                print(f"{name}: {error:.1e}{'' if passed else ' FAILED'}")
            except program.Failed as failure:
                passed = False
                print(f"{name}: FAILED: {failure}")
        good = good and passed
    return good


def seconds_of(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def layers(tf, keras) -> dict:
    """Networks of layers that the applications lack, with their inputs."""
    rnd = np.random.RandomState(0)

    def network(shape, *stack):
        x = inputs = keras.Input(shape)
        for layer in stack:
            x = layer(x)
        return keras.Model(inputs, x), [rnd.uniform(-1, 1, (1, *shape)).astype(np.float32)]

    L = keras.layers

    class Mel(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([1, 2000], tf.float32, name="audio")])
        def __call__(self, audio):
            spectrum = tf.abs(tf.signal.stft(audio, 256, 128, fft_length=256))
            mel = tf.signal.linear_to_mel_weight_matrix(20, 129, 8000, 20.0, 4000.0)
            return tf.math.log(tf.tensordot(spectrum, mel, 1) + 1e-6)

    return {
        "lstm": network((6, 5), L.Bidirectional(L.LSTM(3, return_sequences=True)), L.LSTM(4)),
        "gru": network((6, 5), L.GRU(3, return_sequences=True), L.GRU(4, reset_after=False)),
        "simple_rnn": network((6, 5), L.SimpleRNN(4)),
        "conv_lstm": network((4, 8, 8, 2), L.ConvLSTM2D(3, 3, padding="same")),
        "mel": (Mel(), [rnd.uniform(-1, 1, (1, 2000)).astype(np.float32)]),
    }


def check_network(binary: str, tf, keras, name: str, network, inputs: list[np.ndarray], folder: pathlib.Path) -> bool:
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    saved, frozen = folder / f"{name}_saved", folder / f"{name}.pb"
    if isinstance(network, keras.Model):
        network.export(str(saved), verbose=False)
        specs = [tf.TensorSpec(value.shape, value.dtype) for value in inputs]
        function = tf.function(lambda *x: network(x if len(x) > 1 else x[0], training=False)).get_concrete_function(*specs)
    else:
        tf.saved_model.save(network, str(saved), signatures=network.__call__)
        function = network.__call__.get_concrete_function()
    constants = convert_variables_to_constants_v2(function, lower_control_flow=False)
    frozen.write_bytes(constants.graph.as_graph_def().SerializeToString())
    start = time.process_time()
    loaded = tf.saved_model.load(str(saved))
    theirs = time.process_time() - start
    signature = loaded.signatures["serving_default"]
    names = list(signature.structured_input_signature[1])
    results = signature(**{n: tf.constant(value) for n, value in zip(names, inputs)})
    wanted = [results[key].numpy() for key in sorted(results)]
    good = True
    for model in (saved, frozen):
        try:
            error = worst_error(binary, model, inputs, wanted)
            ours = seconds_of([binary, "inspect", str(model)])
            passed = error <= TOLERANCE
            print(f"{model.name}: {error:.1e}, import {ours:.3f} s of processor time, TensorFlow {theirs:.3f} s{'' if passed else ' FAILED'}", flush=True)
        except program.Failed as failure:
            passed = False
            print(f"{model.name}: FAILED: {failure}", flush=True)
        good = good and passed
    return good


def check_networks(binary: str, wanted: list[str]) -> bool:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import keras
    import tensorflow as tf

    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name, (network, inputs) in layers(tf, keras).items():
            if not wanted or name in wanted:
                good = check_network(binary, tf, keras, name, network, inputs, pathlib.Path(folder)) and good
        for name, size in APPLICATIONS.items():
            if wanted and name not in wanted:
                continue
            keras.backend.clear_session()
            keras.utils.set_random_seed(1)
            network = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=10, classifier_activation=None)
            picture = np.random.RandomState(0).uniform(0, 1, (1, size, size, 3)).astype(np.float32)
            good = check_network(binary, tf, keras, name, network, [picture], pathlib.Path(folder)) and good
    return good


def operators(tf) -> dict:
    """Name of a case: a function of tensors, and its inputs."""
    rnd = np.random.RandomState(0)
    image = rnd.uniform(-1, 1, (2, 9, 7, 3)).astype(np.float32)
    cases = {}
    for method in ("lanczos3", "lanczos5", "gaussian", "mitchellcubic", "bilinear", "bicubic", "area"):
        for size in ((4, 5), (13, 16)):
            # Without antialiasing TensorFlow looks the cubic kernel up in a table of 1,024 places, which costs 1e-3.
            for antialias in (True,) if method == "bicubic" else (False, True):
                cases[f"resize {method} {size} {antialias}"] = (
                    lambda x, m=method, s=size, a=antialias: tf.image.resize(x, s, m, antialias=a), [image])
    for kernel in ("lanczos1", "box", "triangle"):
        cases[f"ScaleAndTranslate {kernel}"] = (lambda x, k=kernel: tf.raw_ops.ScaleAndTranslate(
            images=x, size=[6, 11], scale=[0.7, 1.9], translation=[0.4, -2.1], kernel_type=k, antialias=True), [image])
    boxes = np.array([[0.1, 0.2, 0.8, 0.9], [-0.2, 0.1, 0.6, 1.3], [0.7, 0.9, 0.2, 0.1]], np.float32)
    for method in ("bilinear", "nearest"):
        cases[f"CropAndResize {method}"] = (lambda x, b, m=method: tf.image.crop_and_resize(
            x, b, [0, 1, 1], [5, 4], method=m, extrapolation_value=0.25), [image, boxes])
    cases["CropAndResize one"] = (lambda x, b: tf.image.crop_and_resize(x, b, [1, 0, 1], [1, 1]), [image, boxes])
    for size, stride, rate in ((3, 1, 1), (3, 2, 2), (2, 2, 1)):
        for padding in ("VALID", "SAME"):
            cases[f"ExtractImagePatches {size} {stride} {rate} {padding}"] = (lambda x, k=size, s=stride, r=rate, p=padding: tf.image.extract_patches(
                x, [1, k, k, 1], [1, s, s, 1], [1, r, r, 1], p), [image])
    cases["ExtractImagePatches apart"] = (lambda x: tf.image.extract_patches(
        x[:, :8, :6], [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"), [image])
    matrix, wide = image[..., 0], image[0]
    cases["MatrixDiag"] = (lambda x: tf.linalg.diag(x), [wide])
    cases["MatrixDiagPart"] = (lambda x: tf.linalg.diag_part(x), [matrix])
    cases["MatrixDiagPart wide"] = (lambda x: tf.linalg.diag_part(tf.transpose(x, [0, 2, 1])), [matrix])
    cases["MatrixSetDiag"] = (lambda x, d: tf.linalg.set_diag(x, d), [matrix, image[:, 0, :, 0]])
    candidates = rnd.uniform(0, 0.6, (2, 40, 1, 2)).astype(np.float32)
    candidates = np.concatenate([candidates, candidates + rnd.uniform(0.1, 0.5, candidates.shape).astype(np.float32)], -1)
    scores = rnd.uniform(0, 1, (2, 40, 3)).astype(np.float32)
    for clip, pad, threshold in ((True, False, 0.3), (False, True, 0.3), (True, False, 0.97)):
        cases[f"CombinedNonMaxSuppression {clip} {pad} {threshold}"] = (
            lambda b, s, c=clip, p=pad, t=threshold: tuple(tf.cast(y, tf.float32) for y in tf.image.combined_non_max_suppression(
                b, s, 6, 14, 0.4, t, clip_boxes=c, pad_per_class=p)), [candidates, scores])
    return cases


def check_operators(binary: str, wanted: list[str]) -> bool:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import tensorflow as tf

    good, passed = True, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (body, inputs) in operators(tf).items():
            if wanted and not any(name.startswith(start) for start in wanted):
                continue
            function = tf.function(body).get_concrete_function(*(tf.TensorSpec(value.shape, value.dtype) for value in inputs))
            results = function(*map(tf.constant, inputs))
            results = results if isinstance(results, (tuple, list)) else [results]
            model = pathlib.Path(folder) / "operator.pb"
            model.write_bytes(function.graph.as_graph_def().SerializeToString())
            try:
                error = worst_error(binary, model, inputs, [result.numpy() for result in results])
                if error <= TOLERANCE:
                    passed += 1
                    continue
                print(f"{name}: FAILED: {error:.1e}", flush=True)
            except program.Failed as failure:
                print(f"{name}: FAILED: {failure}", flush=True)
            good = False
    print(f"{passed} operators agree")
    return good


def main() -> int:
    if len(sys.argv) < 3 or sys.argv[2] not in ("recorded", "networks", "operators"):
        print(__doc__)
        return 2
    binary, what, rest = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    if what == "recorded":
        good = check_recorded(binary, pathlib.Path(rest[0]))
    else:
        good = check_networks(binary, rest) if what == "networks" else check_operators(binary, rest)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
