"""What quantisation says and keeps: root causes by name, limits on accuracy, folded preprocessing, saved statistics, the same
bytes from the same data."""

from __future__ import annotations

import json
import math
import random
import unittest

import onnx_builder as onnx
import sample_files as files
from harness import Case

SIDE = 8


def conv_net(layers: list[tuple[str, list[float], list[int], dict]], channels: int = 3, tail: list[bytes] = (),
             result: tuple[str, list[int]] | None = None, activation: str | None = None, tail_weights: list[bytes] = ()) -> bytes:
    """Convolutions named as given, each with the activation behind it, then the mean of each channel or the tail."""
    nodes, constants, at, last = [], [*tail_weights], "x", channels
    for i, (name, weights, shape, attributes) in enumerate(layers):
        constants.append(onnx.tensor(f"{name}_w", shape, weights))
        nodes.append(onnx.node("Conv", [at, f"{name}_w"], [f"{name}_c"], name, **attributes))
        at, last = f"{name}_c", shape[0]
        if activation and i + 1 < len(layers):
            nodes.append(onnx.node(activation, [at], [f"{name}_a"], f"{name}_act"))
            at = f"{name}_a"
    if not tail:
        nodes += [onnx.node("GlobalAveragePool", [at], ["p"], "pool"), onnx.node("Flatten", ["p"], ["y"], "flat")]
        result = ("y", [1, last])
    return onnx.model([*nodes, *tail], [onnx.value("x", [1, channels, SIDE, SIDE])], [onnx.value(*result)], constants)


def outlier_net() -> bytes:
    """Channel 5 of 'wide' is a thousand times the others and counts for little in 'judge'; hard swish between them keeps
    the two from being scaled against each other."""
    r = random.Random(7)
    wide = [r.uniform(-1, 1) * (1000 if o == 5 else 1) for o in range(8) for _ in range(3)]
    judge = [0.0 if c == 5 else r.uniform(-1, 1) for o in range(6) for c in range(8)]
    return conv_net([("wide", wide, [8, 3, 1, 1], {}), ("judge", judge, [6, 8, 1, 1], {})], activation="HardSwish")


class QuantizeCase(Case):
    def setUp(self):
        super().setUp()
        (self.dir / "images").mkdir()
        for i in range(40):
            self.write(f"images/{i:02}.ppm", files.ppm(i, SIDE, SIDE))

    def quantize(self, model: str, *options: object, target: str = "tflite", output: str = "out.tflite"):
        return (model, "-t", target, "-q", "ptq", "--calibration-data", "images", "-o", output, *options)

    def report(self, model: str, *options: object, **how) -> dict:
        return self.good(*self.quantize(model, *options, "--json", **how)).result["quantization"]


class RootCauses(QuantizeCase):
    def test_outlier_channel(self):
        self.write("m.onnx", outlier_net())
        report = self.report("m.onnx", "--mean", "0.5", "--std", "0.25")
        causes = {layer["name"]: layer.get("cause", "") for layer in report["accuracy"]["layers"]}
        named = [name for name, cause in causes.items() if "outlier channel" in cause and "channel 5" in cause]
        self.assertTrue(named, causes)
        self.assertIn(report["accuracy"]["worst_layers"][0], [*named, "wide_act", "wide"])
        text = self.good(*self.quantize("m.onnx", "--mean", "0.5", "--std", "0.25")).out
        self.assertIn("outlier channel", text)

    def test_clipped_input(self):
        self.write("m.onnx", outlier_net())
        report = self.report("m.onnx", "--calibration-method", "percentile", "--calibration-percentile", "80")
        source, = report["accuracy"]["inputs"]
        self.assertEqual(source["name"], "x")
        self.assertIn("clipped range", source["cause"])
        self.assertGreater(source["clip_rate"], 0.05)
        self.assertIn("input 'x': clipped range", self.good(*self.quantize(
            "m.onnx", "--calibration-method", "percentile", "--calibration-percentile", "80")).out)
        self.assertNotIn("cause", self.report("m.onnx", "--calibration-method", "minmax")["accuracy"]["inputs"][0])

    def test_wrong_mean(self):
        self.write("m.onnx", outlier_net())
        for options, told in ((("--mean", "0.485", "--std", "0.229", "--pixel-range", "255"), "pixels from 0 to 1"),
                              (("--mean", "123.675", "--std", "58.395", "--pixel-range", "1"), "pixels from 0 to 255"),
                              (("--mean", "20", "--std", "0.25", "--pixel-range", "1"), "the mean may be wrong")):
            outcome = self.good(*self.quantize("m.onnx", *options, "--json"))
            warnings = [d["message"] for d in outcome.json["diagnostics"] if d["code"] == "EC4004"]
            self.assertTrue(any(told in message and "'x'" in message for message in warnings), warnings)


