#!/usr/bin/env python3
"""Reading and converting TensorFlow and Keras files, side by side with TensorFlow: time, and our memory.

    python benchmarks/import_vs_tensorflow.py EDGECOMPILE [--only MobileNetV2,VGG16] [--repeat 3] [--out DIR]

Needs TensorFlow (tests/interop/requirements-tensorflow.txt), so it is not part of `make bench`. Architectures of
keras.applications with random weights, each as .keras, .h5, SavedModel and frozen graph. Three runs of the program are
compared with what TensorFlow does with the same file:

    inspect   the graph is read, weights stay in the file      with the loader (tf.saved_model.load, keras.models.load_model,
    import    the graph and all weights, `--stop-after import`  import_graph_def)
    compile   to a float .tflite, self-check included           with loader and TFLiteConverter

Ours are whole processes, start and end included; TensorFlow's times begin after `import tensorflow`, in a process that has
loaded and converted before. Both take turns; the least of each counts. Memory is the largest resident size of our process.
TensorFlow's is not measured: it reuses what earlier work in its process has freed. The files are in the page cache. Results are kept in OUT/import.json after each file, so that a run continues where it ended.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "interop"))
import keras_applications
from machine import describe_setup
from measured_process import run_measured

FORMS = keras_applications.FORMS
KINDS = {"inspect": "load", "import": "load", "compile": "convert"}  # of ours, and what it is compared with
USUAL = "MobileNet,MobileNetV2,MobileNetV3Small,EfficientNetB0,EfficientNetV2B0,NASNetMobile,DenseNet121,Xception,ResNet50,ConvNeXtTiny,VGG16"


# --- TensorFlow's side, in a process of its own ------------------------------------------------------------------------------


def load(tf, keras, model: str, form: str):
    if form == "saved_model":
        return tf.saved_model.load(model)
    if form != "frozen":
        return keras.models.load_model(model, compile=False)
    graph = tf.compat.v1.GraphDef()
    graph.ParseFromString(pathlib.Path(model).read_bytes())
    return tf.compat.v1.wrap_function(lambda: tf.compat.v1.import_graph_def(graph, name=""), [])


def frozen_interface(tf, model: str) -> tuple[list[str], list[str]]:
    graph = tf.compat.v1.GraphDef()
    graph.ParseFromString(pathlib.Path(model).read_bytes())
    used = {name.split(":")[0].lstrip("^") for node in graph.node for name in node.input}
    return ([node.name for node in graph.node if node.op == "Placeholder"],
            [node.name for node in graph.node if node.name not in used and node.op not in ("NoOp", "Placeholder")])


def convert(tf, keras, model: str, form: str, interface) -> None:
    if form == "saved_model":
        converter = tf.lite.TFLiteConverter.from_saved_model(model)
    elif form == "frozen":
        converter = tf.compat.v1.lite.TFLiteConverter.from_frozen_graph(model, *interface)
    else:
        converter = tf.lite.TFLiteConverter.from_keras_model(load(tf, keras, model, form))
    with tempfile.NamedTemporaryFile() as out:
        out.write(converter.convert())


def serve(name: str, folder: pathlib.Path) -> None:
    """Saves an architecture in all forms and says where, then does what it is told on its input, and says what it took."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # converters print
    tf, keras = keras_applications.tensorflow()
    network, picture = keras_applications.make_network(keras, name)
    models = {form: str(keras_applications.save(tf, keras, network, picture, form, folder)) for form in FORMS}
    del network
    interface = frozen_interface(tf, models["frozen"])
    small = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    small.save(folder / "small.keras")
    keras.models.load_model(folder / "small.keras")
    tf.lite.TFLiteConverter.from_keras_model(small).convert()
    print(json.dumps(models), file=answers, flush=True)
    for line in sys.stdin:
        what, form = line.split()
        keras.backend.clear_session()
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        answer: dict = {}
        try:
            made = load(tf, keras, models[form], form) if what == "load" else convert(tf, keras, models[form], form, interface)
            answer = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
            del made
        except Exception as failure:  # noqa: BLE001: whatever TensorFlow says; Keras 3.15 cannot load its own MobileNetV3 as .h5
            answer = {"failed": str(failure)[:200]}
        print(json.dumps(answer), file=answers, flush=True)


