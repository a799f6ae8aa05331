"""The target metal as users call it: Core ML packages."""

import hashlib
import json
import pathlib
import shutil
import struct
import tempfile
import unittest

import onnx_builder as onnx
from harness import Case

MODEL = "Data/com.apple.CoreML/model.mlmodel"
WEIGHTS = "Data/com.apple.CoreML/weights/weight.bin"

LOOP = """ecir 1
graph @g(%x: f32[3]) -> (y = %y) {
  %n = const i64[] dense[4]
  %y = loop(%n, _, %x) {num_carried=1}
    body graph @body(%i: i64[], %go: bool[], %v: f32[3]) -> (c = %go, v = %w) {
      %two = const i64[] dense[2]
      %early = less(%i, %two)
      %w = if(%early, %v)
        body graph @then(%p: f32[3]) -> (r = %r) {
          %r = tanh(%p)
        }
        body graph @else(%p: f32[3]) -> (r = %r) {
          %r = neg(%p)
        }
    }
}
"""
STATE = """ecir 1
graph @g(%x: f32[2]) -> (y = %y) {
  %zero = const f32[2] splat(0)
  %s = read_state(%zero) {name="sum"}
  %y = add(%s, %x)
  %w = write_state(%y) {name="sum"}
}
"""
ATTENTION = """ecir 1
graph @g(%q: f32[1,2,3,4], %k: f32[1,2,5,4], %v: f32[1,2,5,4]) -> (y = %y) {
  %p = matmul(%q, %k) {transpose_b=true}
  %h = const f32[] splat(0.5)
  %s = mul(%p, %h)
  %w = softmax(%s) {axis=3}
  %y = matmul(%w, %v)
}
"""


