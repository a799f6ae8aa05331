"""evaluate as users call it: labels from folders and files, a float reference, every output, preprocessing of the file."""

from __future__ import annotations

import random
import struct
import unittest

import onnx_builder as onnx
import sample_files as files
from harness import Case

COLOURS = {"a_red": (230, 20, 20), "b_green": (20, 230, 20), "c_blue": (20, 20, 230)}


def colour_model(background: bool = False, outputs: bool = False, blind: bool = False, sizes: tuple = (8, 8)) -> bytes:
    """Scores are the mean of each channel; with a background class in front its score is always lowest; blind: all is red."""
    weights, classes = [], 4 if background else 3
    for o in range(classes):
        channel = o - 1 if background else o
        weights += [1.0 if c == channel else 0.0 for c in range(3)]
    bias = [(9.0 if blind else -9.0 if background else 0.0) if o == 0 else 0.0 for o in range(classes)]
    nodes = [onnx.node("Conv", ["x", "w", "b"], ["c"], "scores"),
             onnx.node("GlobalAveragePool", ["c"], ["p"], "pool"), onnx.node("Flatten", ["p"], ["y"], "flat")]
    results = [onnx.value("y", ["batch", classes])]
    if outputs:
        nodes.append(onnx.node("Relu", ["c"], ["map"], "relu"))
        results.append(onnx.value("map", ["batch", classes, 8, 8]))
    return onnx.model(nodes, [onnx.value("x", ["batch", 3, *sizes])], results,
                      [onnx.tensor("w", [classes, 3, 1, 1], weights), onnx.tensor("b", [classes], bias)])


