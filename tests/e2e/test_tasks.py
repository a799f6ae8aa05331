"""evaluate on a small detector: its answers beside the reference's own, and beside labelled boxes."""

from __future__ import annotations

import json
import unittest

import onnx_builder as onnx
from harness import Case

SIDE = 64
STRIDES = (8, 16, 32)
CELLS = sum((SIDE // s) ** 2 for s in STRIDES)


def detector(green: float = -6.0) -> bytes:
    """A box for each cell with the form of YOLOv8's; its scores are sure where the cell is all red or all green."""
    boxes: list[list[float]] = [[], [], [], []]
    nodes, parts = [], []
    for s in STRIDES:
        n = SIDE // s
        for y in range(n):
            for x in range(n):
                for row, v in zip(boxes, ((x + 0.5) * s, (y + 0.5) * s, s, s)):
                    row.append(float(v))
        nodes += [onnx.node("AveragePool", ["x"], [f"p{s}"], kernel_shape=[s, s], strides=[s, s]),
                  onnx.node("Conv", [f"p{s}", "w", "b"], [f"c{s}"]),
                  onnx.node("Sigmoid", [f"c{s}"], [f"s{s}"]),
                  onnx.node("Reshape", [f"s{s}", f"shape{s}"], [f"r{s}"])]
        parts.append(onnx.tensor(f"shape{s}", [3], [1, 2, n * n], onnx.INT64))
    nodes += [onnx.node("Concat", [f"r{s}" for s in STRIDES], ["scores"], axis=2),
              onnx.node("Concat", ["boxes", "scores"], ["output0"], axis=1)]
    parts += [onnx.tensor("w", [2, 3, 1, 1], [12.0, -12.0, -12.0, -12.0, 12.0, -12.0]), onnx.tensor("b", [2], [-6.0, green]),
              onnx.tensor("boxes", [1, 4, CELLS], [v for row in boxes for v in row])]
    return onnx.model(nodes, [onnx.value("x", [1, 3, SIDE, SIDE])], [onnx.value("output0", [1, 6, CELLS])], parts)


def picture(red: tuple[int, int], green: tuple[int, int]) -> bytes:
    """128x64 pixels, which --resize stretch halves in width: a red and a green cell of 8x8 become 16x8 pixels."""
    rows = bytearray()
    for y in range(64):
        for x in range(128):
            cell = (x // 16, y // 8)
            rows += bytes((255, 0, 0) if cell == red else (0, 255, 0) if cell == green else (0, 0, 0))
    return b"P6 128 64 255\n" + bytes(rows)


PLACES = (((1, 1), (5, 5)), ((2, 6), (6, 1)), ((0, 3), (4, 0)), ((7, 7), (2, 2)))


class Tasks(Case):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", detector())
        self.write("blind.onnx", detector(green=-40.0))
        # Pictures in folders: no classes, as this is no classifier.
        labels = {"images": [], "annotations": [], "categories": [{"id": 7, "name": "red"}, {"id": 9, "name": "green"}]}
        for i, places in enumerate(PLACES):
            (self.dir / f"data/{i % 2}").mkdir(parents=True, exist_ok=True)
            self.write(f"data/{i % 2}/{i}.ppm", picture(*places))
            labels["images"].append({"id": i, "file_name": f"{i}.ppm", "width": 128, "height": 64})
            for (x, y), category in zip(places, (7, 9)):
                labels["annotations"].append({"image_id": i, "category_id": category, "bbox": [16 * x, 8 * y, 16, 8]})
        self.write("boxes.json", json.dumps(labels))

    def evaluated(self, model: str, *options: str) -> dict:
        return self.good("evaluate", model, "--data", "data", "--resize", "stretch", "--json", *options).result

    def test_answers_beside_the_reference(self):
        result = self.evaluated("m.onnx", "--reference", "m.onnx")
        task = result["task"]
        self.assertEqual((task["name"], task["agreement"]), ("detection", 1.0))
        self.assertIn("YOLOv8", task["head"])
        self.assertIn("2 classes", task["reason"])
        self.assertEqual((task["figures"]["reference_detections"], task["figures"]["model_detections"]), (8, 8))
        self.assertNotIn("top1", result["model"])
        # Half of the detections are lost: precision 1 up to recall 0.5, 51 of 101 points.
        task = self.evaluated("blind.onnx", "--reference", "m.onnx")["task"]
        self.assertAlmostEqual(task["agreement"], 51 / 101)
        self.assertAlmostEqual(task["figures"]["map50"], 0.5)
        self.assertEqual((task["figures"]["model_detections"], task["figures"]["both_detections"]), (4, 4))
        text = self.good("evaluate", "blind.onnx", "--reference", "m.onnx", "--data", "data", "--resize", "stretch").out
        for part in ("detection: YOLOv8", "average precision at IoU 0.5", "0.5050", "detections of the reference"):
            self.assertIn(part, text)

    def test_few_answers_are_told(self):
        evaluate = ("evaluate", "m.onnx", "--reference", "m.onnx", "--data", "data", "--resize", "stretch")
        self.assertIn("hold 8 answers of the original network", self.good(*evaluate).err)
        self.assertIn("hold no answers", self.good(*evaluate, "--score-threshold", "0.999").err)
        self.assertNotIn("answers of the original", self.good(*evaluate, "--task", "regression").err)

    def test_integers(self):
        self.good("m.onnx", "-t", "tflite", "-q", "ptq", "--calibration-data", "data", "--resize", "stretch", "-o", "m.tflite")
        task = self.evaluated("m.tflite", "--reference", "m.onnx")["task"]
        self.assertEqual(task["name"], "detection")
        self.assertEqual(task["figures"]["reference_detections"], 8)

    def test_labelled_boxes(self):
        result = self.evaluated("m.onnx", "--labels", "boxes.json")
        self.assertEqual((result["model"]["map50"], result["model"]["map50_95"]), (1.0, 1.0))
        self.assertEqual((result["box_labels"], result["unlabelled_pictures"]), ("boxes.json", 0))
        result = self.evaluated("blind.onnx", "--reference", "m.onnx", "--labels", "boxes.json")
        self.assertEqual((result["model"]["map50"], result["reference"]["map50"]), (0.5, 1.0))
        text = self.good("evaluate", "m.onnx", "--labels", "boxes.json", "--data", "data", "--resize", "stretch").out
        self.assertIn("AP at IoU 0.5", text)
        # A class further: everything is something else.
        self.assertEqual(self.evaluated("m.onnx", "--labels", "boxes.json", "--label-offset", "1")["model"]["map50"], 0.0)

    def test_labels_that_do_not_serve(self):
        self.write("none.json", '{"images": [], "annotations": [], "categories": []}')
        self.write("broken.json", '{"images": [')
        for labels, words in (("none.json", "name none of the pictures"), ("broken.json", "no JSON object")):
            done = self.bad(7, "EC4003", "evaluate", "m.onnx", "--data", "data", "--labels", labels)
            self.assertIn(words, done.err)

    def test_task_by_hand(self):
        task = self.evaluated("m.onnx", "--reference", "m.onnx", "--task", "regression")["task"]
        self.assertEqual((task["name"], task["agreement"]), ("regression", 1.0))
        done = self.bad(2, "EC8001", "evaluate", "m.onnx", "--reference", "m.onnx", "--data", "data", "--head", "centernet")
        self.assertIn("'output0' 1x6x84", done.err)
        task = self.evaluated("m.onnx", "--reference", "m.onnx", "--score-threshold", "0.999")["task"]
        self.assertEqual(task["figures"]["reference_detections"], 0)
        self.assertNotIn("agreement", task)


if __name__ == "__main__":
    unittest.main()