class Metal(Case):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", onnx.conv_model())

    def digest(self, package: pathlib.Path) -> str:
        parts = [path.relative_to(package).as_posix().encode() + path.read_bytes() for path in sorted(package.rglob("*")) if path.is_file()]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    def test_writes_a_package_and_tells_about_it(self):
        result = self.good("m.onnx", "-t", "metal", "-o", "m.mlpackage", "--json").result
        package = self.dir / "m.mlpackage"
        manifest = json.loads((package / "Manifest.json").read_text())
        for entry in manifest["itemInfoEntries"].values():
            self.assertTrue((package / "Data" / entry["path"]).exists())
        self.assertIn(manifest["rootModelIdentifier"], manifest["itemInfoEntries"])
        self.assertTrue((package / MODEL).is_file() and (package / WEIGHTS).is_file())
        self.assertTrue(result["self_check"]["ran"], result["self_check"])
        self.assertEqual(result["operators"]["conv"], 1)
        # Half precision inside, single precision at the interface.
        self.assertEqual(result["operators"]["cast"], 2)
        self.assertIn("predicted: Neural Engine", {row["status"] for row in result["placement"]["operations"]})

    def test_the_package_is_a_model(self):
        self.good("m.onnx", "-t", "metal")
        self.assertIn("m_metal.mlpackage/Manifest.json", self.files())
        self.assertEqual(self.good("inspect", "m_metal.mlpackage", "--json").result["format"], "coreml")
        self.good("run", "m_metal.mlpackage")

    def test_single_precision(self):
        result = self.good("m.onnx", "-t", "metal", "--precision", "fp32", "-o", "m.mlpackage", "--json").result
        self.assertNotIn("cast", result["operators"])
        self.assertEqual({row["status"] for row in result["placement"]["operations"]}, {"predicted: GPU"})
        self.assertIsNone(result["placement"].get("estimate"))

    def test_deployment_target_decides_the_version(self):
        versions = {}
        for system in ("ios16", "ios18", "macos26"):
            self.good("m.onnx", "-t", "metal", "--deployment-target", system, "-o", f"{system}.mlpackage")
            versions[system] = (self.dir / f"{system}.mlpackage" / MODEL).read_bytes()[:2]
        self.assertEqual(versions, {"ios16": b"\x08\x07", "ios18": b"\x08\x09", "macos26": b"\x08\x0a"})

    def test_all_refusals_at_once(self):
        nodes = [onnx.node("Det", ["x"], ["d"], name="first"), onnx.node("BitwiseNot", ["i"], ["n"], name="second")]
        inputs = [onnx.value("x", [2, 3, 3]), onnx.value("i", [4], dtype=7)]
        self.write("bad.onnx", onnx.model(nodes, inputs, [onnx.value("d", [2]), onnx.value("n", [4], dtype=7)], opset=18))
        outcome = self.bad(3, "EC3004", "bad.onnx", "-t", "metal", "-o", "bad.mlpackage")
        self.assertIn("first", outcome.err)
        self.assertIn("second", outcome.err)
        self.assertFalse((self.dir / "bad.mlpackage").exists())

    def test_loops_and_branches(self):
        self.write("loop.ecir", LOOP.encode())
        result = self.good("loop.ecir", "-t", "metal", "-o", "loop.mlpackage", "--json").result
        self.assertEqual((result["operators"]["while_loop"], result["operators"]["cond"]), (1, 1))
        self.assertTrue(result["self_check"]["ran"], result["self_check"])
        (row,) = (row for row in result["placement"]["operations"] if row["op"] == "loop")
        self.assertEqual(row["status"], "predicted: CPU")
        self.good("run", "loop.mlpackage")

    def test_state_needs_a_newer_system_and_starts_from_zeros(self):
        self.write("state.ecir", STATE.encode())
        outcome = self.good("state.ecir", "-t", "metal", "--emit", "swift", "-o", "state.mlpackage", "--json")
        self.assertIn("needs iOS 18", outcome.out)
        self.assertIn("half precision between runs", outcome.out)
        self.assertTrue(outcome.result["self_check"]["ran"], outcome.result["self_check"])
        self.assertIn("makeState", (self.dir / "state.swift").read_text())
        self.bad(3, "EC3004", "state.ecir", "-t", "metal", "--deployment-target", "ios17", "-o", "old.mlpackage")

    def test_attention_is_one_operation_where_the_system_has_it(self):
        self.write("attention.ecir", ATTENTION.encode())
        operators = {}
        for system in ("auto", "ios17", "ios18"):
            arguments = ("attention.ecir", "-t", "metal", "--deployment-target", system, "-o", f"{system}.mlpackage", "--json")
            operators[system] = self.good(*arguments).result["operators"]
        self.assertEqual(operators["ios18"]["scaled_dot_product_attention"], 1)
        for system in ("auto", "ios17"):
            self.assertEqual((operators[system]["matmul"], operators[system]["softmax"]), (2, 1))

    def test_class_names(self):
        count = self.good("inspect", "m.onnx", "--dim", "batch=1", "--json").result["outputs"][0]["shape"]
        self.write("few.txt", b"a\nb\n")
        self.assertNotEqual(count, [1, 2])
        self.bad(3, "EC3004", "m.onnx", "-t", "metal", "--labels", "few.txt", "-o", "c.mlpackage")
        self.bad(7, "EC1001", "m.onnx", "-t", "metal", "--labels", "none.txt", "-o", "c.mlpackage")
        self.write("flat.onnx", onnx.model([onnx.node("Softmax", ["x"], ["y"])], [onnx.value("x", [1, 3])], [onnx.value("y", [1, 3])], opset=18))
        self.write("three.txt", b"cat\r\ndog\nbird")
        result = self.good("flat.onnx", "-t", "metal", "--class-labels", "three.txt", "-o", "c.mlpackage", "--json").result
        self.assertEqual(result["operators"]["classify"], 1)
        self.assertTrue(result["self_check"]["ran"], result["self_check"])
        content = (self.dir / "c.mlpackage" / MODEL).read_bytes()
        self.assertTrue(all(name in content for name in (b"cat", b"dog", b"bird", b"classLabel_probs")))

    def test_int8_weights(self):
        weights = onnx.tensor("w", [64, 64], [((i * 37) % 19 - 9) / 20 for i in range(64 * 64)])
        nodes = [onnx.node("MatMul", ["x", "w"], ["y"], "layer")]
        self.write("l.onnx", onnx.model(nodes, [onnx.value("x", [1, 64])], [onnx.value("y", [1, 64])], [weights]))
        plain = self.good("l.onnx", "-t", "metal", "-o", "a.mlpackage", "--json").result
        result = self.good("l.onnx", "-t", "metal", "-q", "dynamic", "-o", "b.mlpackage", "--json").result
        self.assertEqual(result["operators"]["constexpr_affine_dequantize"], 1)
        self.assertLess(result["output_bytes"], plain["output_bytes"])
        self.assertTrue(result["self_check"]["ran"], result["self_check"])

    def test_compressed_weights(self):
        weights = onnx.tensor("w", [96, 64], [((i * 37) % 191 - 90) / 200 for i in range(96 * 64)])
        nodes = [onnx.node("Gemm", ["x", "w"], ["y"], "layer", transB=1)]
        self.write("l.onnx", onnx.model(nodes, [onnx.value("x", [1, 64])], [onnx.value("y", [1, 96])], [weights]))
        plain = self.good("l.onnx", "-t", "metal", "-o", "a.mlpackage", "--json").result
        for form, operation, newer in (("palettize:4", "lut_to_dense", False), ("palettize:3", "lut_to_dense", True), ("sparse:0.5", "sparse_to_dense", False),
                                       ("int4", "blockwise_shift_scale", True), ("int8", "affine_dequantize", False)):
            with self.subTest(form):
                outcome = self.good("l.onnx", "-t", "metal", "--compress-weights", form, "-o", "b.mlpackage", "--json")
                result = outcome.result
                self.assertEqual(result["operators"]["constexpr_" + operation], 1)
                self.assertLess(result["output_bytes"], plain["output_bytes"])
                self.assertTrue(result["self_check"]["ran"], result["self_check"])
                (row,) = result["placement"]["compressed_weights"]
                self.assertEqual((row["name"], row["layer"], row["bytes_before"]), ("w", "layer", 2 * 96 * 64))
                self.assertGreater(row["sqnr_db"], 5)
                self.assertEqual("needs iOS 18" in outcome.out, newer, outcome.out)
                shutil.rmtree(self.dir / "b.mlpackage")
        self.bad(2, "EC8001", "l.onnx", "-t", "metal", "--compress-weights", "int4", "--deployment-target", "ios17", "-o", "c.mlpackage")
        self.bad(2, "EC8001", "l.onnx", "-t", "metal", "--compress-weights", "palettize:5", "-o", "c.mlpackage")
        self.assertIn("1 weight as int8", self.good("check", "l.onnx", "-t", "metal", "--compress-weights", "int8").out)

    def test_limits_of_accuracy(self):
        weights = [onnx.tensor(f"w{i}", [64, 64], [((i + k * 37) % 191 - 90) / 200 for k in range(64 * 64)]) for i in range(2)]
        nodes = [onnx.node("Gemm", ["x", "w0"], ["a"], "first", transB=1), onnx.node("Relu", ["a"], ["r"], "relu"),
                 onnx.node("Gemm", ["r", "w1"], ["y"], "second", transB=1)]
        self.write("l.onnx", onnx.model(nodes, [onnx.value("x", [1, 64])], [onnx.value("y", [1, 64])], weights))
        self.write_npy("x.npy", (4, 64), [((i * 29) % 101 - 50) / 50 for i in range(4 * 64)])
        data = ("--calibration-data", "x.npy")
        # Tables of 2 bits cannot reach it for all weights.
        loose = self.good("l.onnx", "-t", "metal", *data, "--compress-weights", "palettize:2", "-o", "a.mlpackage", "--json").result["placement"]
        limit = loose["costs"][-1]["outputs"][0]["sqnr_db"] + 3
        outcome = self.good("l.onnx", "-t", "metal", *data, "--compress-weights", "palettize:2", "--min-sqnr", str(limit), "-o", "b.mlpackage", "--json")
        placement = outcome.result["placement"]
        self.assertGreaterEqual(placement["costs"][-1]["outputs"][0]["sqnr_db"], limit)
        self.assertTrue(outcome.result["self_check"]["ran"])
        left = [row for row in placement["compressed_weights"] if row["bytes_after"] == row["bytes_before"]]
        self.assertTrue(left and all("limit" in row["form"] for row in left), placement["compressed_weights"])
        self.assertIn("for the limit of accuracy", self.good("check", "l.onnx", "-t", "metal", *data, "--compress-weights", "palettize:2", "--min-sqnr", str(limit)).out)
        # Beyond half precision operations stay in single precision.
        single = self.good("l.onnx", "-t", "metal", *data, "--min-sqnr", "110", "-o", "c.mlpackage", "--json").result["placement"]
        self.assertTrue(any("kept for --min-sqnr 110" in row["reason"] for row in single["operations"]), single["operations"])
        self.assertGreaterEqual(single["costs"][0]["outputs"][0]["sqnr_db"], 110)
        # No samples, no answers, nothing that can be run.
        self.bad(2, "EC4002", "l.onnx", "-t", "metal", "--min-sqnr", "40", "-o", "d.mlpackage")
        self.write("i.onnx", onnx.model([onnx.node("Exp", ["x"], ["y"], "exp")], [onnx.value("x", [1, 3, 8, 8])], [onnx.value("y", [1, 3, 8, 8])], []))
        self.write_npy("i.npy", (1, 3, 8, 8), [i / 192 for i in range(192)])
        self.bad(2, "EC8001", "i.onnx", "-t", "metal", "--calibration-data", "i.npy", "--max-drop", "0.1", "-o", "d.mlpackage")
        self.write("big.onnx", onnx.model(nodes, [onnx.value("x", [2048, 64])], [onnx.value("y", [2048, 64])], weights))
        self.write_npy("big.npy", (2048, 64), [0.5] * (2048 * 64))
        self.bad(5, "EC4006", "big.onnx", "-t", "metal", "--calibration-data", "big.npy", "--min-sqnr", "40", "--run-work", "1", "-o", "d.mlpackage")
        self.assertNotIn("d.mlpackage", self.files())

    def test_cost_of_half_precision(self):
        (cost,) = self.good("m.onnx", "-t", "metal", "-o", "m.mlpackage", "--json").result["placement"]["costs"]
        self.assertEqual((cost["form"], cost["inputs"], cost["samples"]), ("half precision", "random inputs", 2))
        self.assertTrue(0 <= cost["outputs"][0]["largest_error"] < 5e-3, cost)
        self.assertIn("half precision costs", self.good("m.onnx", "-t", "metal", "--compute-units", "cpu_only", "-o", "t.mlpackage").out)
        self.assertNotIn("costs", self.good("m.onnx", "-t", "metal", "--precision", "fp32", "-o", "s.mlpackage", "--json").result["placement"])
        # What overflows with the user's samples and not with random inputs.
        scale = onnx.tensor("k", [1], [1000.0])
        self.write("big.onnx", onnx.model([onnx.node("Mul", ["x", "k"], ["y"], "times")], [onnx.value("x", [1, 2])], [onnx.value("y", [1, 2])], [scale]))
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }".ljust(117) + "\n"
        self.write("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<2f", 100, 1))
        plain = self.good("big.onnx", "-t", "metal", "-o", "a.mlpackage", "--json").result["placement"]
        self.assertEqual(plain["operations"][0]["reason"], "")
        sampled = self.good("big.onnx", "-t", "metal", "--calibration-data", "x.npy", "-o", "b.mlpackage", "--json").result["placement"]
        self.assertIn("up to 1e+05 on calibration samples", sampled["operations"][0]["reason"])
        self.assertEqual(sampled["costs"][0]["inputs"], "calibration samples")
        self.bad(2, "EC8001", "big.onnx", "-t", "metal", "--precision", "fp32", "--calibration-data", "x.npy", "-o", "c.mlpackage")

    def test_swift(self):
        self.good("m.onnx", "-t", "metal", "-o", "a.mlpackage")
        result = self.good("m.onnx", "-t", "metal", "--emit", "swift", "--compute-units", "cpu_and_gpu", "-o", "m.mlpackage", "--json").result
        text = (self.dir / "m.swift").read_text()
        self.assertIn('URL(fileURLWithPath: "m.mlpackage")', text)
        self.assertIn(".cpuAndGPU", text)
        for name in [value["name"] for value in self.good("inspect", "m.mlpackage", "--json").result["inputs"]]:
            self.assertIn(f'"{name}": MLFeatureValue(multiArray: {name}Input)', text)
        self.assertTrue(result["artifacts"][-1]["path"].endswith("m.swift"))
        self.assertNotIn("m.swift", result["artifacts"][0]["path"])
        self.assertFalse((self.dir / "a.swift").exists())
        # The package is the same without it.
        self.good("m.onnx", "-t", "metal", "--compute-units", "cpu_and_gpu", "-o", "other.mlpackage")
        self.assertEqual(self.digest(self.dir / "m.mlpackage"), self.digest(self.dir / "other.mlpackage"))

    def open_model(self):
        weights = onnx.tensor("w", [4, 3, 3, 3], [((i * 37) % 19 - 9) / 20 for i in range(108)])
        nodes = [onnx.node("Conv", ["x", "w"], ["c"], "conv1", pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3]),
                 onnx.node("Relu", ["c"], ["y"], "relu1"), onnx.node("GlobalAveragePool", ["y"], ["z"], "pool1")]
        self.write("open.onnx", onnx.model(nodes, [onnx.value("x", ["batch", 3, "height", "width"])],
                                           [onnx.value("y", ["batch", 4, "h", "w"]), onnx.value("z", ["batch", 4, 1, 1])], [weights]))

    def test_ranges_of_sizes(self):
        self.open_model()
        options = ("-t", "metal", "--flexible-shape", "x:1x3x8..32x8..64", "--input-shape", "x:1x3x16x16")
        result = self.good("open.onnx", *options, "-o", "m.mlpackage", "--json").result
        self.assertEqual(result["self_check"]["shapes"], ["x:1x3x16x16", "x:1x3x8x8"])
        self.assertNotIn("predicted: Neural Engine", {row["status"] for row in result["placement"]["operations"]})
        self.assertIn("list the shapes", result["placement"]["operations"][0]["fix"])
        self.assertEqual(self.good("inspect", "m.mlpackage", "--json").result["inputs"][0]["shape"][:2], [1, 3])
        for size in ("16x16", "9x64"):
            outputs = self.good("run", "m.mlpackage", "--input-shape", f"x:1x3x{size}", "--json").result["outputs"]
            height, width = (-(-int(n) // 2) for n in size.split("x"))
            self.assertEqual([o["shape"] for o in outputs], [[1, 4, height, width], [1, 4, 1, 1]])
        self.assertIn("x:1x3x8x8", self.good("open.onnx", *options, "-o", "t.mlpackage").out)

    def test_listed_shapes(self):
        self.open_model()
        result = self.good("open.onnx", "-t", "metal", "--flexible-shape", "x:1x3x8x8,1x3x32x32,1x3x16x16", "-o", "m.mlpackage", "--json").result
        self.assertEqual(result["self_check"]["shapes"][0], "x:1x3x8x8")
        self.assertIn("predicted: Neural Engine", {row["status"] for row in result["placement"]["operations"]})
        dims = self.good("open.onnx", "-t", "metal", "--flexible-dim", "height=8,16", "--flexible-dim", "width=8,16", "--dim", "height=16",
                         "-o", "d.mlpackage", "--json").result
        self.assertEqual(dims["self_check"]["shapes"][0], "x:1x3x16x16")

    def test_flexible_shapes_that_do_not_fit(self):
        self.open_model()
        for option, value, code, status in (("--flexible-shape", "x:1x3x8x?", "EC8001", 2), ("--flexible-shape", "x:1x3x9..8x8", "EC8001", 2),
                                            ("--flexible-shape", "y:1x3x8..9x8", "EC2004", 2), ("--flexible-shape", "x:1x2..3x8x8", "EC2004", 2),
                                            ("--flexible-dim", "hight=8..16", "EC2004", 2)):
            with self.subTest(value):
                outcome = self.bad(status, code, "open.onnx", "-t", "metal", option, value, "--dim", "batch=1", "-o", "m.mlpackage")
                self.assertIn("hint", outcome.err)
        self.bad(2, "EC8001", "open.onnx", "-t", "metal", "--flexible-shape", "x:1x3x8..16x8", "-q", "dynamic", "-o", "m.mlpackage")
        self.bad(2, "EC2004", "open.onnx", "-t", "metal", "--flexible-shape", "x:1x3x8..16x8", "--input-shape", "x:1x3x17x8", "-o", "m.mlpackage")
        self.assertFalse((self.dir / "m.mlpackage").exists())

    def test_what_needs_fixed_sizes_is_named(self):
        nodes = [onnx.node("GRU", ["x", "w", "r"], ["y"], "recurrent", hidden_size=2)]
        constants = [onnx.tensor("w", [1, 6, 3], [0.1] * 18), onnx.tensor("r", [1, 6, 2], [0.1] * 12)]
        self.write("gru.onnx", onnx.model(nodes, [onnx.value("x", ["length", 1, 3])], [onnx.value("y", ["length", 1, 1, 2])], constants))
        outcome = self.bad(3, "EC3004", "gru.onnx", "-t", "metal", "--flexible-shape", "x:1..8x1x3", "-o", "m.mlpackage")
        self.assertIn("recurrent", outcome.err)
        self.assertIn("--input-shape", outcome.err)
        self.good("gru.onnx", "-t", "metal", "--input-shape", "x:4x1x3", "-o", "m.mlpackage")

    def test_rounded_activations_need_a_newer_system(self):
        outcome = self.good("m.onnx", "-t", "metal", "-q", "ptq", "--calibration-data", "random", "-o", "m.mlpackage")
        self.assertIn("needs iOS 17", outcome.err)
        self.bad(3, "EC3004", "m.onnx", "-t", "metal", "-q", "ptq", "--calibration-data", "random", "--deployment-target", "ios16",
                 "-o", "n.mlpackage")

    def test_same_bytes_everywhere(self):
        other = pathlib.Path(tempfile.mkdtemp(prefix="edgecompile-other-"))
        self.addCleanup(shutil.rmtree, other, ignore_errors=True)
        shutil.copy(self.dir / "m.onnx", other / "m.onnx")
        digests = set()
        for folder in (self.dir, other):
            for environment in ({"LC_ALL": "C", "EDGECOMPILE_THREADS": "1"}, {"LC_ALL": "de_DE.UTF-8", "EDGECOMPILE_THREADS": "2"}):
                target = folder / "out.mlpackage"
                shutil.rmtree(target, ignore_errors=True)
                self.good(folder / "m.onnx", "-t", "metal", "-o", target, env=environment)
                digests.add(self.digest(target))
        self.assertEqual(len(digests), 1)


if __name__ == "__main__":
    unittest.main()
