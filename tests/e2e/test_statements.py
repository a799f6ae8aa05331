"""Every statement is true: what the verbs say of models is compared with what the files hold.

  test_statements.py                the models in the repository, and small ones that are built here
  test_statements.py --shared DIR   the models of a folder, up to some megabytes each
"""

from __future__ import annotations

import json
import pathlib
import struct
import sys
import unittest

import flat_builder
import onnx_builder as onnx
import sample_files as files
from harness import Case
from statement_walk import SOURCE, Source, Walk

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_BYTES = 5_000_000
LIMITS = ("--timeout", "20")


def unknown_op_model() -> bytes:
    """Ten layers around an operator that nobody knows, and one behind it that its type decides."""
    weights = [((i * 37) % 19 - 9) / 20 for i in range(3 * 3 * 3 * 3)]
    nodes, at = [], "x"
    for i in range(5):
        nodes.append(onnx.node("Conv", [at, "w"], [f"c{i}"], f"conv{i}", pads=[1, 1, 1, 1]))
        nodes.append(onnx.node("Relu", [f"c{i}"], [f"r{i}"], f"relu{i}"))
        at = f"r{i}"
        if i == 2:
            nodes.append(onnx.node("Frobnicate", [at], ["f"], "frob", domain="my.ops"))
            at = "f"
    nodes.append(onnx.node("Reshape", [at, "s"], ["y"], "reshape"))
    constants = [onnx.tensor("w", [3, 3, 3, 3], weights), onnx.tensor("s", [2], [1, 192], onnx.INT64)]
    return onnx.model(nodes, [onnx.value("x", [1, 3, 8, 8])], [onnx.value("y", [1, 192])], constants, domains={"my.ops": 1})


def tflite_model(code: dict) -> bytes:
    """RELU, then the operator, then RELU again."""
    tensors = [{0: [1, 4], 1: 0, 2: 0, 3: name} for name in ("x", "a", "b", "y")]
    operators = [{0: 0, 1: [0], 2: [1]}, {0: 1, 1: [1], 2: [2]}, {0: 0, 1: [2], 2: [3]}]
    subgraph = {0: tensors, 1: [0], 2: [3], 3: operators, 4: "main"}
    return flat_builder.file({0: 3, 1: [{0: 19, 2: 1, 3: 19}, code], 2: [subgraph], 3: "test", 4: [{}]}, b"TFL3")