class YoloHead(QuantizeCase):
    """Boxes from 0 to 640 and scores from 0 to 1 in one tensor [1, 4 + classes, cells]."""

    CLASSES = 3

    def setUp(self):
        super().setUp()
        r = random.Random(11)
        constants = [onnx.tensor("stem_w", [8, 3, 3, 3], [r.uniform(-1, 1) for _ in range(8 * 27)]),
                     onnx.tensor("box_w", [4, 8, 1, 1], [r.uniform(-1, 1) for _ in range(32)]),
                     onnx.tensor("cls_w", [self.CLASSES, 8, 1, 1], [r.uniform(-0.6, 0.6) for _ in range(8 * self.CLASSES)]),
                     onnx.tensor("size", [1], [640.0]), onnx.tensor("to", [3], [1, -1, SIDE * SIDE], onnx.INT64)]
        node = onnx.node
        nodes = [node("Conv", ["x", "stem_w"], ["s"], "stem", pads=[1, 1, 1, 1]), node("Relu", ["s"], ["f"], "act"),
                 node("Conv", ["f", "box_w"], ["b"], "box"), node("Sigmoid", ["b"], ["bs"], "box_sigmoid"),
                 node("Mul", ["bs", "size"], ["boxes"], "to_pixels"), node("Conv", ["f", "cls_w"], ["c"], "cls"),
                 node("Sigmoid", ["c"], ["scores"], "cls_sigmoid"), node("Concat", ["boxes", "scores"], ["both"], "head", axis=1),
                 node("Reshape", ["both", "to"], ["y"], "flat")]
        self.write("yolo.onnx", onnx.model(nodes, [onnx.value("x", [1, 3, SIDE, SIDE])],
                                           [onnx.value("y", [1, 4 + self.CLASSES, SIDE * SIDE])], constants))

    def best_classes(self, model: str, seeds: range) -> list[int]:
        best, cells = [], SIDE * SIDE
        for seed in seeds:
            r = random.Random(1000 + seed)
            pixels = [r.uniform(0, 1) for _ in range(3 * cells)]
            nhwc = [pixels[c * cells + i] for i in range(cells) for c in range(3)]
            onnx_order = model.endswith(".onnx")
            shape = (1, 3, SIDE, SIDE) if onnx_order else (1, SIDE, SIDE, 3)
            self.write_npy("x.npy", shape, pixels if onnx_order else nhwc)
            self.good("run", model, "-i", "x=x.npy", "-o", "result")
            header, y = self.read_npy(self.dir / "result" / "y.npy")
            rows_first = header["shape"][1] == 4 + self.CLASSES  # as in the model, or turned with the images
            for cell in range(cells):
                scores = [y[(4 + k) * cells + cell if rows_first else cell * (4 + self.CLASSES) + 4 + k]
                          for k in range(self.CLASSES)]
                best.append(max(range(self.CLASSES), key=scores.__getitem__))
        return best

    def test_the_concat_is_named_and_scores_survive(self):
        report = self.report("yolo.onnx")
        named = [m["note"] for m in report["methods"] if m["method"] == "split-concat"]
        self.assertTrue(named and "'head'" in named[0], report["methods"])
        self.assertEqual(report["kept_in_float"][0]["name"], "head")
        expected, got = (self.best_classes(model, range(4)) for model in ("yolo.onnx", "out.tflite"))
        agreement = sum(a == b for a, b in zip(expected, got)) / len(expected)
        self.assertGreaterEqual(agreement, 0.99)


    def test_split_outputs_are_integers_with_scales_of_their_own(self):
        told = self.report("yolo.onnx", "--split-outputs", "--io-type", "int8")
        self.assertEqual([o["name"] for o in told["accuracy"]["outputs"]], ["y_values", "y_scores"])
        self.assertEqual(told["kept_in_float"], [])
        outputs = self.good("inspect", "out.tflite", "--json").result["outputs"]
        self.assertEqual([o["name"] for o in outputs], ["y_values", "y_scores"])
        self.assertEqual({o["dtype"] for o in outputs}, {"i8"})

    def test_an_integer_interface_says_how_to_keep_integers(self):
        told = self.report("yolo.onnx", "--io-type", "int8")
        self.assertIn("--split-outputs", told["kept_in_float"][0]["reason"])


