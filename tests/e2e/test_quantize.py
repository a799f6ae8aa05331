"""Quantisation as users ask for it: a folder of pictures in, an integer file and a report out."""

import hashlib
import os
import random
import re
import unittest

import onnx_builder as onnx
from harness import Case


def ppm(seed: int, width: int = 12, height: int = 10) -> bytes:
    pixels = random.Random(seed).randbytes(width * height * 3)
    return f"P6 {width} {height} 255\n".encode() + pixels


class Quantize(Case):
    def setUp(self):
        super().setUp()
        random_values = random.Random(1)
        weights = [random_values.uniform(-1, 1) for _ in range(4 * 3 * 3 * 3)]
        nodes = [onnx.node("Conv", ["x", "w", "b"], ["c"], name="stem", pads=[1, 1, 1, 1]),
                 onnx.node("Relu", ["c"], ["r"], name="act"),
                 onnx.node("GlobalAveragePool", ["r"], ["y"], name="pool")]
        model = onnx.model(nodes, [onnx.value("x", [1, 3, 8, 8])], [onnx.value("y", [1, 4, 1, 1])],
                           [onnx.tensor("w", [4, 3, 3, 3], weights), onnx.tensor("b", [4], [0.1, -0.2, 0.3, 0.0])])
        self.write("m.onnx", model)
        for i in range(20):
            os.makedirs(self.dir / f"images/class{i % 2}", exist_ok=True)
            self.write(f"images/class{i % 2}/{i:02}.ppm", ppm(i))

    def quantize(self, *options):
        return ("m.onnx", "-t", "tflite", "-q", "ptq", *options)

    def test_folder_of_pictures_to_tflite(self):
        outcome = self.good(*self.quantize("--calibration-data", "images", "-o", "m.tflite", "--json"))
        report = outcome.result["quantization"]
        self.assertEqual(report["float_operations"], 0)
        self.assertEqual(report["calibration_samples"], 18)
        self.assertEqual(report["accuracy"]["samples"], 2)
        self.assertTrue(report["accuracy"]["held_out"])
        self.assertGreater(report["accuracy"]["outputs"][0]["sqnr_db"], 20)
        # The convolution is computed with the activation behind it, which stands for both.
        self.assertEqual([layer["name"] for layer in report["accuracy"]["layers"]], ["act", "pool"])
        self.assertEqual((self.dir / "m.tflite").read_bytes()[4:8], b"TFL3")
        text = self.good(*self.quantize("--calibration-data", "images", "-o", "n.tflite")).out
        for part in ("calibrated on 18 samples", "SQNR", "Worst layers", "act"):
            self.assertIn(part, text)

    def test_the_same_files_whatever_the_threads(self):
        digests = set()
        for threads in (1, 2):
            self.good(*self.quantize("--calibration-data", "images", "-o", "m.tflite", "--threads", threads))
            digests.add(hashlib.sha256((self.dir / "m.tflite").read_bytes()).hexdigest())
        self.assertEqual(len(digests), 1)

    def test_quantised_graph_runs_here(self):
        self.good("quantize", "m.onnx", "--calibration-data", "images", "-o", "q.ecir")
        self.good("run", "q.ecir", "-o", "out")
        summary = self.good("inspect", "q.ecir", "--json").result
        self.assertEqual(summary["quantization"]["quantize_ops"], 1)
        self.assertIn("preprocessing", summary["metadata"])

    def test_quantised_onnx_keeps_its_parameters(self):
        for how, integer in (("ptq", "i8"), ("a16w8", "i16")):
            with self.subTest(how=how):
                self.good("quantize", "m.onnx", "-q", how, "--calibration-data", "images", "-o", "q.onnx")
                summary = self.good("inspect", "q.onnx", "--json").result
                self.assertEqual(summary["inputs"][0]["shape"], [1, 3, 8, 8])
                # Without being told: the file says that it rounds, and how.
                report = self.good("q.onnx", "-t", "tflite", "-o", "q.tflite", "--json").result["quantization"]
                self.assertEqual((report["strategy"], report["float_operations"]), ("qat", 0))
                self.good("quantize", "q.onnx", "-q", "qat", "-o", "again.ecir")
                self.good("quantize", "m.onnx", "-q", how, "--calibration-data", "images", "-o", "first.ecir")
                first, again = (self.scales(name) for name in ("first.ecir", "again.ecir"))
                self.assertEqual(first, again)
                self.assertIn(integer + "[", (self.dir / "again.ecir").read_text("latin-1"))
        self.assertIn("float", self.bad(2, "EC8001", "quantize", "m.onnx", "--calibration-data", "images", "--io-type", "int8",
                                        "-o", "x.onnx").err)

    def scales(self, name):
        """Every distinct set of parameters in the text form."""
        return sorted(set(re.findall(r" q\([^)]*\)", (self.dir / name).read_text("latin-1"))))

    def test_interface_types(self):
        for kind, dtype in (("float", "f32"), ("int8", "i8"), ("uint8", "u8")):
            outcome = self.good(*self.quantize("--calibration-data", "images", "-o", f"{kind}.tflite",
                                               "--io-type", kind, "--json"))
            self.assertEqual(outcome.result["inputs"][0]["dtype"], dtype)

    def test_coral_takes_integers(self):
        outcome = self.good("m.onnx", "-t", "coral", "-q", "ptq", "--calibration-data", "images", "-o", "c.tflite", "--json")
        self.assertEqual(outcome.result["inputs"][0]["dtype"], "i8")
        self.assertEqual(outcome.result["quantization"]["io_type"], "int8")
        before = self.files()
        placement = outcome.result["placement"]
        self.assertEqual((placement["native"], placement["host"]), (len(placement["operations"]), 0))
        self.assertTrue(all(row["status"] == "Mapped to Edge TPU" for row in placement["operations"]))
        self.assertEqual(placement["estimate"]["certainty"], "estimated")
        self.assertIn("--quantize", self.bad(3, "EC3004", "m.onnx", "-t", "coral", "-o", "f.tflite").err)
        # What stays on the CPU is an error where the user says so, and nothing is written.
        strict = ["m.onnx", "-t", "coral", "-q", "ptq", "--calibration-data", "images", "--io-type", "float", "-o", "s.tflite"]
        self.assertIn("on the CPU", self.good(*strict).out)
        (self.dir / "s.tflite").unlink()
        self.assertIn("QUANTIZE", self.bad(3, "EC3004", *strict, "--strict").err)
        self.assertFalse((self.dir / "s.tflite").exists())
        self.assertIn("on the CPU", self.good("check", "c.tflite", "-t", "coral").out)
        self.assertEqual(self.files(), before)

    def test_random_data_warns(self):
        outcome = self.good(*self.quantize("--calibration-data", "random", "-o", "m.tflite"))
        self.assertIn("warning EC4004", outcome.err)

    def test_wrong_preprocessing_warns(self):
        outcome = self.good(*self.quantize("--calibration-data", "images", "-o", "m.tflite", "--mean", "0.5",
                                           "--std", "0.25", "--pixel-range", "255"))
        self.assertIn("warning EC4004", outcome.err)
        self.assertIn("--pixel-range", outcome.err)

    def test_kept_in_float_by_name(self):
        outcome = self.good(*self.quantize("--calibration-data", "images", "-o", "m.tflite", "--keep-float", "pool*",
                                           "--json"))
        kept = outcome.result["quantization"]["kept_in_float"]
        self.assertEqual([op["name"] for op in kept], ["pool"])

    def test_bad_requests(self):
        before = self.files()
        self.bad(2, "EC4002", *self.quantize("-o", "m.tflite"))
        self.bad(2, "EC8001", "m.onnx", "-t", "tflite", "-o", "m.tflite", "--calibration-data", "images")
        self.bad(2, "EC8001", "m.onnx", "-t", "tflite", "-q", "ptx", "--calibration-data", "images")
        self.bad(2, "EC8001", "m.onnx", "-t", "cpu", "-q", "ptq", "--calibration-data", "images")
        for option, value in (("--io-type", "int7"), ("--color", "hsv"), ("--input-layout", "nwhc"),
                              ("--resize", "pad"), ("--pixel-range", "7"), ("--calibration-method", "guess"),
                              ("--mean", "a"), ("--std", "0"), ("--mean", "1,2")):
            with self.subTest(option=option, value=value):
                self.bad(2, "EC8001", *self.quantize("--calibration-data", "images", option, value))
        outcome = self.run_program(*self.quantize("--calibration-data", "images", "--calibration-samples", "0"))
        self.assertEqual(outcome.code, 2)
        self.assertEqual(self.files(), before)

    def test_bad_data(self):
        self.write("broken.jpg", b"\xff\xd8\xff\xe0 no picture")
        self.write("huge.ppm", b"P6 60000 60000 255\n")
        self.write("text.jpg", "hello")
        self.write("list.txt", "absent.png\n")
        self.write_npy("shape.npy", (2, 5), [0.0] * 10)
        self.write_npy("type.npy", (1, 3, 8, 8), [1] * 192, "|u1")
        os.mkdir(self.dir / "empty")
        before = self.files()
        for data, code, exit_code in (("broken.jpg", "EC1020", 7), ("huge.ppm", "EC1020", 7), ("text.jpg", "EC1020", 7),
                                      ("list.txt", "EC1001", 7), ("shape.npy", "EC4003", 7), ("type.npy", "EC4003", 7),
                                      ("empty", "EC4003", 7), ("absent", "EC1001", 7)):
            with self.subTest(data=data):
                outcome = self.run_program(*self.quantize("--calibration-data", data, "-o", "m.tflite"))
                self.assertEqual(outcome.code, exit_code, outcome.err)
                self.assertIn(f"error {code}", outcome.err)
                self.assertIn(data.split(".")[0] if data != "list.txt" else "absent", outcome.err)
        self.assertEqual(self.files(), before)


