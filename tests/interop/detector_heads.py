"""Outputs of detectors as boxes, in NumPy: written apart from the program's own decoders, so that each checks the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Outputs = Sequence[np.ndarray]
# Rows of x1, y1, x2, y2, score, class.
Boxes = np.ndarray
# Parts of outputs that hold probabilities, as arrays.
Scores = Callable[[Outputs], np.ndarray]

LEAST, NMS_OVERLAP, MOST = 0.05, 0.45, 300


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.asarray(x, np.float64)))


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def corners(centre_x, centre_y, width, height) -> np.ndarray:
    return np.stack([centre_x - width / 2, centre_y - height / 2, centre_x + width / 2, centre_y + height / 2], -1)


def overlaps(one: np.ndarray, many: np.ndarray) -> np.ndarray:
    wide = np.minimum(one[2], many[:, 2]) - np.maximum(one[0], many[:, 0])
    high = np.minimum(one[3], many[:, 3]) - np.maximum(one[1], many[:, 1])
    both = np.clip(wide, 0, None) * np.clip(high, 0, None)
    area = (one[2] - one[0]) * (one[3] - one[1]) + (many[:, 2] - many[:, 0]) * (many[:, 3] - many[:, 1]) - both
    return np.where(area > 0, both / np.where(area > 0, area, 1), 0)


def candidates(boxes: np.ndarray, scores: np.ndarray) -> Boxes:
    """Every box with every class that has a score."""
    rows, classes = np.nonzero(scores >= LEAST)
    return np.concatenate([boxes[rows], scores[rows, classes, None], classes[:, None]], 1)


def suppressed(found: Boxes) -> Boxes:
    """The best of those that overlap, by class."""
    found = found[np.argsort(-found[:, 4], kind="stable")][:4096]
    kept: list[np.ndarray] = []
    while len(found) and len(kept) < MOST:
        best, found = found[0], found[1:]
        kept.append(best)
        found = found[(found[:, 5] != best[5]) | (overlaps(best, found) <= NMS_OVERLAP)]
    return np.array(kept).reshape(-1, 6)


def best_of(found: Boxes) -> Boxes:
    return found[np.argsort(-found[:, 4], kind="stable")][:MOST]


class Yolov8:
    """[1, 4 + classes, N]: centre and size in pixels, probabilities."""

    def scores(self, outputs: Outputs) -> np.ndarray:
        return outputs[0][0, 4:]

    def boxes(self, outputs: Outputs) -> Boxes:
        rows = outputs[0][0].T.astype(np.float64)
        return suppressed(candidates(corners(*rows[:, :4].T), rows[:, 4:]))


class Yolox:
    """[1, N, 5 + classes]: relative to cells of steps 8, 16 and 32; objectness and class are probabilities."""

    def __init__(self, width: int, height: int) -> None:
        cells = []
        for step in (8, 16, 32):
            y, x = np.mgrid[: height // step, : width // step]
            cells.append(np.stack([x.ravel(), y.ravel(), np.full(x.size, step)], 1))
        self.cells = np.concatenate(cells).astype(np.float64)

    def scores(self, outputs: Outputs) -> np.ndarray:
        return outputs[0][0, :, 4:5] * outputs[0][0, :, 5:]

    def boxes(self, outputs: Outputs) -> Boxes:
        rows, (x, y, step) = outputs[0][0].astype(np.float64), self.cells.T
        size = np.exp(np.minimum(rows[:, 2:4], 30)) * step[:, None]
        return suppressed(candidates(corners((rows[:, 0] + x) * step, (rows[:, 1] + y) * step, *size.T), rows[:, 4:5] * rows[:, 5:]))


class Picodet:
    """Scores of each level, then distributions of the distances to the four sides; steps 8, 16, 32, 64."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height

    def scores(self, outputs: Outputs) -> np.ndarray:
        return np.concatenate([level[0] for level in outputs[: len(outputs) // 2]])

    def boxes(self, outputs: Outputs) -> Boxes:
        levels, found = len(outputs) // 2, []
        for i, (scores, distances) in enumerate(zip(outputs[:levels], outputs[levels:])):
            step = 8 << i
            columns = -(-self.width // step)
            index = np.arange(scores.shape[1])
            x, y = (index % columns + 0.5) * step, (index // columns + 0.5) * step
            bins = softmax(distances[0].reshape(len(index), 4, -1).astype(np.float64))
            far = (bins * np.arange(bins.shape[-1])).sum(-1) * step
            found.append(candidates(np.stack([x - far[:, 0], y - far[:, 1], x + far[:, 2], y + far[:, 3]], 1), scores[0].astype(np.float64)))
        return suppressed(np.concatenate(found))


class TextMap:
    """A map of how likely each pixel is text: boxes are the rectangles around what is connected."""

    LEAST_PIXEL = 0.3

    def scores(self, outputs: Outputs) -> np.ndarray:
        return outputs[0][0, 0]

    def boxes(self, outputs: Outputs) -> Boxes:
        chances = outputs[0][0, 0].astype(np.float64)
        found = []
        for rows, columns in connected(chances > self.LEAST_PIXEL):
            if len(rows) < 16:
                continue
            found.append([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1, chances[rows, columns].mean(), 0])
        return best_of(np.array(found, np.float64).reshape(-1, 6))


def connected(mask: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows and columns of the pixels of each connected region: runs of each line, joined with those that they touch above."""
    parent: list[int] = []

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    labels = np.full(mask.shape, -1)
    for y, line in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], line.astype(np.int8), [0]])))
        for begin, end in edges.reshape(-1, 2):
            run = len(parent)
            parent.append(run)
            labels[y, begin:end] = run
            for above in np.unique(labels[y - 1, begin:end]) if y else ():
                if above >= 0:
                    parent[root(run)] = root(int(above))
    rows, columns = np.nonzero(mask)
    regions = np.array([root(i) for i in labels[rows, columns]], np.int64)
    order = np.argsort(regions, kind="stable")
    cuts = np.flatnonzero(np.diff(regions[order])) + 1
    return [(rows[i], columns[i]) for i in np.split(order, cuts) if len(i)]


class Ssd:
    """Encodings [1, N, 4] and logits [1, N, 1 + classes] with a background in front; anchors as centre and size, in pixels."""

    def __init__(self, anchors: np.ndarray) -> None:
        self.anchors = anchors.astype(np.float64)

    def scores(self, outputs: Outputs) -> np.ndarray:
        return softmax(outputs[1][0].astype(np.float64))[:, 1:]

    def boxes(self, outputs: Outputs) -> Boxes:
        codes, (x, y, w, h) = outputs[0][0].astype(np.float64), self.anchors.T
        centre = codes[:, 0] * 0.1 * w + x, codes[:, 1] * 0.1 * h + y
        size = np.exp(np.minimum(codes[:, 2] * 0.2, 30)) * w, np.exp(np.minimum(codes[:, 3] * 0.2, 30)) * h
        return suppressed(candidates(corners(*centre, *size), self.scores(outputs)))


class Detr:
    """Logits [1, N, classes + 1] with no object behind them, boxes [1, N, 4] as centre and size in parts of the picture."""

    def __init__(self, size: int) -> None:
        self.size = size

    def scores(self, outputs: Outputs) -> np.ndarray:
        return softmax(outputs[0][0].astype(np.float64))[:, :-1]

    def boxes(self, outputs: Outputs) -> Boxes:
        return best_of(candidates(corners(*(outputs[1][0].astype(np.float64).T * self.size)), self.scores(outputs)))