class Evaluate(Case):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", colour_model())
        noise = random.Random(5)
        for name, colour in COLOURS.items():
            (self.dir / "data" / name).mkdir(parents=True)
            for i in range(6):
                shade = tuple(min(255, max(0, c + noise.randrange(-20, 20))) for c in colour)
                self.write(f"data/{name}/{i}.ppm", files.flat_ppm(shade))

    def quantized(self, *options: str, model: str = "m.onnx") -> str:
        self.good(model, "-t", "tflite", "-q", "ptq", "--calibration-data", "data", "--dim", "batch=1", "-o", "m.tflite", *options)
        return "m.tflite"

    def test_a_reference_with_open_sizes_has_those_of_the_compiled_file(self):
        self.write("open.onnx", colour_model(sizes=("height", "width")))
        self.good("open.onnx", "-t", "tflite", "-q", "ptq", "--calibration-data", "data", "--input-shape", "1x3x8x8", "-o", "m.tflite")
        result = self.good("evaluate", "m.tflite", "--data", "data", "--reference", "open.onnx", "--json").result
        self.assertEqual((result["model"]["top1"], result["reference"]["top1"]), (1.0, 1.0))
        self.bad(1, "EC2003", "evaluate", "open.onnx", "--data", "data")

    def test_folders_are_classes_in_alphabetical_order(self):
        result = self.good("evaluate", "m.onnx", "--data", "data", "--json").result
        self.assertEqual(result["samples"], 18)
        self.assertEqual(result["classes"], list(COLOURS))
        self.assertEqual((result["model"]["top1"], result["model"]["top5"]), (1.0, 1.0))
        # A picture in the wrong folder is a mistake, and --confusion says which.
        self.write("data/c_blue/wrong.ppm", files.flat_ppm(COLOURS["a_red"]))
        result = self.good("evaluate", "m.onnx", "--data", "data", "--confusion", "--json").result
        self.assertAlmostEqual(result["model"]["top1"], 18 / 19)
        self.assertIn({"label": "c_blue", "predicted": "a_red", "count": 1}, result["model"]["confusion"])
        text = self.good("evaluate", "m.onnx", "--data", "data", "--confusion").out
        for part in ("19 samples", "alphabetical", "94.74 %", "rows are labels", "a_red"):
            self.assertIn(part, text)

    def test_folders_that_are_numbers(self):
        for number, colour in ((0, "a_red"), (2, "c_blue")):
            (self.dir / f"numbers/{number}").mkdir(parents=True)
            self.write(f"numbers/{number}/x.ppm", files.flat_ppm(COLOURS[colour]))
        result = self.good("evaluate", "m.onnx", "--data", "numbers", "--json").result
        self.assertEqual((result["labels"], result["model"]["top1"]), ("folders, by number", 1.0))

    def test_integers_beside_the_float_model(self):
        model = self.quantized("--mean", "0.5", "--std", "0.25")
        result = self.good("evaluate", model, "--data", "data", "--reference", "m.onnx", "--json").result
        self.assertEqual(result["model"]["top1"], result["reference"]["top1"])
        self.assertEqual(result["changed_answers"], {"put_right": 0, "put_wrong": 0, "chance": 1.0})
        output, = result["outputs"]
        self.assertEqual((output["name"], output["top1_agreement"]), ("y", 1.0))
        self.assertGreater(output["sqnr_db"], 25)
        self.assertGreater(output["max_error"], 0)
        self.assertLessEqual(output["mean_error"], output["max_error"])
        # The file says how its input is made, and the reference gets the same.
        for side in ("model", "reference"):
            self.assertIn("mean 0.5, std 0.25", result[side]["preprocessing"])
            self.assertEqual(result[side]["preprocessing_from"], "file" if side == "model" else "other file")
        self.assertIn("recorded in the file", self.good("evaluate", model, "--data", "data").out)
        given = self.good("evaluate", model, "--data", "data", "--mean", "0.4", "--json").result
        self.assertEqual(given["model"]["preprocessing_from"], "options")

    def test_changed_answers(self):
        self.write("blind.onnx", colour_model(blind=True))
        for model, reference, right, wrong in (("blind.onnx", "m.onnx", 0, 12), ("m.onnx", "blind.onnx", 12, 0)):
            done = self.good("evaluate", model, "--data", "data", "--reference", reference, "--json").result["changed_answers"]
            self.assertEqual((done["put_right"], done["put_wrong"]), (right, wrong))
            self.assertAlmostEqual(done["chance"], 2 / 2**12)
        self.assertIn("0 answers put right, 12 put wrong", self.good("evaluate", "blind.onnx", "--data", "data", "--reference", "m.onnx").out)

    def test_integer_interface_and_quantised_graph(self):
        for kind in ("int8", "uint8"):
            model = self.quantized("--io-type", kind)
            result = self.good("evaluate", model, "--data", "data", "--reference", "m.onnx", "--json").result
            self.assertEqual(result["outputs"][0]["top1_agreement"], 1.0)
            self.assertGreater(result["outputs"][0]["sqnr_db"], 25, kind)
        self.good("quantize", "m.onnx", "--calibration-data", "data", "--dim", "batch=1", "-o", "q.ecir")
        result = self.good("evaluate", "q.ecir", "--data", "data", "--reference", "m.onnx", "--json").result
        self.assertGreater(result["outputs"][0]["sqnr_db"], 25)

    def test_bytes_are_pixels_where_nothing_else_is_known(self):
        # As vendors' files are: uint8 in, and not a word about preprocessing.
        network = """ecir 1
graph @g(%x: u8[1,8,8,3] q(1:0)) -> (y = %y) {
  %axes = const i64[2] dense[1,2]
  %r = dequantize(%x) : f32[1,8,8,3]
  %y = reduce_mean(%r, %axes) {keep_dims=false}
}
"""
        self.write("bytes.ecir", network)
        result = self.good("evaluate", "bytes.ecir", "--data", "data", "--json").result
        self.assertEqual((result["model"]["top1"], result["model"]["preprocessing_from"]), (1.0, "nothing"))
        self.assertIn("pixels 0 to 255", result["model"]["preprocessing"])

    def test_every_output_is_compared(self):
        self.write("two.onnx", colour_model(outputs=True))
        model = self.quantized(model="two.onnx")
        result = self.good("evaluate", model, "--data", "data", "--reference", "two.onnx", "--json").result
        self.assertEqual([o["name"] for o in result["outputs"]], ["y", "map"])
        # The map is NHWC in the file and NCHW in the model: compared element by element all the same.
        self.assertGreater(result["outputs"][1]["sqnr_db"], 25)
        self.assertNotIn("top1_agreement", result["outputs"][1])

    def test_background_class(self):
        self.write("b.onnx", colour_model(background=True))
        self.assertEqual(self.good("evaluate", "b.onnx", "--data", "data", "--json").result["model"]["top1"], 0.0)
        result = self.good("evaluate", "b.onnx", "--data", "data", "--label-offset", "1", "--json").result
        self.assertEqual(result["model"]["top1"], 1.0)

    def test_labels_of_a_file(self):
        paths = [f"{name}/{i}.ppm" for name in COLOURS for i in range(3)]
        for separator in ("\t", ",", " "):
            lines = [f"{path}{separator}{list(COLOURS).index(path.split('/')[0])}" for path in paths]
            self.write("labels.txt", "# comment\n" + "\n".join(lines) + "\n")
            result = self.good("evaluate", "m.onnx", "--data", "data", "--labels", "labels.txt", "--json").result
            self.assertEqual((result["samples"], result["model"]["top1"]), (9, 1.0))
        self.write("names.csv", "path,label\n" + "\n".join(f"{p},{p.split('/')[0]}" for p in paths))
        result = self.good("evaluate", "m.onnx", "--data", "data", "--labels", "names.csv", "--json").result
        self.assertEqual((result["classes"], result["model"]["top1"]), (list(COLOURS), 1.0))

    def test_arrays_with_labels(self):
        values, labels = [], []
        for i in range(9):
            labels.append(i % 3)
            values += [1.0 if c == i % 3 else 0.1 for c in range(3) for _ in range(64)]
        self.write_npy("x.npy", (9, 3, 8, 8), values)
        self.write_npy("labels.npy", (9,), labels, "<i8")
        self.write("labels.txt", "\n".join(map(str, labels)))
        for name in ("labels.npy", "labels.txt"):
            result = self.good("evaluate", "m.onnx", "--data", "x.npy", "--labels", name, "--json").result
            self.assertEqual((result["samples"], result["model"]["top1"]), (9, 1.0))
        # Arrays in the order of the float model serve the compiled one, whose channels are last.
        result = self.good("evaluate", self.quantized(), "--data", "x.npy", "--reference", "m.onnx", "--json").result
        self.assertEqual(result["outputs"][0]["top1_agreement"], 1.0)

    @staticmethod
    def picture(label: int) -> bytes:
        return files.floats(*(1.0 if c == label else 0.1 for c in range(3) for _ in range(64)))

    def batch(self, labels: list[int]) -> bytes:
        return b"".join(map(self.picture, labels))

    def test_labels_beside_arrays(self):
        labels = [0, 2, 1, 1, 2]  # the last one is wrong
        values = self.batch([*labels[:-1], 0])
        x = files.npy((5, 3, 8, 8), values)
        wide, narrow = struct.pack("<5q", *labels), bytes(labels)
        self.write("named.npz", files.npz({"x": x, "labels": files.npy((5,), wide, "<i8")}))
        self.write("other.npz", files.npz({"y": files.npy((5,), narrow, "|u1"), "images": x}))
        pairs = [(self.picture(label if i < 4 else 0), label) for i, label in enumerate(labels)]
        for kind in ("tuple", "list"):
            p = files.Pickle()
            self.write(f"batch_{kind}.pt", p.file(p.sequence([p.tensor((5, 3, 8, 8), values),
                                                              p.tensor((5,), wide, "LongStorage", 8)], kind)))
            p = files.Pickle()
            self.write(f"numbers_{kind}.pt", p.file(p.sequence([
                p.sequence([p.tensor((3, 8, 8), picture), p.integer(label)], kind) for picture, label in pairs])))
        p = files.Pickle()
        self.write("scalars.pt", p.file(p.sequence([
            p.sequence([p.tensor((1, 3, 8, 8), picture), p.tensor((), struct.pack("<q", label), "LongStorage", 8)], "tuple")
            for picture, label in pairs])))
        p = files.Pickle()
        self.write("dict.pt", p.file(p.dict({"x": p.tensor((5, 3, 8, 8), values), "y": p.tensor((5,), wide, "LongStorage", 8)})))
        (self.dir / "single").mkdir()
        for i, (picture, label) in enumerate(pairs):
            p = files.Pickle()
            self.write(f"single/{i}.pt", p.file(p.sequence([p.tensor((3, 8, 8), picture), p.integer(label)], "tuple")))
        for data in ("named.npz", "other.npz", "batch_tuple.pt", "batch_list.pt", "numbers_tuple.pt", "numbers_list.pt", "scalars.pt",
                     "dict.pt", "single"):
            with self.subTest(data=data):
                result = self.good("evaluate", "m.onnx", "--data", data, "--dim", "batch=1", "--json").result
                self.assertEqual((result["samples"], result["model"]["top1"]), (5, 0.8))
                self.assertEqual(result["labels"], "beside the samples, by number")
                # A file of labels counts before them; calibration has no use for them.
                self.write("labels.txt", "0\n2\n1\n1\n0\n")
                result = self.good("evaluate", "m.onnx", "--data", data, "--dim", "batch=1", "--labels", "labels.txt", "--json").result \
                    if data != "single" else {"model": {"top1": 1.0}}
                self.assertEqual(result["model"]["top1"], 1.0)
                self.good("m.onnx", "-t", "tflite", "-q", "ptq", "--calibration-data", data, "--dim", "batch=1", "-o", "c.tflite")

    def test_labels_that_do_not_fit(self):
        x = files.npy((3, 3, 8, 8), self.batch([0, 1, 2]))

        def archive(count: int, content: bytes, descr: str = "<i8") -> bytes:
            return files.npz({"x": x, "labels": files.npy((count,), content, descr)})

        self.write("few.npz", archive(2, struct.pack("<2q", 0, 1)))
        self.write("real.npz", archive(3, struct.pack("<3f", 0, 1, 2), "<f4"))
        self.write("far.npz", archive(3, struct.pack("<3q", 0, 1, 3)))
        self.write("negative.npz", archive(3, struct.pack("<3q", 0, -1, 2)))
        p = files.Pickle()
        self.write("real.pt", p.file(p.sequence([p.tensor((1, 3, 8, 8), self.picture(0)), b"G" + struct.pack(">d", 0.5)], "tuple")))
        p = files.Pickle()
        self.write("few.pt", p.file(p.sequence([p.tensor((3, 3, 8, 8), self.batch([0, 1, 2])),
                                                p.tensor((2,), struct.pack("<2q", 0, 1), "LongStorage", 8)], "tuple")))
        (self.dir / "some").mkdir()
        self.write("some/a.npz", archive(3, struct.pack("<3q", 0, 1, 2)))
        self.write("some/b.npy", x)
        for data, text in (("few.npz", "2 labels for 3 samples"), ("real.npz", "labels are integers, the array is f32[3]"),
                           ("far.npz", "label 3 of sample 2 has no score: the output has 3 classes"),
                           ("negative.npz", "label -1 is outside 0"), ("real.pt", "labels are integers"),
                           ("few.pt", "2 labels for 3 samples"), ("some", "has no label, where others have one")):
            with self.subTest(data=data):
                outcome = self.bad(7, "EC4003", "evaluate", "m.onnx", "--data", data, "--dim", "batch=1")
                self.assertIn(text, outcome.err)

    def test_samples_are_spread_and_threads_change_nothing(self):
        result = self.good("evaluate", "m.onnx", "--data", "data", "--samples", "3", "--confusion", "--json").result
        self.assertEqual(sorted(e["label"] for e in result["model"]["confusion"]), list(COLOURS))
        model = self.quantized()
        one, two = (self.good("evaluate", model, "--data", "data", "--reference", "m.onnx", "--threads", n, "--json").result
                    for n in (1, 2))
        self.assertEqual(one["outputs"], two["outputs"])

    def test_requests_that_cannot_be_met(self):
        (self.dir / "flat").mkdir()
        self.write("flat/x.ppm", files.ppm(1))
        self.write_npy("x.npy", (2, 3, 8, 8), [0.5] * 384)
        self.write("three.txt", "0\n1\n2\n")
        self.write("far.txt", "a_red/0.ppm 7\n")
        self.write("mixed.txt", "a_red/0.ppm 0\na_red/1.ppm red\n")
        self.write("absent.txt", "a_red/77.ppm 0\n")
        self.write("negative.txt", "a_red/0.ppm -1\n")
        before = self.files()
        self.bad(2, "EC8001", "evaluate", "m.onnx")
        self.bad(2, "EC8001", "evaluate", "m.onnx", "--data", "flat")
        self.bad(7, "EC4003", "evaluate", "m.onnx", "--data", "x.npy", "--labels", "three.txt")
        for labels in ("far.txt", "mixed.txt", "negative.txt"):
            self.bad(7, "EC4003", "evaluate", "m.onnx", "--data", "data", "--labels", labels)
        self.assertIn("77.ppm", self.run_program("evaluate", "m.onnx", "--data", "data", "--labels", "absent.txt").err)
        self.write("other.onnx", onnx.relu_model([1, 3, 8, 8]))
        self.bad(1, "EC2001", "evaluate", "m.onnx", "--data", "flat", "--reference", "other.onnx")
        self.assertEqual(self.files(), sorted([*before, "other.onnx"]))


if __name__ == "__main__":
    unittest.main()
