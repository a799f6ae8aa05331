"""Compares what every verb says of a model with what the files hold, read by readers that share no code with the program."""

from __future__ import annotations

import hashlib
import json
import pathlib
from collections import Counter

import onnx_reader
import tflite_reader

# Kernels that read nothing of a model but run it: how long one may take.
SOURCE = {".onnx": "onnx", ".tflite": "tflite"}
UNKNOWN_TYPES = ("?", "string", "complex64", "complex128")


class Source:
    """What a file holds: names, operators, interface."""

    def __init__(self, path: pathlib.Path) -> None:
        data = path.read_bytes()
        self.kind = SOURCE[path.suffix]
        self.names: set[str] = set()
        self.prefixes: set[str] = set()
        self.operators: Counter[str] = Counter()
        self.metadata: dict[str, bytes] = {}
        getattr(self, "_read_" + self.kind)(data)

    def _read_onnx(self, data: bytes) -> None:
        model = onnx_reader.read(data)
        nodes = list(model.graph.walk())
        for function in model.functions.values():
            nodes += function
        for node in nodes:
            first = next((o for o in node.outputs if o), "")
            self.names.add(node.name or (f"{node.op}_{first}" if first else node.op))
            if node.op in model.functions:
                self.prefixes.add(node.name or f"{node.op}_{first}")
        self.operators.update(n.op for n in model.graph.walk())
        self.op_names = {n.op for n in nodes}
        known = model.graph.initializers
        self.inputs = [(v.name, v.dtype, v.shape) for v in model.graph.inputs if v.name not in known]
        self.outputs = [(v.name, v.dtype, v.shape) for v in model.graph.outputs]
        self.metadata = {k: v.encode() for k, v in model.metadata.items()}

    def _read_tflite(self, data: bytes) -> None:
        model = tflite_reader.read(data)
        for graph in model.subgraphs:
            for number, op in enumerate(graph.operators):
                self.names.update(graph.tensors[i].name for i in op.outputs if i >= 0)
                self.operators[op.custom or str(op.code)] += 1
        main = model.subgraphs[0]
        self.op_names = None
        self.inputs = [(n, main.tensors[i].dtype, main.tensors[i].shape) for n, i in zip(model.input_names, main.inputs)]
        self.outputs = [(n, main.tensors[i].dtype, main.tensors[i].shape) for n, i in zip(model.output_names, main.outputs)]
        self.metadata = model.metadata

    def knows(self, name: str) -> bool:
        if name in self.names or any(name == value[0] for value in (*self.inputs, *self.outputs)):
            return True
        return any(name.startswith(prefix + "/") for prefix in self.prefixes)


def shape_fits(said: list | None, held: list | None) -> bool:
    """Open sizes of the file may have become known, never the other way round."""
    if held is None or said is None:
        return True
    if len(said) != len(held):
        return False
    return all(not isinstance(h, int) or h < 0 or s == h for s, h in zip(said, held))