class Statements(Case):
    def walked(self, path: pathlib.Path, *, compiled: bool = True) -> Walk:
        def run(*arguments: object) -> tuple[int, dict]:
            outcome = self.run_program(*arguments, "--json", *(LIMITS if arguments[0] in ("run",) else ()))
            return outcome.code, outcome.json

        walk = Walk(run, self.dir)
        source = Source(path)
        walk.inspect(path, source)
        targets = walk.check(path, source)
        walk.runs(path, targets)
        if compiled:
            walk.written(["compile", path, "-t", "tflite"], self.dir / "written.tflite", source)
            walk.written(["optimize", path], self.dir / "written.onnx", source)
        return walk

    def agrees(self, path: pathlib.Path, **options) -> Walk:
        walk = self.walked(path, **options)
        self.assertEqual(walk.differences, [], path)
        return walk

    def test_models_of_the_repository(self):
        models = [ROOT / "examples/shapes/shapes.onnx", *sorted((ROOT / "tests/frontend/onnx/models").glob("*/model.onnx"))]
        self.assertGreater(len(models), 30)
        differences = {}
        for model in models:
            walk = self.walked(model)
            self.assertGreater(walk.statements, 10, model)
            if walk.differences:
                differences[str(model.relative_to(ROOT))] = walk.differences
        self.assertEqual(differences, {}, json.dumps(differences, indent=1))

    def test_an_unknown_operator_is_one_of_many(self):
        path = self.write("unknown.onnx", unknown_op_model())
        self.agrees(path)
        inspected = self.good("inspect", path, "--json")
        self.assertEqual(inspected.result["operations"], 12)
        self.assertEqual(inspected.result["unsupported"], 1)
        self.assertIn({"op": "Frobnicate", "count": 1, "macs": None, "supported": False}, inspected.result["ops"])
        self.assertEqual([d["code"] for d in inspected.json["diagnostics"]], ["EC3001"])
        for target in ("cpu", "tflite", "coral"):
            with self.subTest(target=target):
                checked = self.run_program("check", path, "-t", target, "--json")
                self.assertEqual((checked.code, checked.codes), (3, ["EC3004"]))
                rows = checked.result["operations"]
                refused = [row for row in rows if row["placement"] == "unsupported"]
                self.assertEqual([row["name"] for row in refused], ["frob"])
                self.assertIn("'Frobnicate'", refused[0]["reason"])
                self.assertGreaterEqual(len(rows), 7)
        self.assertIn("1 of 12 operations cannot run", self.bad(3, "EC3004", "check", path, "-t", "cpu", "--passes", "none").err)
        self.bad(3, "EC3001", "run", path)
        self.bad(3, "EC3001", "compile", path, "-o", "never.ecir")
        self.assertEqual(self.files(), ["unknown.onnx"])

    def test_faults_of_a_file_are_shown_and_refused(self):
        nodes = [onnx.node("Relu", ["x"], ["a"], "fine"), onnx.node("MatMul", ["a", "w"], ["b"], "misfit"), onnx.node("Relu", ["b"], ["y"], "behind")]
        path = self.write("faulty.onnx", onnx.model(nodes, [onnx.value("x", [2, 3])], [onnx.value("y", [2, 5])], [onnx.tensor("w", [4, 5], [0.5] * 20)]))
        inspected = self.good("inspect", path, "--json")
        self.assertEqual(inspected.result["operations"], 3)
        self.assertEqual([d["severity"] for d in inspected.json["diagnostics"]], ["warning"])
        for verb in ("check", "run"):
            self.assertEqual(self.run_program(verb, path, "--json").codes[0], "EC2001")

    def test_custom_and_unknown_operators_of_tflite(self):
        custom = self.write("custom.tflite", tflite_model({0: 32, 1: "my-op", 2: 1, 3: 32}))
        newer = self.write("newer.tflite", tflite_model({0: 127, 2: 1, 3: 5000}))
        for path in (custom, newer):
            self.agrees(path)
            self.assertEqual(self.good("inspect", path, "--json").result["unsupported"], 1)
            checked = self.run_program("check", path, "-t", "cpu", "--json")
            self.assertEqual((checked.code, checked.result["unsupported"], len(checked.result["operations"])), (3, 1, 3))
            self.assertEqual(self.run_program("run", path).code == 0, False)
        # Another runtime may have the kernel of a custom operator; nobody has that of an unknown one.
        self.assertTrue(self.good("check", custom, "-t", "tflite", "--json").result["runs"])
        self.assertEqual(self.run_program("check", newer, "-t", "tflite").code, 3)

    def test_pytorch_files_that_cannot_be_run_as_they_are(self):
        models = ROOT / "tests/frontend/torch/models"
        number = models / "int_argument_scripted.pt"
        shown = self.good("inspect", number, "--json")
        self.assertEqual([value["name"] for value in shown.result["inputs"]], ["x", "times"])
        self.assertEqual(shown.result["inputs"][1], {"name": "times", "dtype": "i64", "shape": []})
        self.assertEqual({op["op"]: op["supported"] for op in shown.result["ops"]}, {"aten::conv2d": True, "aten::relu": True})
        self.assertEqual({d["severity"] for d in shown.json["diagnostics"]}, {"warning"})
        for verb in ("check", "run"):
            self.assertIn("'times'", self.bad(2, "EC7002", verb, number).err)
        given = ("--input-value", "times=2", "--input-shape", "x:1x3x8x8")
        self.assertEqual(self.good("check", number, "-t", "cpu", *given, "--json").result["unsupported"], 0)
        self.good("run", number, *given)
        for name in ("unknown_op_traced.pt", "unknown_op.pt2"):
            with self.subTest(name):
                shown = self.good("inspect", models / name, "--json").result
                self.assertEqual((shown["operations"], shown["unsupported"]), (5, 1))
                checked = self.run_program("check", models / name, "-t", "cpu", "--json")
                refused = [row["source_op"] for row in checked.result["operations"] if row["placement"] == "unsupported"]
                self.assertEqual((checked.code, refused), (3, ["mine::frobnicate"]))
                self.bad(3, "EC3001", "run", models / name)

    def test_a_float_model_is_judged_by_its_integer_form(self):
        path = self.write("m.onnx", onnx.conv_model())
        result = self.good("check", path, "-t", "coral", "--dim", "batch=1", "--json").result
        self.assertEqual(result["predicted_form"], "int8")
        self.assertEqual((result["host"], result["unsupported"]), (0, 0))
        self.assertGreater(result["native"], 0)
        self.assertTrue({row["name"] for row in result["operations"]} <= {"conv1", "bn1", "relu1", "pool1", "flatten1"})
        self.assertIn("this is its int8 form", self.good("check", path, "-t", "coral").out)
        # Asked for as it is, the float model stays on the CPU.
        plain = self.good("check", path, "-t", "coral", "-q", "none", "--json").result
        self.assertNotIn("predicted_form", plain)
        self.assertEqual(plain["native"], 0)

    def test_preprocessing_is_recorded_where_there_was_some(self):
        self.write("m.onnx", onnx.conv_model())
        self.write("pictures.npy", files.npy((16, 3, 8, 8), struct.pack("<3072f", *((i % 17) / 17 for i in range(3072)))))
        (self.dir / "pictures").mkdir()
        for i in range(16):
            self.write(f"pictures/{i:02}.ppm", files.ppm(i))
        for data, recorded in (("pictures.npy", False), ("pictures", True)):
            for statistics in (("--calibration-data", data, "--save-statistics", "s.json"), ("--statistics", "s.json")):
                with self.subTest(data=data, statistics=statistics):
                    done = self.good("m.onnx", "-t", "tflite", "-q", "ptq", *statistics, "--dim", "batch=1", "-o", "q.tflite", "--json").result
                    held = Source(self.dir / "q.tflite").metadata
                    self.assertEqual(bool(done["quantization"]["preprocessing"]), recorded)
                    self.assertEqual(held.get("preprocessing", b"").decode().rstrip("\0"), done["quantization"]["preprocessing"])

    def test_tables_fit_the_terminal(self):
        path = self.write("unknown.onnx", unknown_op_model())
        for line in self.run_program("check", path, env={"COLUMNS": "72"}).out.splitlines():
            if not line.startswith("  ") or " on " in line or "operations" in line or "int8 form" in line or "latency" in line or "fix for" in line:
                continue
            self.assertLessEqual(len(line), 72, line)

    def test_files_that_are_no_models_are_called_what_they_are(self):
        for content, words in ((b"\xff\xd8\xff\xe0\0\x10JFIF\0", "a JPEG image"), (b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom", "an MP4"),
                               (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"), (b"%PDF-1.7\n", "a PDF document")):  # fmt: skip
            for name in ("picture.onnx", "picture.tflite", "picture.pt"):
                self.write(name, content + bytes(200))
                self.assertIn(words, self.run_program("inspect", name).err)


class SharedModels(Statements):
    """The models of a folder; not collected unless one is named."""

    folder: pathlib.Path | None = None

    def test_shared(self):
        differences, walked = {}, 0
        for path in sorted(p for p in self.folder.rglob("*") if p.suffix in SOURCE and "hostile" not in p.parts):
            if path.stat().st_size > MOST_BYTES:
                continue
            walked += 1
            walk = self.walked(path, compiled=path.stat().st_size < MOST_BYTES / 10)
            if walk.differences:
                differences[str(path.relative_to(self.folder))] = walk.differences[:10]
        print(f"{walked} models of {self.folder}")
        self.assertEqual(differences, {}, json.dumps(differences, indent=1))


if __name__ == "__main__":
    if "--shared" in sys.argv:
        at = sys.argv.index("--shared")
        SharedModels.folder = pathlib.Path(sys.argv[at + 1])
        if not SharedModels.folder.is_dir():
            print(f"{SharedModels.folder} is not here: skipped")
            sys.exit(0)
        suite = unittest.TestSuite([SharedModels("test_shared")])
        sys.exit(0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1)
    del SharedModels
    unittest.main()