class Limits(QuantizeCase):
    OPTIONS = ("--mean", "0.5", "--std", "0.25", "--balance", "off")

    def setUp(self):
        super().setUp()
        self.write("m.onnx", outlier_net())

    def agreement(self, report: dict) -> float:
        return report["accuracy"]["outputs"][0]["top1_agreement"]

    def test_few_layers_are_raised(self):
        plain = self.report("m.onnx", *self.OPTIONS, "--calibration-samples", "20")
        self.assertLess(self.agreement(plain), 0.9, "8 bits are meant to break this network")
        raised = self.report("m.onnx", *self.OPTIONS, "--calibration-samples", "20", "--max-drop", "0.05")
        self.assertGreaterEqual(self.agreement(raised), 0.95)
        self.assertTrue(0 < len(raised["raised"]) <= 3, raised["raised"])
        self.assertTrue(all(0 < layer["work_share"] < 1 and not layer["on_cpu"] for layer in raised["raised"]), raised["raised"])

    def test_exit_5_where_the_target_cannot(self):
        before = self.files()
        outcome = self.bad(5, "EC4006", *self.quantize("m.onnx", *self.OPTIONS, "--calibration-samples", "20", "--max-drop", "0.05",
                                                       target="coral"))
        self.assertIn("8-bit integers only", outcome.err)
        self.assertEqual(self.files(), before)