class Theirs:
    def __init__(self, name: str, folder: str):
        self.process = subprocess.Popen([sys.executable, __file__, "", "--serve", name, folder], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.models = {form: pathlib.Path(path) for form, path in json.loads(self.process.stdout.readline()).items()}

    def run(self, what: str, form: str) -> dict:
        print(what, form, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline() or '{"failed": "the process ended"}')

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


# --- ours --------------------------------------------------------------------------------------------------------------------


def command(binary: str, kind: str, model: pathlib.Path, folder: str) -> list[str]:
    if kind == "inspect":
        return [binary, "inspect", str(model)]
    return [binary, "compile", str(model), "-t", "tflite", "-o", f"{folder}/ours.tflite", *(["--stop-after", "import"] if kind == "import" else [])]


def timed(arguments: list[str]) -> dict:
    """A whole process. Polling for memory would spoil the time of a short one, so that is another run."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall": wall, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def least(runs: list[dict]) -> dict:
    failed = [run for run in runs if "failed" in run]
    return failed[0] if failed else {key: min(run[key] for run in runs) for key in runs[0]}


def compare(binary: str, theirs: Theirs, form: str, repeat: int, kinds: list[str]) -> dict:
    model = theirs.models[form]
    files = [f for f in [model, *model.rglob("*")] if f.is_file()]
    row: dict = {"file_mb": sum(f.stat().st_size for f in files) / 1e6}
    with tempfile.TemporaryDirectory() as folder:
        ours: dict = {kind: [] for kind in kinds}
        others: dict = {"load": []}
        for _ in range(repeat):
            for kind in kinds:
                ours[kind].append(timed(command(binary, kind, model, folder)))
            others["load"].append(theirs.run("load", form))
        if "compile" in kinds:
            others["convert"] = [theirs.run("convert", form)]
        for kind in kinds:
            ours[kind].append(timed(command(binary, kind, model, folder)))
        row |= {kind: least(runs) for kind, runs in (ours | others).items()}
        for kind in kinds:
            row[kind]["memory_mb"] = run_measured(command(binary, kind, model, folder))[1]["memory_mb"]
    return row


# --- table -------------------------------------------------------------------------------------------------------------------


def factor(row: dict, kind: str, measure: str) -> float | None:
    other = row.get(KINDS[kind], {"failed": "not run"})
    return None if "failed" in other else other[measure] / row[kind][measure]


def table(results: dict) -> str:
    rows = [(name, form, row) for name, forms in results.items() for form, row in forms.items()]
    lines = ["# Reading and converting TensorFlow and Keras files", "",
             "How many times less processor time (wall time) ours takes, median and least, by form:", "",
             "| form | files | inspect, weights left in the file | import, all weights in memory | compile to float .tflite |", "|---|---|---|---|---|"]
    for form in FORMS:
        mine = [row for _, f, row in rows if f == form]
        cells = []
        for kind in KINDS:
            parts = []
            for measure in ("cpu", "wall"):
                values = [v for v in (factor(row, kind, measure) for row in mine) if v is not None]
                parts.append(f"{statistics.median(values):.0f} / {min(values):.1f}" if values else "none")
            cells.append(f"{parts[0]} ({parts[1]})")
        if mine:
            lines.append(f"| {form} | {len(mine)} | " + " | ".join(cells) + " |")
    held = [row["import"]["memory_mb"] / row["file_mb"] for *_, row in rows if row["file_mb"] > 50]
    lines += ["", "inspect and import against TensorFlow's loader, compile (self-check included) against loader and TFLiteConverter. Ours are whole",
              "processes; TensorFlow's times begin after its import. Made by `benchmarks/import_vs_tensorflow.py`, which says more.",
              *([f"Import with all weights took at most {max(held):.2f} times the file in memory, the program included, for files of more than 50 MB."] if held else []),
              describe_setup("tensorflow-cpu", "keras"), "",
              "Seconds of processor time (wall), and MB of memory for ours:", "",
              "| architecture | form | file, MB | loader | inspect | import | converter | compile |", "|---|---|---|---|---|---|---|---|"]
    for name, form, row in rows:
        cells = []
        for kind in ("load", "inspect", "import", "convert", "compile"):
            cell = row.get(kind)
            cells.append("not run" if cell is None else "fails" if "failed" in cell else f"{cell['cpu']:.3f} ({cell['wall']:.3f})" + (f", {cell['memory_mb']:.0f}" if kind in KINDS else ""))
        lines.append(f"| {name} | {form} | {row['file_mb']:.0f} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--only", default=USUAL, help="architectures, separated by commas")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--kinds", default=",".join(KINDS), help="of our runs; without compile nothing is converted")
    parser.add_argument("--repeat", type=int, default=2, help="loads of each file; it is converted once")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/import"))
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve[0], pathlib.Path(options.serve[1]))
        return 0
    binary = os.path.abspath(options.binary)
    options.out.mkdir(parents=True, exist_ok=True)
    kept = options.out / "import.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for name in options.only.split(","):
        forms = [form for form in options.forms.split(",") if form not in results.get(name, {})]
        if not forms:
            continue
        with tempfile.TemporaryDirectory() as folder:
            theirs = Theirs(name, folder)
            for form in forms:
                row = compare(binary, theirs, form, options.repeat, options.kinds.split(","))
                results.setdefault(name, {})[form] = row
                kept.write_text(json.dumps(results, indent=1) + "\n")
                (options.out / "import.md").write_text(table(results))
                factors = {kind: factor(row, kind, "cpu") for kind in KINDS}
                print(name, form, ", ".join(f"{kind} {value:.1f}" if value else f"{kind} none" for kind, value in factors.items()), flush=True)
            theirs.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
