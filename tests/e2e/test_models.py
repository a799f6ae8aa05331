"""Each verb on sound models."""

import json
import os
import pty
import signal
import subprocess
import unittest

import onnx_builder as onnx
from harness import PROGRAM, Case


class Models(Case):
    def setUp(self):
        super().setUp()
        self.model = self.write("m.onnx", onnx.conv_model())

    def test_inspect(self):
        text = self.good("inspect", "m.onnx").out
        for part in ["conv", "batch", "MACs", "parameters"]:
            self.assertIn(part, text)
        result = self.good("inspect", "m.onnx", "--json", "--dim", "batch=2").result
        self.assertEqual(result["inputs"], [{"name": "x", "dtype": "f32", "shape": [2, 3, 8, 8]}])
        self.assertEqual(result["outputs"][0]["shape"], [2, 4])
        self.assertEqual(result["format"], "onnx")
        self.assertEqual(result["operations"], 5)
        # 2 pictures x 4 filters x 64 places x 27 weights.
        self.assertEqual(result["macs"], 2 * 4 * 64 * 27)
        self.assertEqual(result["parameters"], 108 + 4 * 4)
        self.assertEqual([layer["name"] for layer in result["layers"]], ["conv1", "bn1", "relu1", "pool1", "flatten1"])

    def test_inspect_open_dimensions(self):
        result = self.good("inspect", "m.onnx", "--json").result
        self.assertEqual(result["open_dimensions"], ["batch"])
        self.assertEqual(result["inputs"][0]["shape"], ["batch", 3, 8, 8])
        self.assertEqual(result["macs_unknown_operations"], 1)

    def test_optimize_and_run_again(self):
        result = self.good("optimize", "m.onnx", "-o", "o.ecir", "--json", "--dim", "batch=1").result
        self.assertLess(result["operations_after"], result["operations_before"])
        self.assertEqual(result["output"], "o.ecir")
        self.good("optimize", "m.onnx", "-o", "o.onnx", "--dim", "batch=1")
        before = self.outputs("m.onnx", "--dim", "batch=1", "--reference")
        for model, options in [("m.onnx", ["--dim", "batch=1"]), ("o.ecir", []), ("o.onnx", []), ("o.ecir", ["--threads", "2"])]:
            after = self.outputs(model, *options)
            self.assertEqual(after[0]["shape"], (1, 4))
            for a, b in zip(before[1], after[1]):
                self.assertAlmostEqual(a, b, delta=1e-5)

    def outputs(self, model, *options):
        self.good("run", model, "-o", "out", "--seed", "7", *options)
        return self.read_npy(self.dir / "out" / "y.npy")

    def test_optimize_options(self):
        self.good("optimize", "m.onnx", "--dump-phases", "phases")
        self.assertIn("00-import.ecir", os.listdir(self.dir / "phases"))
        self.assertIn("000-input.ecir", os.listdir(self.dir / "phases" / "optimise"))
        outcome = self.good("optimize", "m.onnx", "--print-after", "all", "-v")
        self.assertIn("graph @", outcome.err)
        self.assertIn("fold-known", outcome.out)
        stopped = self.good("optimize", "m.onnx", "--stop-after", "import", "--json").result
        self.assertEqual(stopped["operations_after"], stopped["operations_before"])
        one = self.good("optimize", "m.onnx", "--passes", "eliminate-dead-code", "--json").result
        self.assertEqual([p["name"] for p in one["passes"]], ["eliminate-dead-code"])
        less = self.good("optimize", "m.onnx", "--disable-pass", "fold-known", "--json").result
        self.assertNotIn("fold-known", [p["name"] for p in less["passes"]])
        self.bad(2, "EC8001", "optimize", "m.onnx", "--disable-pass", "fold-constant")
        self.bad(2, "EC8001", "optimize", "m.onnx", "--passes", "nothing-known")

    def test_compile_writes_beside_the_model(self):
        self.good("m.onnx", "--dim", "batch=1")
        self.assertEqual(self.files(), ["m.onnx", "m_cpu.ecir"])
        (self.dir / "d").mkdir()
        self.good("compile", "m.onnx", "--target", "cpu", "--output", "d")
        self.assertEqual(self.files(), ["d/m_cpu.ecir", "m.onnx", "m_cpu.ecir"])
        result = self.good("inspect", "m_cpu.ecir", "--json").result
        self.assertEqual(result["format"], "ecir")
        self.good("run", "m_cpu.ecir")

    def test_compile_twice_gives_the_same_bytes(self):
        self.good("optimize", "m.onnx", "-o", "a.ecir")
        (self.dir / "sub").mkdir()
        self.write("sub/m.onnx", onnx.conv_model())
        self.good("optimize", "sub/m.onnx", "-o", "sub/b.ecir", env={"LC_ALL": "C.UTF-8"})
        self.assertEqual((self.dir / "a.ecir").read_bytes(), (self.dir / "sub/b.ecir").read_bytes())

    def test_run_with_given_inputs(self):
        self.write("relu.onnx", onnx.relu_model([2, 2]))
        self.write_npy("x.npy", (2, 2), [-1.0, 2.0, -3.0, 4.0])
        for argument in ["x=x.npy", "x.npy"]:
            self.good("run", "relu.onnx", "-i", argument, "-o", "out")
            header, values = self.read_npy(self.dir / "out" / "y.npy")
            self.assertEqual(header, {"descr": "<f4", "fortran_order": False, "shape": (2, 2)})
            self.assertEqual(values, [0.0, 2.0, 0.0, 4.0])
        row = self.good("run", "relu.onnx", "-i", "x=ones", "--json").result["outputs"][0]
        self.assertEqual((row["min"], row["max"], row["mean"], row["file"]), (1.0, 1.0, 1.0, None))
        row = self.good("run", "relu.onnx", "-i", "zeros", "--json").result["outputs"][0]
        self.assertEqual((row["max"], row["max_at"]), (0.0, 0))
        row = self.good("run", "relu.onnx", "-i", "x=x.npy", "--json").result["outputs"][0]
        self.assertEqual((row["max"], row["max_at"]), (4.0, 3))

    def test_progress_on_a_terminal(self):
        """Anything over a second shows how far it is; the line is gone when the work ends or stops."""
        arguments = [PROGRAM, "bench", "m.onnx", "--dim", "batch=1", "--iterations", "100000000", "--warmup", "0"]
        main, terminal = pty.openpty()
        environment = {**os.environ, "TERM": "xterm"}
        process = subprocess.Popen(arguments, cwd=self.dir, stdout=subprocess.DEVNULL, stderr=terminal, env=environment)
        os.close(terminal)
        shown = b""
        while b"s left" not in shown:
            shown += os.read(main, 4096)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), 130)
        os.close(main)
        self.assertRegex(shown.decode(), r"measuring \[=* *\] [\d,]+/100,000,000 .*/s")

    def test_run_takes_sizes_from_the_arrays(self):
        self.write("relu.onnx", onnx.relu_model(["n", "m"]))
        self.write_npy("x.npy", (1, 3), [1.0, -1.0, 2.0])
        row = self.good("run", "relu.onnx", "-i", "x=x.npy", "--json").result["outputs"][0]
        self.assertEqual(row["shape"], [1, 3])

    def test_an_open_batch_is_one_unless_arrays_say_otherwise(self):
        self.write("relu.onnx", onnx.relu_model(["batch", 3, 2]))
        self.assertEqual(self.good("run", "relu.onnx", "--json").result["outputs"][0]["shape"], [1, 3, 2])
        self.write_npy("x.npy", (4, 3, 2), [float(i) for i in range(24)])
        row = self.good("run", "relu.onnx", "-i", "x=x.npy", "--json").result["outputs"][0]
        self.assertEqual(row["shape"], [4, 3, 2])
        self.good("bench", "relu.onnx", "--iterations", "2")
        self.assertIn("batch", self.good("inspect", "relu.onnx").out)

    def test_seed(self):
        one = self.outputs("m.onnx", "--dim", "batch=1")
        self.good("run", "m.onnx", "-o", "other", "--seed", "8", "--dim", "batch=1")
        self.assertNotEqual(one[1], self.read_npy(self.dir / "other" / "y.npy")[1])

    def test_bench(self):
        result = self.good("bench", "m.onnx", "--dim", "batch=1", "--iterations", "5", "--warmup", "1", "--json", "--per-op").result
        self.assertEqual(result["iterations"], 5)
        self.assertLessEqual(result["min_ms"], result["p50_ms"])
        self.assertLessEqual(result["p50_ms"], result["p95_ms"])
        self.assertLessEqual(result["p95_ms"], result["max_ms"])
        self.assertTrue(any(row["op"] == "conv" for row in result["per_op"]))
        text = self.good("bench", "m.onnx", "--dim", "batch=1", "--iterations", "2", "--per_op").out
        self.assertIn("Throughput", text)
        self.assertIn("conv", text)

    def test_check(self):
        result = self.good("check", "m.onnx", "-t", "cpu", "--dim", "batch=1", "--json").result
        self.assertTrue(result["runs"])
        self.assertEqual(result["unsupported"], 0)
        self.assertEqual(len(result["operations"]), result["native"] + result["reference"])
        self.assertIn("native", self.good("check", "m.onnx", "-v").out)
        for row in result["operations"]:
            self.assertEqual(row["placement"] == "native", row["reason"] == "", row)

    def test_check_judges_every_target(self):
        names = self.good("targets", "--quiet").out.split()
        result = self.good("check", "m.onnx", "--json").result
        self.assertEqual([entry["target"] for entry in result["targets"]], names)
        for entry in result["targets"]:
            self.assertEqual(entry, self.good("check", "m.onnx", "-t", entry["target"], "--json").result)
        text = self.good("check", "m.onnx").out
        for name in names:
            self.assertIn(f"\n{name}\n", text)

    def test_check_of_a_large_model_fits_a_screen(self):
        chain = [onnx.node("Relu" if i % 2 else "Sigmoid", [f"t{i}"], [f"t{i + 1}"], f"n{i}") for i in range(60)]
        self.write("long.onnx", onnx.model(chain, [onnx.value("t0", [1, 8])], [onnx.value("t60", [1, 8])]))
        text = self.good("check", "long.onnx", "-t", "coral").out
        self.assertLess(len(text.splitlines()), 25, text)
        self.assertGreater(len(self.good("check", "long.onnx", "-t", "coral", "-v").out.splitlines()), 25)

    def test_check_tells_remarks_once(self):
        self.assertEqual(self.good("check", "m.onnx").err.count("is taken as 1"), 1)

    def test_check_goes_on_where_a_target_refuses(self):
        # Quantisation is asked for, which the first target has not.
        outcome = self.good("check", "m.onnx", "-q", "dynamic", "--json")
        entries = {entry["target"]: entry for entry in outcome.result["targets"]}
        self.assertFalse(entries["cpu"]["runs"])
        self.assertTrue(entries["cpu"]["refused"]["code"].startswith("EC") and entries["cpu"]["refused"]["hint"])
        self.assertEqual(entries["cpu"]["operations"], [])
        self.assertTrue(entries["tflite"]["runs"] and entries["tflite"]["operations"])
        self.assertIn(entries["cpu"]["refused"]["message"], self.good("check", "m.onnx", "-q", "dynamic").out)
        # An option of one target is no obstacle for the others.
        self.good("check", "m.onnx", "--edgetpu-rules", "published")

    def test_check_fails_where_every_target_refuses(self):
        self.bad(7, "EC1001", "check", "absent.onnx")
        self.write("bad.onnx", onnx.model([onnx.node("NoSuchOp", ["x"], ["y"], "n")], [onnx.value("x", [1])], [onnx.value("y", [1])]))
        self.bad(3, "EC3004", "check", "bad.onnx")

    def test_quiet_prints_nothing(self):
        for arguments in [("inspect", "m.onnx"), ("check", "m.onnx"), ("optimize", "m.onnx", "-o", "q.ecir"),
                          ("run", "m.onnx", "--dim", "batch=1"), ("bench", "m.onnx", "--dim=batch=1", "--iterations=1")]:
            outcome = self.good(*arguments, "--quiet")
            self.assertEqual((outcome.out, outcome.err), ("", ""), arguments)

    def test_several_input_shapes(self):
        self.write("two.onnx", onnx.model([onnx.node("Add", ["a", "b"], ["y"])],
                                          [onnx.value("a", ["n", 2]), onnx.value("b", ["m", 2])], [onnx.value("y", None)]))
        for options in [["--input-shape", "a:3x2,b:3x2"], ["--input-shape", "a:3x2", "--input_shape=b:3,2"],
                        ["--dim", "n=3,m=3"], ["--input-shape", "0:3x2", "--dim", "m=3"]]:
            row = self.good("run", "two.onnx", "--json", *options).result["outputs"][0]
            self.assertEqual(row["shape"], [3, 2], options)


if __name__ == "__main__":
    unittest.main()