class FoldedPreprocessing(QuantizeCase):
    """The folded model on bytes against the plain model on what preprocessing makes of them."""

    STATISTICS = ("--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225")

    def setUp(self):
        super().setUp()
        r = random.Random(3)
        for name, attributes in (("valid", {}), ("padded", {"pads": [1, 1, 1, 1]})):
            first = [r.uniform(-1, 1) for _ in range(6 * 27)]
            second = [r.uniform(-1, 1) for _ in range(5 * 6)]
            self.write(f"{name}.onnx", conv_net([("stem", first, [6, 3, 3, 3], attributes), ("head", second, [5, 6, 1, 1], {})],
                                                activation="Relu"))

    def compare(self, model: str, *options: str, samples: str = "images") -> tuple[dict, dict]:
        folded = self.good(model, "-o", "folded.tflite", "--fold-preprocessing", "--json", *options)
        result = self.good("evaluate", "folded.tflite", "--data", samples, "--reference", model, "--json").result
        return folded.result, result["outputs"][0]

    def test_float_models_take_bytes_exactly(self):
        for model in ("valid.onnx", "padded.onnx"):
            for options in (self.STATISTICS, (*self.STATISTICS, "--color", "bgr"), ("--std", "0.25"), ("--mean", "127.5", "--std", "127.5"),
                            ("--pixel-range", "255", "--color", "bgr")):
                with self.subTest(model=model, options=options):
                    folded, output = self.compare(model, "-t", "tflite", *options)
                    source, = folded["inputs"]
                    self.assertEqual((source["dtype"], source["shape"]), ("u8", [1, SIDE, SIDE, 3]))
                    _, values = self.run_float(model)
                    self.assertLess(output["max_error"], 1e-5 * max(1, max(map(abs, values))) * 10)

    def run_float(self, model: str):
        self.good("run", model, "-i", "ones", "-o", "ones")
        return self.read_npy(self.dir / "ones" / "y.npy")

    def test_the_first_layer_takes_it_where_nothing_is_padded(self):
        folded, _ = self.compare("valid.onnx", "-t", "tflite", *self.STATISTICS, "--color", "bgr")
        operators = folded["operators"]
        self.assertEqual(operators.get("CONV_2D"), 2, operators)
        self.assertNotIn("TRANSPOSE", operators)
        folded, _ = self.compare("padded.onnx", "-t", "tflite", *self.STATISTICS)
        operators = folded["operators"]
        self.assertEqual(operators.get("DEPTHWISE_CONV_2D"), 1, operators)

    def test_integers(self):
        data = ("-q", "ptq", "--calibration-data", "images")
        for target in ("tflite", "coral"):
            for model in ("valid.onnx", "padded.onnx"):
                for options in (self.STATISTICS, (*self.STATISTICS, "--color", "bgr"), ("--mean", "127.5", "--std", "127.5")):
                    with self.subTest(target=target, model=model, options=options):
                        folded, output = self.compare(model, "-t", target, *data, *options)
                        source, = folded["inputs"]
                        self.assertEqual((source["dtype"], source["shape"]), ("u8", [1, SIDE, SIDE, 3]))
                        source, = self.good("inspect", "folded.tflite", "--json").result["inputs"]
                        self.assertEqual((source["quantization"]["scales"], source["quantization"]["zero_points"]), ([1.0], [0]))
                        report = self.good(model, "-t", target, *data, *options, "-o", "plain.tflite", "--json").result["quantization"]
                        plain = self.good("evaluate", "plain.tflite", "--data", "images", "--reference", model, "--json").result
                        # Weights are rounded with std in them: one or the other comes out a little better.
                        self.assertGreater(output["sqnr_db"], plain["outputs"][0]["sqnr_db"] - 1)
                        first = folded["quantization"]["accuracy"]["layers"][0]
                        if model == "padded.onnx":  # pixels and a channel for the means, nothing rounded
                            self.assertEqual((first["name"], first["scale"]), ("preprocessing", 1.0))
                            self.assertGreater(first["sqnr_db"], 100)
                        # Against each other: both round, one of them the input as well.
                        both = self.good("evaluate", "folded.tflite", "--data", "images", "--reference", "plain.tflite", "--json").result
                        step = report["accuracy"]["layers"][-1]["scale"]
                        self.assertLessEqual(both["outputs"][0]["mean_error"], step)
                        self.assertLessEqual(both["outputs"][0]["max_error"], 2.01 * step)

    def test_requests_that_cannot_be_met(self):
        self.write("row.onnx", onnx.relu_model([1, 10]))
        self.bad(2, "EC8001", "row.onnx", "-t", "tflite", "--fold-preprocessing", "-o", "out.tflite")
        self.bad(2, "EC8001", "valid.onnx", "-t", "tflite", "-q", "a16w8", "--calibration-data", "images", "--io-type", "int16",
                 "--fold-preprocessing", "-o", "out.tflite")
        self.bad(2, "EC8001", "valid.onnx", "-t", "tflite", "--fold-preprocessing", "--mean", "1,2", "-o", "out.tflite")
        self.assertFalse((self.dir / "out.tflite").exists())