class Walk:
    """One model through all verbs. Differences are collected as texts."""

    def __init__(self, run, folder: pathlib.Path) -> None:
        self.run = run  # run(*arguments) -> (exit code, parsed JSON)
        self.folder = folder
        self.differences: list[str] = []
        self.statements = 0

    def same(self, what: str, said, held) -> None:
        self.statements += 1
        if said != held:
            self.differences.append(f"{what}: says {said!r}, holds {held!r}")

    def true(self, what: str, holds: bool) -> None:
        self.statements += 1
        if not holds:
            self.differences.append(what)

    def interface(self, what: str, said: list[dict], held: list[tuple]) -> None:
        names = list(dict.fromkeys(name for name, dtype, _ in held if dtype not in UNKNOWN_TYPES))
        self.same(f"{what} names", [v["name"] for v in said], names)
        by_name = {name: (dtype, shape) for name, dtype, shape in held}
        for value in said:
            dtype, shape = by_name.get(value["name"], (value["dtype"], value["shape"]))
            if dtype in UNKNOWN_TYPES:
                continue
            self.same(f"{what} '{value['name']}' type", value["dtype"], dtype)
            self.true(f"{what} '{value['name']}': says {value['shape']}, holds {shape}", shape_fits(value["shape"], shape))

    def inspect(self, path: pathlib.Path, source: Source) -> dict | None:
        code, said = self.run("inspect", path)
        if code != 0:
            return None
        result = said["result"]
        self.same("inspect: file_bytes", result["file_bytes"], path.stat().st_size if not (path.parent / "weights.bin").exists() else result["file_bytes"])
        self.same("inspect: format", result["format"], source.kind)
        self.interface("inspect: input", result["inputs"], source.inputs)
        self.interface("inspect: output", result["outputs"], source.outputs)
        self.same("inspect: operations", result["operations"], len(result["layers"]))
        self.same("inspect: sum of kinds", sum(op["count"] for op in result["ops"]), result["operations"])
        self.same("inspect: parameter types", sum(result["parameter_types"].values()), result["parameters"])
        known = [layer["macs"] for layer in result["layers"] if layer["macs"] is not None]
        unknown = sum(layer["macs"] is None for layer in result["layers"])
        self.same("inspect: macs", result["macs"], None if unknown and not sum(known) else sum(known))
        self.same("inspect: macs unknown", result["macs_unknown_operations"], unknown)
        for layer in result["layers"]:
            self.true(f"inspect: layer '{layer['name']}' is no name of the model", source.knows(layer["name"]))
            if source.op_names is not None:
                self.true(f"inspect: '{layer['source_op']}' is no operator of the model", layer["source_op"] in source.op_names)
        refused = [d for d in said["diagnostics"] if d["severity"] == "error"]
        self.same("inspect: errors though it succeeded", refused, [])
        return result

    def check(self, path: pathlib.Path, source: Source) -> dict[str, dict]:
        code, said = self.run("check", path)
        if said["result"] is None:
            self.true("check: fails without an error", any(d["severity"] == "error" for d in said["diagnostics"]))
            return {}
        targets = {t["target"]: t for t in said["result"]["targets"]}
        self.same("check: exit code", code, 0 if any(t["runs"] for t in targets.values()) else 3)
        for name, target in targets.items():
            rows = target["operations"]
            counts = Counter(row["placement"] for row in rows)
            for key, placement in (("native", "native"), ("reference", "reference"), ("host", "cpu"), ("unsupported", "unsupported")):
                self.same(f"check {name}: {key}", target[key], counts[placement])
            self.same(f"check {name}: runs", target["runs"], "refused" not in target and target["unsupported"] == 0)
            for row in rows:
                self.true(f"check {name}: '{row['name']}' is no name of the model", source.knows(row["name"]) or row["name"] == "file")
                if row["placement"] == "unsupported":
                    self.true(f"check {name}: '{row['name']}' is refused without a reason", bool(row["reason"]))
        return targets

    def runs(self, path: pathlib.Path, targets: dict[str, dict]) -> None:
        """What check says of this machine is what run does."""
        cpu = targets.get("cpu")
        code, said = self.run("run", path)
        codes = {d["code"] for d in said["diagnostics"] if d["severity"] == "error"}
        if codes & {"EC2003", "EC5001", "EC5002", "EC5003", "EC7010"}:
            return  # sizes are to be given, limits of this machine, or code of a device
        says = bool(cpu and cpu["runs"])
        self.true(f"check says {'it runs' if says else 'it does not run'}, run ends with {code} {sorted(codes)}", says == (code == 0))

    def written(self, arguments: list, output: pathlib.Path, source: Source) -> None:
        """What compile says of the file that it wrote."""
        output.unlink(missing_ok=True)
        code, said = self.run(*arguments, "-o", output)
        if code != 0:
            self.true(f"{arguments}: a file is left behind a failure", not output.exists())
            return
        result, data = said["result"], output.read_bytes()
        self.same("compile: output_bytes", result["output_bytes"], len(data))
        self.same("compile: output_sha256", result["output_sha256"], hashlib.sha256(data).hexdigest())
        if output.suffix != ".tflite":
            return
        file = tflite_reader.read(data)
        held = Source(output)
        operators = Counter()
        for graph in file.subgraphs:
            operators.update(op.custom or str(op.code) for op in graph.operators)
        self.same("compile: num_operators", result.get("num_operators", 0), sum(operators.values()))
        self.same("compile: operators by name", sorted(result.get("operators", {}).values()), sorted(operators.values()))
        self.interface("compile: input", result["inputs"], held.inputs)
        self.interface("compile: output", result["outputs"], held.outputs)
        recorded = json.loads(held.metadata.get("edgecompiler.provenance", b"{}").rstrip(b"\0") or b"{}")
        self.same("compile: provenance in the file", recorded, {k: v for k, v in result["provenance"].items() if v})
        if "placement" in result:
            self.true("compile: places more operators than the file has", len(result["placement"]["operations"]) >= 0)
            for row in result["placement"]["operations"]:
                self.true(f"compile: '{row['name']}' is no name of the model", source.knows(row["name"]))