class StoredWeights(Case):
    """Weights stored smaller, activations in floating point: no examples are needed."""

    def setUp(self):
        super().setUp()
        random_values = random.Random(1)
        weights = [random_values.uniform(-1, 1) for _ in range(16 * 8 * 3 * 3)]
        nodes = [onnx.node("Conv", ["x", "w", "b"], ["y"], name="stem", pads=[1, 1, 1, 1])]
        model = onnx.model(nodes, [onnx.value("x", [1, 8, 12, 12])], [onnx.value("y", [1, 16, 12, 12])],
                           [onnx.tensor("w", [16, 8, 3, 3], weights), onnx.tensor("b", [16], [0.1] * 16)])
        self.write("m.onnx", model)
        self.write_npy("x.npy", (1, 8, 12, 12), [random_values.uniform(-1, 1) for _ in range(8 * 144)])

    def test_files_are_smaller(self):
        self.good("m.onnx", "-t", "tflite", "-o", "float.tflite")
        whole = (self.dir / "float.tflite").stat().st_size
        for how, bits in (("dynamic", 8), ("float16", 16)):
            outcome = self.good("m.onnx", "-t", "tflite", "-q", how, "-o", f"{how}.tflite", "--json")
            report = outcome.result["quantization"]
            self.assertEqual([(w["type"], w["bytes_before"]) for w in report["stored_weights"]],
                             [("i8" if bits == 8 else "f16", 16 * 72 * 4)])
            self.assertEqual(report["accuracy"]["samples"], 0)
            self.assertEqual(outcome.result["inputs"][0]["dtype"], "f32")
            saved = whole - (self.dir / f"{how}.tflite").stat().st_size
            self.assertGreater(saved, 16 * 72 * (4 - bits // 8) - 400)
            self.good("run", f"{how}.tflite", "-o", "out")

    def test_examples_measure_the_outputs(self):
        report = self.good("m.onnx", "-t", "tflite", "-q", "dynamic", "--calibration-data", "x.npy", "-o", "d.tflite",
                           "--json").result["quantization"]
        self.assertEqual(report["accuracy"]["samples"], 1)
        self.assertGreater(report["accuracy"]["outputs"][0]["sqnr_db"], 35)
        text = self.good("m.onnx", "-t", "tflite", "-q", "dynamic", "--calibration-data", "x.npy", "-o", "d.tflite").out
        for part in ("1 weights take", "the coarsest is", "measured against the float model on 1 samples"):
            self.assertIn(part, text)
        self.bad(5, "EC4006", "m.onnx", "-t", "tflite", "-q", "dynamic", "--calibration-data", "x.npy", "--min-sqnr", "90",
                 "-o", "n.tflite")
        self.assertFalse((self.dir / "n.tflite").exists())

    def test_refused_where_it_makes_no_sense(self):
        before = self.files()
        for how in ("dynamic", "float16"):
            outcome = self.bad(2, "EC8001", "m.onnx", "-t", "coral", "-q", how, "-o", "c.tflite")
            self.assertIn("'coral' has no", outcome.err)
            self.assertIn("--quantize ptq", outcome.err)
            self.bad(2, "EC8001", "m.onnx", "-t", "tflite", "-q", how, "--io-type", "int8")
            self.assertIn(".ecir", self.bad(2, "EC8001", "quantize", "m.onnx", "-q", how, "-o", "q.onnx").err)
        self.bad(2, "EC4002", "m.onnx", "-t", "tflite", "-q", "dynamic", "--min-sqnr", "20")
        self.assertEqual(self.files(), before)


if __name__ == "__main__":
    unittest.main()