def classifier() -> bytes:
    """Convolutions, a pool with one window over the image, a linear layer, a softmax."""
    r = random.Random(3)
    tail = [onnx.node("AveragePool", ["b_c"], ["p"], "pool", kernel_shape=[SIDE, SIDE]), onnx.node("Flatten", ["p"], ["f"], "flat"),
            onnx.node("Gemm", ["f", "wl"], ["s"], "scores"), onnx.node("Softmax", ["s"], ["y"], "probabilities", axis=1)]
    layers = [(name, [r.uniform(-1, 1) for _ in range(32 * inputs * 9)], [32, inputs, 3, 3], {"pads": [1, 1, 1, 1]})
              for name, inputs in (("a", 3), ("b", 32))]
    weights = onnx.tensor("wl", [32, 10], [r.uniform(-1, 1) for _ in range(320)])
    return conv_net(layers, tail=tail, result=("y", [1, 10]), activation="Relu", tail_weights=[weights])


class PreciseOutputs(QuantizeCase):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", classifier())

    def test_scores_are_not_rounded_to_8_bits(self):
        done = self.good(*self.quantize("m.onnx", "--json"))
        report = done.result["quantization"]
        self.assertIn("precise-outputs", [m["method"] for m in report["methods"] if m["applied"]])
        self.assertEqual([k["name"] for k in report["kept_in_float"]], ["probabilities"])
        self.assertNotIn("EC4", done.err)  # it is meant to be: no warning
        shown = json.dumps(self.good("inspect", "out.tflite", "--json").result)
        self.assertIn("reduce_mean", shown)
        self.assertNotIn("avg_pool", shown)

    def test_8_bits_where_asked_for(self):
        for options in (("--precise-outputs", "off"), ("--io-type", "int8")):
            with self.subTest(options=options):
                report = self.report("m.onnx", *options)
                self.assertEqual(report["kept_in_float"], [])
                self.assertNotIn("precise-outputs", [m["method"] for m in report["methods"]])

    def test_what_cannot_be(self):
        self.bad(2, "EC8001", *self.quantize("m.onnx", "--precise-outputs", "on", "--io-type", "int8"))
        self.bad(2, "EC8001", *self.quantize("m.onnx", "--precise-outputs", "on", target="coral"))
        self.bad(2, "EC8001", *self.quantize("m.onnx", "--precise-outputs", "on", "--io-type", "float", target="coral"))
        self.bad(2, "EC8001", "m.onnx", "-t", "tflite", "-q", "dynamic", "--precise-outputs", "on", "-o", "out.tflite")
        self.bad(2, "EC8001", *self.quantize("m.onnx", "--precise-outputs", "often"))
        self.bad(2, "EC8001", "quantize", "m.onnx", "--calibration-data", "images", "--precise-outputs", "on", "-o", "q.onnx")
        self.assertFalse((self.dir / "q.onnx").exists())
        self.assertFalse((self.dir / "out.tflite").exists())


