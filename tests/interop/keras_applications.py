#!/usr/bin/env python3
"""Compares the architectures of keras.applications, saved in every form, with TensorFlow.

    python tests/interop/keras_applications.py EDGECOMPILE [--only 'ResNet*'] [--out DIR] [--fresh]

Needs TensorFlow (requirements-tensorflow.txt). Every architecture has random weights and a small picture, and is saved as
.keras, .h5, SavedModel and frozen graph, each by a process of its own. A cell passes when its largest error is at most 1e-4
of the largest output, or when it is no further from the same network in double precision than TensorFlow is. The counts of
operations are those after optimisation; they have to be the same in all four forms, but for batch normalisations that stay:
a Keras file has one operation for each, TensorFlow's graphs a multiplication and an addition. Time and memory of the
import are compared by benchmarks/import_vs_tensorflow.py. Results are kept in OUT/keras_applications.json, a line for each
architecture, so that a run continues where the last one ended, whatever ended it; keras_applications.md is the table. One
architecture of each family comes first.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import program

TOLERANCE = 1e-4
FORMS = ("keras", "h5", "saved_model", "frozen")
# Smallest pictures that an architecture takes, by the start of its name.
SIZES = {"Xception": 96, "Inception": 96}
SIZE = 64
# Numbers grow from one residual block to the next. In networks of so many blocks with gates single precision then says nothing:
# TensorFlow itself is half of the result away from double precision. Blocks add less to what they get there.
QUIET = ("EfficientNetV2",)
# One of each family first, then the others by their size; what a later Keras adds comes last.
ORDER = ("EfficientNetV2B0 ConvNeXtTiny NASNetMobile InceptionResNetV2 Xception MobileNet VGG16 DenseNet121 MobileNetV2 MobileNetV3Small "
         "InceptionV3 ResNet50 ResNet50V2 EfficientNetB0 MobileNetV3Large EfficientNetB1 EfficientNetV2B1 EfficientNetB2 EfficientNetV2B2 "
         "EfficientNetB3 EfficientNetV2B3 DenseNet169 DenseNet201 EfficientNetB4 EfficientNetV2S EfficientNetB5 ResNet101V2 ResNet101 "
         "ConvNeXtSmall ResNet152V2 ResNet152 EfficientNetB6 EfficientNetV2M EfficientNetB7 VGG19 NASNetLarge ConvNeXtBase EfficientNetV2L "
         "ConvNeXtLarge ConvNeXtXLarge").split()


def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import keras
    import tensorflow as tf

    return tf, keras


def architectures() -> list[str]:
    """All of them, in the order to take."""
    _, keras = tensorflow()
    names = [name for name in sorted(dir(keras.applications)) if name[0].isupper() and callable(getattr(keras.applications, name))]
    return [name for name in ORDER if name in names] + [name for name in names if name not in ORDER]


def make_network(keras, name: str):
    """The network with weights that are random everywhere: no scale is 1 and no shift 0, as in trained ones."""
    size = next((value for start, value in SIZES.items() if name.startswith(start)), SIZE)
    keras.utils.set_random_seed(1)
    network = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=10, classifier_activation=None)
    random = np.random.RandomState(2)
    for weight in network.weights:
        part = weight.path.rsplit("/", 1)[-1]
        if part in ("moving_variance", "gamma") and len(weight.shape) == 1:
            quiet = 0.3 if name.startswith(QUIET) and part == "gamma" and "project" in weight.path else 1.0
            weight.assign(weight.numpy() * quiet * random.uniform(0.7, 1.4, weight.shape))
        elif part in ("moving_mean", "beta", "bias"):
            weight.assign(random.normal(0, 0.1, weight.shape))
    return network, random.uniform(0, 1, (1, size, size, 3)).astype(np.float32)


def in_double_precision(keras, name: str, weights: list[np.ndarray], picture: np.ndarray) -> np.ndarray:
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")  # what layers follow; it does not follow the former
    try:
        network, _ = make_network(keras, name)
        network.set_weights([value.astype(np.float64) for value in weights])
        return np.asarray(network(picture.astype(np.float64), training=False))
    finally:
        keras.config.set_floatx("float32")
        keras.config.set_dtype_policy("float32")


def save(tf, keras, network, picture: np.ndarray, form: str, folder: pathlib.Path) -> pathlib.Path:
    if form == "saved_model":
        network.export(str(folder / "saved_model"), verbose=False)
        return folder / "saved_model"
    if form == "frozen":
        from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

        function = tf.function(lambda x: network(x, training=False)).get_concrete_function(tf.TensorSpec(picture.shape, tf.float32))
        constants = convert_variables_to_constants_v2(function, lower_control_flow=False)
        (folder / "frozen.pb").write_bytes(constants.graph.as_graph_def().SerializeToString())
        return folder / "frozen.pb"
    network.save(folder / f"network.{form}")
    return folder / f"network.{form}"


def relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a.astype(np.float64) - b).max() / max(1e-30, np.abs(b).max()))


def compare(binary: str, name: str) -> dict:
    """All forms of one architecture."""
    tf, keras = tensorflow()
    network, picture = make_network(keras, name)
    wanted = np.asarray(network(picture, training=False))
    row: dict = {"parameters": int(network.count_params()), "size": picture.shape[1], "forms": {}}
    exact = None
    for form in FORMS:
        with tempfile.TemporaryDirectory() as text:
            cell: dict = {}
            row["forms"][form] = cell
            model = save(tf, keras, network, picture, form, pathlib.Path(text))
            try:
                shapes = program.shapes_in_order([picture])
                got = next(iter(program.run_model(binary, model, [picture], *shapes).values()))
                cell["error"] = relative(got, wanted)
                cell["good"] = cell["error"] <= TOLERANCE
                if not cell["good"]:
                    if exact is None:
                        exact = in_double_precision(keras, name, network.get_weights(), picture)
                    cell["error_double"], cell["theirs_double"] = relative(got, exact), relative(wanted, exact)
                    cell["good"] = cell["error_double"] <= cell["theirs_double"]
                done = program.report(binary, "optimize", model, "-o", f"{text}/network.ecir", *shapes)
                cell["operations"] = done["operations_after"]
                kinds = collections.Counter(layer["op"] for layer in program.report(binary, "inspect", f"{text}/network.ecir")["layers"])
                cell["batch_norms"], cell["kinds"] = kinds.pop("batch_norm", 0), dict(sorted(kinds.items()))
                (pathlib.Path(text) / "network.ecir").unlink()
            except (program.Failed, RuntimeError, subprocess.TimeoutExpired) as failure:
                cell["good"], cell["failure"] = False, str(failure)[:300]
    return row


def same_operations(row: dict) -> bool:
    """Of each kind as many in all forms, a batch normalisation counted as the multiplication and addition that it is."""

    def counted(cell: dict) -> collections.Counter:
        n = cell.get("batch_norms", 0)
        return collections.Counter(cell.get("kinds", {})) + collections.Counter({"mul": n, "add": n})

    first, *others = map(counted, row["forms"].values())
    return all(other == first for other in others)


def cell_text(cell: dict) -> str:
    if "error" not in cell:
        return "FAILED: " + cell["failure"]
    text = f"{cell['error']:.1e}"
    if "error_double" in cell:
        text = f"{cell['error_double']:.1e} of double precision, TensorFlow {cell['theirs_double']:.1e}"
    return text if cell["good"] else f"{text} FAILED {cell.get('failure', '')}"


def table(results: dict) -> str:
    cells = [(cell, form) for row in results.values() for form, cell in row["forms"].items()]
    same = [name for name, row in results.items() if same_operations(row)]

    lines = [
        "# keras.applications against TensorFlow", "",
        f"{len(results)} architectures with random weights, saved by TensorFlow and Keras in four forms. A cell is the largest error as a",
        "share of the largest output; at most 0.0001 passes, or no further from double precision than TensorFlow is.",
        f"{sum(cell['good'] for cell, _ in cells)} of {len(cells)} pass; {len(same)} of {len(results)} architectures have the same operations after optimisation in all forms: as many of each",
        "kind, where a batch normalisation that stays counts as a multiplication and an addition, which it is in TensorFlow's graphs.",
        "Made by `tests/interop/keras_applications.py`.", "",
        "| architecture | picture | parameters | " + " | ".join(FORMS) + " | operations |",
        "|---|---|---|" + "---|" * len(FORMS) + "---|",
    ]
    for name, row in results.items():
        counts = [row["forms"][form].get("operations", 0) for form in FORMS]
        operations = str(counts[0]) if len(set(counts)) == 1 else ", ".join(f"{form} {n}" for form, n in zip(FORMS, counts))
        lines.append(f"| {name} | {row['size']} | {row['parameters'] / 1e6:.1f} M | "
                     + " | ".join(cell_text(row["forms"][form]) for form in FORMS) + f" | {operations} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--only", default="*", help="architectures, patterns separated by commas")
    parser.add_argument("--out", default="build/zoo", type=pathlib.Path)
    parser.add_argument("--fresh", action="store_true", help="compare again what was compared before")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    if options.one:
        print(json.dumps(compare(binary, options.one)))
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    kept = options.out / "keras_applications.json"
    results = json.loads(kept.read_text()) if kept.exists() and not options.fresh else {}
    good = True
    for name in architectures():
        if not any(fnmatch.fnmatch(name, pattern) for pattern in options.only.split(",")):
            continue
        if name not in results:
            done = subprocess.run([sys.executable, __file__, binary, "--one", name], capture_output=True, text=True)
            if done.returncode != 0:
                print(f"{name}: FAILED: {done.stderr[-500:]}", flush=True)
                good = False
                continue
            results[name] = json.loads(done.stdout.splitlines()[-1])
            lines = (f"{json.dumps(key)}: {json.dumps(row)}" for key, row in sorted(results.items()))
            kept.write_text("{\n" + ",\n".join(lines) + "\n}\n")
            (options.out / "keras_applications.md").write_text(table(dict(sorted(results.items()))))
        row = results[name]
        counts = {cell.get("operations") for cell in row["forms"].values()}
        good = good and same_operations(row) and all(cell["good"] for cell in row["forms"].values())
        print(f"{name}: " + ", ".join(f"{form} {cell_text(cell)}" for form, cell in row["forms"].items())
              + f"; operations {sorted(counts, key=str)}{'' if same_operations(row) else ' FAILED: they differ'}", flush=True)
    (options.out / "keras_applications.md").write_text(table(dict(sorted(results.items()))))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
