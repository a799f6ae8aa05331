#!/usr/bin/env python3
"""What reports say of models and of the files that are written, beside what the packages onnx and LiteRT read from the same files.

usage: statements_check.py --edgecompile PROGRAM [FOLDER ...]     (default: the models of the repository, and ../shared/data where it is)
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx
from ai_edge_litert.interpreter import Interpreter

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_BYTES = 5_000_000
NUMPY = {"float32": "f32", "float16": "f16", "float64": "f64", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32",
         "uint32": "u32", "int64": "i64", "uint64": "u64", "bool": "bool"}  # fmt: skip


def run(program: str, *arguments: object) -> tuple[int, dict]:
    done = subprocess.run([program, *map(str, arguments), "--json"], capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, json.loads(done.stdout)


def onnx_interface(path: pathlib.Path) -> tuple[dict, dict]:
    model = onnx.load(str(path), load_external_data=False)
    constants = {t.name for t in model.graph.initializer} | {t.values.name for t in model.graph.sparse_initializer}

    def values(infos) -> dict:
        found = {}
        for info in infos:
            tensor = info.type.tensor_type
            if info.name in constants or not info.type.HasField("tensor_type"):
                continue
            name = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
            dims = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim] if tensor.HasField("shape") else None
            found[info.name] = (NUMPY.get(name), dims)
        return found

    return values(model.graph.input), values(model.graph.output)


def litert_interface(path: pathlib.Path) -> tuple[dict, dict, collections.Counter]:
    interpreter = Interpreter(model_path=str(path))

    def values(details, names: dict) -> dict:
        found = {}
        for d in details:
            dims = [None if s < 0 else int(s) for s in (d["shape_signature"] if len(d["shape_signature"]) else d["shape"])]
            found[names.get(d["index"], d["name"])] = (NUMPY.get(d["dtype"].__name__), dims)
        return found

    names = [{}, {}]
    for runner in list(interpreter.get_signature_list())[:1]:
        signature = interpreter.get_signature_runner(runner)
        names = [{d["index"]: n for n, d in side.items()} for side in (signature.get_input_details(), signature.get_output_details())]
    operators = collections.Counter(op["op_name"] for op in interpreter._get_ops_details())
    return values(interpreter.get_input_details(), names[0]), values(interpreter.get_output_details(), names[1]), operators


def interface_faults(what: str, said: list[dict], held: dict) -> list[str]:
    faults = []
    if [v["name"] for v in said] != list(held):
        return [f"{what}: says {[v['name'] for v in said]}, holds {list(held)}"]
    for value in said:
        dtype, dims = held[value["name"]]
        if dtype is not None and value["dtype"] != dtype:
            faults.append(f"{what} '{value['name']}': says {value['dtype']}, holds {dtype}")
        sizes = value["shape"]
        if dims is None or sizes is None:
            continue
        if len(dims) != len(sizes) or any(h is not None and h != s for s, h in zip(sizes, dims)):
            faults.append(f"{what} '{value['name']}': says {sizes}, holds {dims}")
    return faults


def faults_of(program: str, path: pathlib.Path, folder: pathlib.Path) -> list[str]:
    faults: list[str] = []
    code, said = run(program, "inspect", path)
    if code == 0:
        try:
            inputs, outputs = onnx_interface(path) if path.suffix == ".onnx" else litert_interface(path)[:2]
        except (RuntimeError, ValueError) as error:
            print(f"  {path.name}: the peer does not open it: {str(error)[:80]}")
            return faults
        faults += interface_faults("input", said["result"]["inputs"], inputs)
        faults += interface_faults("output", said["result"]["outputs"], outputs)
    written = folder / "written.tflite"
    written.unlink(missing_ok=True)
    code, said = run(program, "compile", path, "-t", "tflite", "-o", written)
    if code != 0:
        return faults
    try:
        inputs, outputs, operators = litert_interface(written)
    except (RuntimeError, ValueError) as error:
        print(f"  {path.name}: LiteRT does not open what was written: {str(error)[:80]}")
        return faults
    faults += interface_faults("written input", said["result"]["inputs"], inputs)
    faults += interface_faults("written output", said["result"]["outputs"], outputs)
    if len({name for name in said["result"]["operators"]} & {"IF", "WHILE"}) == 0:
        operators.pop("DELEGATE", None)
        if said["result"]["operators"] != dict(operators):
            faults.append(f"operators: says {said['result']['operators']}, holds {dict(operators)}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--edgecompile", default=str(ROOT / "build/bin/edgecompile"))
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    folders = arguments.folders or [ROOT / "examples", ROOT / "tests/frontend/onnx/models", ROOT.parent / "shared/data"]
    models = [p for folder in folders for p in sorted(folder.rglob("*")) if p.suffix in (".onnx", ".tflite") and p.stat().st_size < MOST_BYTES
              and "hostile" not in p.parts]  # fmt: skip
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in models:
            faults = faults_of(arguments.edgecompile, path, pathlib.Path(folder))
            wrong += bool(faults)
            for fault in faults:
                print(f"{path}: {fault}")
    print(f"statements: {len(models)} models, {wrong} with differences")
    return 1 if wrong or not models else 0


if __name__ == "__main__":
    sys.exit(main())
