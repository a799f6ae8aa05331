"""The target tflite as users call it."""

import hashlib
import pathlib
import shutil
import tempfile
import unittest

import onnx_builder as onnx
from harness import Case


def unsupported_model() -> bytes:
    nodes = [onnx.node("Det", ["x"], ["d"], name="first"), onnx.node("BitwiseNot", ["i"], ["n"], name="second")]
    inputs = [onnx.value("x", [2, 3, 3]), onnx.value("i", [4], dtype=7)]
    return onnx.model(nodes, inputs, [onnx.value("d", [2]), onnx.value("n", [4], dtype=7)], opset=18)


class Tflite(Case):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", onnx.conv_model())

    def test_writes_a_file_and_tells_about_it(self):
        result = self.good("m.onnx", "-t", "tflite", "-o", "m.tflite", "--dim", "batch=1", "--json").result
        content = (self.dir / "m.tflite").read_bytes()
        self.assertEqual(content[4:8], b"TFL3")
        self.assertEqual(result["output_sha256"], hashlib.sha256(content).hexdigest())
        self.assertEqual(result["num_operators"], sum(result["operators"].values()))
        self.assertNotIn("TRANSPOSE", result["operators"])
        self.assertTrue(result["self_check"]["ran"], result["self_check"])
        self.assertIn(b"source_sha256", content)
        self.assertIn(b"serving_default", content)
        text = self.good("m.onnx", "-t", "tflite", "-o", "n.tflite", "--dim", "batch=1").out
        self.assertIn("read back and run", text)
        self.assertIn("CONV_2D", text)

    def test_default_name_and_the_written_file_is_a_model(self):
        self.good("m.onnx", "--target", "tflite")
        self.assertIn("m_tflite.tflite", self.files())
        self.assertEqual(self.good("inspect", "m_tflite.tflite", "--json").result["format"], "tflite")
        self.good("run", "m_tflite.tflite", "--input-shape", "x:1x8x8x3")
        self.good("m_tflite.tflite", "-t", "tflite", "-o", "again.tflite")

    def test_interface_is_channels_last_unless_told_otherwise(self):
        free = self.good("m.onnx", "-t", "tflite", "-o", "a.tflite", "--json").result
        kept = self.good("m.onnx", "-t", "tflite", "-o", "b.tflite", "--keep-io-layout", "--json").result
        self.assertNotEqual(free["inputs"][0]["shape"], free["inputs"][0]["source_shape"])
        self.assertEqual(kept["inputs"][0]["shape"], kept["inputs"][0]["source_shape"])
        self.assertIn("TRANSPOSE", kept["operators"])

    def test_same_bytes_everywhere(self):
        other = pathlib.Path(tempfile.mkdtemp(prefix="edgecompile-other-"))
        self.addCleanup(shutil.rmtree, other, ignore_errors=True)
        shutil.copy(self.dir / "m.onnx", other / "m.onnx")
        digests = set()
        for folder in (self.dir, other):
            for environment in ({"LC_ALL": "C", "EDGECOMPILE_THREADS": "1"}, {"LC_ALL": "de_DE.UTF-8", "EDGECOMPILE_THREADS": "2"}):
                target = folder / "out.tflite"
                self.good(folder / "m.onnx", "-t", "tflite", "-o", target, env=environment)
                digests.add(hashlib.sha256(target.read_bytes()).hexdigest())
        self.assertEqual(len(digests), 1)

    def test_check(self):
        report = self.good("check", "m.onnx", "-t", "tflite", "--json").result
        self.assertEqual(report["target"], "tflite")
        self.write("bad.onnx", unsupported_model())
        outcome = self.run_program("check", "bad.onnx", "-t", "tflite", "--json")
        self.assertEqual(outcome.code, 3, outcome.out)
        self.assertEqual(outcome.result["unsupported"], 2, outcome.out)

    def test_description(self):
        describe = lambda file: self.good("inspect", file, "--json").result["metadata"].get("tflite.description")
        self.good("m.onnx", "-t", "tflite", "--description", "shapes, version 2", "-o", "d.tflite")
        self.assertEqual(describe("d.tflite"), "shapes, version 2")
        self.write("c.toml", 'description = "from a file"\n')
        self.good("m.onnx", "-t", "tflite", "--config", "c.toml", "-o", "e.tflite")
        self.assertEqual(describe("e.tflite"), "from a file")
        self.good("d.tflite", "-t", "tflite", "-o", "again.tflite")  # stays unless another is given
        self.assertEqual(describe("again.tflite"), "shapes, version 2")
        self.bad(2, "EC8001", "m.onnx", "-t", "cpu", "--description", "x")

    def test_all_unsupported_operations_in_one_run_and_nothing_written(self):
        self.write("bad.onnx", unsupported_model())
        before = self.files()
        outcome = self.run_program("bad.onnx", "-t", "tflite", "-o", "o.tflite", "--json")
        self.assertEqual(outcome.code, 3)
        self.assertEqual(outcome.codes, ["EC3004", "EC3004"])
        nodes = {d["node"] for d in outcome.json["diagnostics"] if d["severity"] == "error"}
        self.assertEqual(nodes, {"first", "second"})
        self.assertEqual(self.files(), before)

    def test_wrong_names(self):
        self.bad(2, "EC8001", "m.onnx", "-t", "tflite", "-o", "m.onnx")
        (self.dir / "folder.tflite").mkdir()
        self.good("m.onnx", "-t", "tflite", "-o", "folder.tflite")
        self.assertIn("folder.tflite/m_tflite.tflite", self.files())


if __name__ == "__main__":
    unittest.main()
