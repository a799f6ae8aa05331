"""Drawn pictures of circles, squares and triangles with their boxes: detectors learn them in minutes, and the labels are true."""

from __future__ import annotations

import json
import pathlib
import random

import numpy as np
from PIL import Image, ImageDraw

SIZE, CLASSES, MOST = 128, ("circle", "square", "triangle"), 6
CALIBRATION_SEED, TEST_SEED, TRAINING_SEED = 101, 102, 1000


def _background(choose: random.Random) -> Image.Image:
    """A few soft colours, with grain."""
    small = np.array([[[choose.randint(0, 255) for _ in range(3)] for _ in range(3)] for _ in range(3)], np.uint8)
    soft = np.asarray(Image.fromarray(small).resize((SIZE, SIZE), Image.Resampling.BICUBIC), np.float32)
    grain = np.random.default_rng(choose.randrange(2**32)).normal(0, choose.uniform(2, 18), soft.shape)
    return Image.fromarray(np.clip(soft + grain, 0, 255).astype(np.uint8))


def picture(choose: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Pixels, and rows of x1, y1, x2, y2, class."""
    page = _background(choose)
    draw, boxes = ImageDraw.Draw(page), []
    for _ in range(choose.randint(1, MOST)):
        for _ in range(20):
            size = choose.uniform(12, 56)
            wide, high = size * choose.uniform(0.75, 1.3), size * choose.uniform(0.75, 1.3)
            x, y = choose.uniform(0, max(1, SIZE - 1 - wide)), choose.uniform(0, max(1, SIZE - 1 - high))
            # Shapes may touch, and hide little of each other.
            if all(min(x + wide, b[2]) - max(x, b[0]) < 0.2 * wide or min(y + high, b[3]) - max(y, b[1]) < 0.2 * high for b in boxes):
                break
        else:
            continue
        kind, box = choose.randrange(len(CLASSES)), (x, y, x + wide, y + high)
        colour = tuple(choose.randint(0, 255) for _ in range(3))
        edge = tuple(255 - c if choose.random() < 0.5 else c for c in colour)
        if kind == 0:
            draw.ellipse(box, fill=colour, outline=edge)
        elif kind == 1:
            draw.rectangle(box, fill=colour, outline=edge)
        else:
            draw.polygon([(x, y + high), (x + wide, y + high), (x + wide * choose.uniform(0.3, 0.7), y)], fill=colour, outline=edge)
        boxes.append([*box, kind])
    return np.asarray(page, np.uint8), np.array(boxes, np.float32).reshape(-1, 5)


def pictures(count: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    choose = random.Random(seed)
    return [picture(choose) for _ in range(count)]


def arrays(count: int, width: int, height: int) -> list[np.ndarray]:
    """Without labels, for the comparisons."""
    assert (width, height) == (SIZE, SIZE)
    return [pixels for pixels, _ in pictures(count, CALIBRATION_SEED)]


def write_labelled(folder: pathlib.Path, count: int, seed: int = TEST_SEED) -> None:
    """Files and labels as COCO has them."""
    folder.mkdir(parents=True, exist_ok=True)
    images, annotations = [], []
    for i, (pixels, boxes) in enumerate(pictures(count, seed)):
        name = f"{i:04}.png"
        Image.fromarray(pixels).save(folder / name)
        images.append({"id": i, "file_name": name, "width": SIZE, "height": SIZE})
        for x1, y1, x2, y2, kind in boxes.tolist():
            annotations.append({"id": len(annotations), "image_id": i, "category_id": int(kind) + 1, "iscrowd": 0,
                                "bbox": [x1, y1, x2 - x1, y2 - y1], "area": (x2 - x1) * (y2 - y1)})
    categories = [{"id": i + 1, "name": name} for i, name in enumerate(CLASSES)]
    (folder / "instances.json").write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))