class Statistics(QuantizeCase):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", outlier_net())

    def test_the_same_bytes_without_the_data(self):
        for i, options in enumerate((("--mean", "0.5", "--std", "0.25"), ("--weights", "per-tensor"), ("--fold-preprocessing",
                                     "--mean", "0.5,0.4,0.3", "--std", "0.25"), ("--min-sqnr", "30", "--io-type", "int8"), ("--adapt-rounding", "on"),
                                     ("--precise-outputs", "on"))):
            with self.subTest(options=options):
                direct = self.good(*self.quantize("m.onnx", *options, "--save-statistics", "s.json", "--json")).result
                bytes_of_direct = (self.dir / "out.tflite").read_bytes()
                (self.dir / "images").rename(self.dir / "elsewhere")
                own = [o for k, o in enumerate(options) if not {"--mean", "--std"} & {o, options[k - 1]}]
                played = self.good("m.onnx", "-t", "tflite", "-q", "ptq", "--statistics", "s.json", "-o", "again.tflite", *own, "--json")
                (self.dir / "elsewhere").rename(self.dir / "images")
                self.assertEqual((self.dir / "again.tflite").read_bytes(), bytes_of_direct)
                self.assertEqual(played.result["quantization"]["accuracy"], direct["quantization"]["accuracy"])
                first = (self.dir / "s.json").read_bytes()
                self.good(*self.quantize("m.onnx", *options, "--save-statistics", "s.json"))
                self.assertEqual((self.dir / "s.json").read_bytes(), first)

    def test_statistics_that_do_not_fit(self):
        self.good(*self.quantize("m.onnx", "--save-statistics", "s.json"))
        (self.dir / "out.tflite").unlink()
        self.write("other.onnx", conv_net([("a", [0.5] * 27 * 2, [2, 3, 3, 3], {})]))
        text = (self.dir / "s.json").read_text()
        self.write("cut.json", text[: len(text) // 2])
        self.write("none.json", "{}")
        self.write("array.json", "[1, 2]")
        self.write("empty_answers.json", text[: text.index('"answers":')] + '"answers":[]}')
        for i, (old, new) in enumerate((('"extremes":[', '"extremes":["a",'), ('"mean":[', '"mean":[1.0,'), ('"candidates":[[', '"candidates":[[1e999,'),
                                        ('"kind":"trial"', '"kind":"other"'), ('"operation":', '"operation":99999'))):
            self.assertIn(old, text)
            self.write(f"broken_{i}.json", text.replace(old, new))
        entries = (("format", 5), ("version", "x"), ("samples", -1), ("samples", 10**18), ("samples", 1.5), ("answers", [5]),
                   ("answers", [{"kind": 7}]), ("answers", {}), ("graph", 3), ("options", []), ("data", {"mean": 3}))
        for i, (key, value) in enumerate(entries):
            self.write(f"entry_{i}.json", json.dumps({**json.loads(text), key: value}))
        without_ranges = json.loads(text)
        next(a for a in without_ranges["answers"] if a["kind"] == "ranges")["value"]["tensors"] = [1]
        self.write(f"entry_{len(entries)}.json", json.dumps(without_ranges))
        before = self.files()
        use = ("m.onnx", "-t", "tflite", "-q", "ptq", "-o", "out.tflite", "--statistics")
        for i in range(len(entries) + 1):
            self.assertEqual(self.run_program(*use, f"entry_{i}.json").code, 7, f"entry_{i}.json")
        self.bad(7, "EC4003", "other.onnx", *use[1:], "s.json")
        self.assertIn("calibration-method", self.bad(7, "EC4003", *use, "s.json", "--calibration-method", "minmax").err)
        self.bad(7, "EC4003", *use, "s.json", "--mean", "0.5")
        self.bad(7, "EC4003", "m.onnx", "-t", "coral", *use[3:], "s.json")
        for name in ("cut.json", "none.json", "array.json"):
            self.bad(7, "EC1006", *use, name)
        self.bad(7, "EC4003", *use, "empty_answers.json")
        for i in range(5):
            outcome = self.run_program(*use, f"broken_{i}.json", "--json")
            self.assertEqual(outcome.code, 7, outcome.out)
        self.bad(7, "EC1001", *use, "absent.json")
        self.bad(2, "EC8001", *use, "s.json", "--calibration-data", "images")
        self.bad(2, "EC8001", *self.quantize("m.onnx", "--statistics", "s.json"))
        self.assertEqual(self.files(), before)


class Determinism(QuantizeCase):
    def test_threads_and_order_on_disk_change_nothing(self):
        self.write("m.onnx", outlier_net())
        names = [f"{i:02}.ppm" for i in range(40)]
        results = set()
        for k, order in enumerate((names, names[::-1], sorted(names, key=lambda n: math.sin(int(n[:2]))))):
            folder = self.dir / f"copy{k}" / "images"
            folder.mkdir(parents=True)
            for name in order:
                (folder / name).write_bytes((self.dir / "images" / name).read_bytes())
            for threads in (1, 2):
                self.good("m.onnx", "-t", "tflite", "-q", "ptq", "--calibration-data", folder, "--threads", threads, "-o", "out.tflite")
                results.add((self.dir / "out.tflite").read_bytes())
        self.assertEqual(len(results), 1)


if __name__ == "__main__":
    unittest.main()
