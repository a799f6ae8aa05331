"""What --json and --report give is as docs/report.schema.json says, for every verb with a report."""

from __future__ import annotations

import copy
import json
import pathlib
import unittest

import coral_models
import onnx_builder as onnx
import sample_files as files
from harness import Case
from schema_check import faults

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/report.schema.json").read_text(encoding="utf-8"))


class Reports(Case):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", onnx.conv_model())
        for name, colour in (("dark", (20, 30, 40)), ("light", (220, 210, 200))):
            (self.dir / "data" / name).mkdir(parents=True)
            for i in range(6):
                self.write(f"data/{name}/{i}.ppm", files.flat_ppm(tuple(c + i for c in colour)))

    def valid(self, *arguments: object, code: int = 0, **options) -> dict:
        outcome = self.run_program(*arguments, "--json", **options)
        self.assertEqual(outcome.code, code, outcome.out)
        self.assertEqual(faults(outcome.json, SCHEMA, SCHEMA), [], arguments)
        return outcome.json

    def test_verbs_that_rewrite(self):
        ptq = ("--calibration-data", "data", "--dim", "batch=1")
        for arguments in (
            ("m.onnx", "-o", "m.ecir"),
            ("m.onnx", "-t", "tflite", "-o", "f.tflite"),
            ("m.onnx", "-t", "tflite", "-q", "ptq", *ptq, "-o", "q.tflite"),
            ("m.onnx", "-t", "tflite", "-q", "dynamic", "-o", "d.tflite"),
            ("m.onnx", "-t", "coral", "-q", "ptq", *ptq, "-o", "c.tflite"),
            ("m.onnx", "--stop-after", "optimise"),
            ("optimize", "m.onnx"),
            ("optimize", "m.onnx", "-o", "o.onnx"),
            ("quantize", "m.onnx", *ptq, "-o", "q.ecir"),
        ):
            with self.subTest(arguments=arguments):
                self.assertIsNotNone(self.valid(*arguments)["result"])

    def test_models_together_and_segments(self):
        for name in ("a.ecir", "b.ecir"):
            self.write(name, coral_models.chain())
        (self.dir / "out").mkdir()
        self.assertEqual(len(self.valid("compile", "a.ecir", "b.ecir", "-t", "coral", "-o", "out")["result"]["models"]), 2)
        self.assertEqual(len(self.valid("a.ecir", "-t", "coral", "--segments", "2", "-o", "out")["result"]["segments"]), 2)

    def test_written_files_and_what_they_were_made_from(self):
        result = self.valid("m.onnx", "-t", "tflite", "-o", "f.tflite")["result"]
        self.assertEqual(result["artifacts"], [{"path": "f.tflite", "bytes": result["output_bytes"], "sha256": result["output_sha256"]}])
        self.assertEqual(len(result["provenance"]["source_sha256"]), 64)
        self.assertNotIn("artifacts", self.valid("optimize", "m.onnx")["result"])

    def test_verbs_that_read(self):
        self.valid("inspect", "m.onnx")
        self.valid("check", "m.onnx")
        self.valid("check", "m.onnx", "-t", "coral")
        self.valid("run", "m.onnx", "--dim", "batch=1", "-o", "out")
        self.valid("bench", "m.onnx", "--dim", "batch=1", "--iterations", "2", "--per-op")
        self.valid("evaluate", "m.onnx", "--data", "data", "--reference", "m.onnx", "--samples", "3")
        self.valid("evaluate", "m.onnx", "--data", "data", "--confusion")
        self.valid("targets")
        self.valid("doctor")

    def test_failures(self):
        self.assertIsNone(self.valid("inspect", "absent.onnx", code=7)["result"])
        bad = onnx.model([onnx.node("NoSuchOp", ["x"], ["y"], "n")], [onnx.value("x", [1])], [onnx.value("y", [1])])
        self.write("bad.onnx", bad)
        self.assertFalse(any(entry["runs"] for entry in self.valid("check", "bad.onnx", code=3)["result"]["targets"]))

    def test_report_files_hold_the_result(self):
        self.good("m.onnx", "-o", "m.ecir", "--report", "json=r.json")
        report = json.loads((self.dir / "r.json").read_text(encoding="utf-8"))
        self.assertEqual(faults(report, {"$ref": "#/$defs/CompileReport"}, SCHEMA), [])

    def test_the_checker_finds_faults(self):
        good = self.valid("inspect", "m.onnx")
        for change in (
            lambda r: r.pop("macs"),
            lambda r: r.update(macs="many"),
            lambda r: r["inputs"][0].update(shape=[1.5]),
            lambda r: r["layers"][0].update(surprise=1),
            lambda r: r["quantization"].update(tensors=None),
        ):
            wrong = copy.deepcopy(good)
            change(wrong["result"])
            self.assertTrue(faults(wrong, SCHEMA, SCHEMA))


if __name__ == "__main__":
    unittest.main()
