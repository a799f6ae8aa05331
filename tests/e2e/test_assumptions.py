"""What is taken for granted about data is said where it may be wrong, once, with a way out, and not where it does not apply."""

from __future__ import annotations

import struct
import unittest

import onnx_builder as onnx
import sample_files as files
from harness import Case
from test_evaluate import COLOURS, colour_model


def detector_model() -> bytes:
    """Boxes and scores of 84 candidates, as YOLOv8 gives them: [1, 4 + 3, 84]."""
    weights = [((i * 37) % 19 - 9) / 20 for i in range(7 * 3 * 8 * 8)]
    nodes = [
        onnx.node("Conv", ["x", "w", "b"], ["c"], "head", strides=[8, 8], kernel_shape=[8, 8]),
        onnx.node("Reshape", ["c", "s"], ["f"], "flat"),
        onnx.node("Split", ["f", "parts"], ["boxes", "logits"], "split", axis=1),
        onnx.node("Sigmoid", ["logits"], ["scores"], "sigmoid"),
        onnx.node("Abs", ["boxes"], ["placed"], "abs"),
        onnx.node("Mul", ["placed", "k"], ["sized"], "mul"),
        onnx.node("Concat", ["sized", "scores"], ["output0"], "concat", axis=1),
    ]
    constants = [onnx.tensor("w", [7, 3, 8, 8], weights), onnx.tensor("b", [7], [0.1] * 7), onnx.tensor("s", [3], [1, 7, 64], onnx.INT64),
                 onnx.tensor("parts", [2], [4, 3], onnx.INT64), onnx.tensor("k", [1], [20.0])]
    return onnx.model(nodes, [onnx.value("x", [1, 3, 64, 64])], [onnx.value("output0", [1, 7, 64])], constants)


class Assumptions(Case):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", colour_model())
        for name, colour in COLOURS.items():
            (self.dir / "data" / name).mkdir(parents=True)
            for i in range(6):
                self.write(f"data/{name}/{i}.ppm", files.flat_ppm(tuple(min(255, c + i) for c in colour)))

    def warnings(self, *arguments: object) -> list[str]:
        outcome = self.good(*arguments, "--json")
        found = [d for d in outcome.json["diagnostics"] if d["code"] == "EC4004"]
        self.assertTrue(all(d["hint"] for d in found), found)
        return [d["message"] for d in found]

    def quantize(self, *options: object, data: str = "data") -> list[str]:
        return self.warnings("m.onnx", "-t", "tflite", "-q", "ptq", "--calibration-data", data, "--dim", "batch=1", "-o", "m.tflite", *options)

    def test_mean_and_std(self):
        said, = self.quantize()
        for part in ("neither --mean nor --std", "'x'", "pixels from 0 to 1", "values 0.0784 to", "mean 0.36"):
            self.assertIn(part, said)
        for options in (("--mean", "0.5", "--std", "0.5"), ("--pixel-range", "1"), ("--fold-preprocessing",)):
            with self.subTest(options):
                self.assertEqual(self.quantize(*options), [])
        # The file says it: evaluation assumes nothing, unless it has no such file.
        self.assertEqual(self.warnings("evaluate", "m.tflite", "--data", "data"), [])
        self.assertEqual(len(self.warnings("evaluate", "m.onnx", "--data", "data")), 1)
        self.assertEqual(self.warnings("evaluate", "m.onnx", "--data", "data", "--std", "0.5"), [])

    def test_few_samples_and_mixed_scales(self):
        self.write("few.npy", files.npy((3, 3, 8, 8), struct.pack("<576f", *([0.5, 0.25] * 288))))
        said, = self.quantize(data="few.npy")
        self.assertIn("3 samples alone", said)
        (self.dir / "mixed").mkdir()
        for i in range(20):
            scale = 255 if i % 2 else 1
            self.write(f"mixed/{i:02}.npy", files.npy((1, 3, 8, 8), struct.pack("<192f", *([scale, scale / 4] * 96))))
        said, = self.quantize(data="mixed")
        self.assertIn("unlike each other", said)
        self.assertIn("01.npy' up to 255", said)

    def test_label_offset(self):
        self.write("m.onnx", colour_model(background=True))
        said, = self.warnings("evaluate", "m.onnx", "--data", "data", "--pixel-range", "1")
        self.assertIn("4 scores and the labels 3 classes", said)
        self.assertIn("top-1 is 1.0000 in place of 0.0000", said)
        self.assertEqual(self.warnings("evaluate", "m.onnx", "--data", "data", "--pixel-range", "1", "--label-offset", "1"), [])

    def test_pictures_of_detectors(self):
        self.write("m.onnx", detector_model())
        (self.dir / "wide").mkdir()
        for i in range(16):
            self.write(f"wide/{i:02}.ppm", files.ppm(i, 96, 48))
        options = ("-t", "tflite", "-q", "ptq", "--calibration-data", "wide", "--pixel-range", "1", "-o", "d.tflite")
        said, = self.warnings("m.onnx", *options)
        self.assertIn("50 % of a picture is cut off", said)
        for resize in ("crop", "letterbox", "stretch"):
            self.assertNotIn("cut off", "".join(self.warnings("m.onnx", *options, "--resize", resize)))

    def test_letterbox_is_recorded_and_used(self):
        self.quantize("--resize", "letterbox:10", "--pixel-range", "1")
        result = self.good("evaluate", "m.tflite", "--data", "data", "--json").result
        self.assertEqual(result["model"]["preprocessing"], "resize letterbox:10, color rgb, pixels 0 to 1")
        self.assertEqual(result["model"]["preprocessing_from"], "file")
        self.assertIn("letterbox", self.bad(2, "EC8001", "m.onnx", "-t", "tflite", "-q", "ptq", "--calibration-data", "data", "--resize", "letterbox:300",
                                            "-o", "x.tflite").err)  # fmt: skip

    def test_run_takes_pictures(self):
        # Twice as wide as high: a quarter of the letterboxed input is border above, a quarter below.
        self.write("wide.ppm", files.flat_ppm((255, 0, 0), 16, 8))
        run = ("run", "m.onnx", "-i", "wide.ppm", "-o", "out", "--dim", "batch=1")
        self.good(*run, "--resize", "letterbox:0", "--pixel-range", "1")
        _, values = self.read_npy(self.dir / "out/y.npy")
        self.assertEqual([round(v, 5) for v in values], [0.5, 0.0, 0.0])
        self.good(*run, "--pixel-range", "255")
        self.assertEqual(self.read_npy(self.dir / "out/y.npy")[1], [255.0, 0.0, 0.0])
        self.assertEqual(len(self.warnings(*run)), 1)
        # A compiled file says how.
        self.quantize("--resize", "letterbox:0", "--pixel-range", "1")
        self.assertEqual(self.warnings("run", "m.tflite", "-i", "wide.ppm", "-o", "out"), [])
        self.assertAlmostEqual(self.read_npy(self.dir / "out/y.npy")[1][0], 0.5, delta=0.06)  # a crop gives 0.92


if __name__ == "__main__":
    unittest.main()
