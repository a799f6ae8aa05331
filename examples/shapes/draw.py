#!/usr/bin/env python3
"""Draws labelled 32x32 images of simple shapes: the data of the bundled example model.

Standard library only, and the same images for the same seed everywhere.

usage: draw.py DIRECTORY [COUNT [FORM]]     writes COUNT images per class. FORM:
  npy    (default) float32, 1x3x32x32, 0 to 1
  nhwc   the same with channels last, 1x32x32x3
  png    images, one folder per class
"""

import array
import math
import pathlib
import random
import struct
import sys
import zlib

CLASSES = ["circle", "square", "triangle", "cross", "ring", "stripes"]
SIZE = 32


def inside(kind: str, x: float, y: float, radius: float) -> bool:
    """Whether the point, in the shape's own coordinates, belongs to it."""
    distance = math.hypot(x, y)
    if kind == "circle":
        return distance <= radius
    if kind == "ring":
        return 0.6 * radius <= distance <= radius
    if kind == "square":
        return max(abs(x), abs(y)) <= 0.85 * radius
    if kind == "triangle":
        return y <= 0.5 * radius and y >= -radius + abs(x) * 1.732
    if kind == "cross":
        return min(abs(x), abs(y)) <= 0.25 * radius and max(abs(x), abs(y)) <= radius
    return max(abs(x), abs(y)) <= 0.9 * radius and math.floor((x + radius) / (0.35 * radius)) % 2 == 0


def draw(kind: str, rng: random.Random) -> list[list[list[float]]]:
    """One image: channels, rows, columns."""
    while True:
        front = [rng.random() for _ in range(3)]
        back = [rng.random() for _ in range(3)]
        if sum(abs(a - b) for a, b in zip(front, back)) > 0.6:
            break
    radius = rng.uniform(7.0, 13.0)
    centre = [rng.uniform(radius, SIZE - radius) for _ in range(2)]
    turn = rng.uniform(-0.4, 0.4)
    noise = rng.uniform(0.0, 0.08)
    image = [[[0.0] * SIZE for _ in range(SIZE)] for _ in range(3)]
    for row in range(SIZE):
        for column in range(SIZE):
            x, y = column - centre[0], row - centre[1]
            shape_x = x * math.cos(turn) + y * math.sin(turn)
            shape_y = -x * math.sin(turn) + y * math.cos(turn)
            colour = front if inside(kind, shape_x, shape_y, radius) else back
            for channel in range(3):
                value = colour[channel] + rng.gauss(0.0, noise)
                image[channel][row][column] = min(1.0, max(0.0, value))
    return image


def channels_last(image: list[list[list[float]]]) -> list[float]:
    return [image[c][y][x] for y in range(SIZE) for x in range(SIZE) for c in range(3)]


def to_png(image: list[list[list[float]]]) -> bytes:
    pixels = bytes(round(v * 255) for v in channels_last(image))
    rows = b"".join(b"\0" + pixels[y * SIZE * 3 : (y + 1) * SIZE * 3] for y in range(SIZE))
    out = b"\x89PNG\r\n\x1a\n"
    for kind, data in ((b"IHDR", struct.pack(">2I5B", SIZE, SIZE, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows, 9)),
                       (b"IEND", b"")):
        out += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return out


def to_npy(image: list[list[list[float]]], last: bool = False) -> bytes:
    flat = channels_last(image) if last else [v for channel in image for row in channel for v in row]
    values = array.array("f", flat)
    if sys.byteorder == "big":
        values.byteswap()
    shape = (1, SIZE, SIZE, 3) if last else (1, 3, SIZE, SIZE)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + values.tobytes()


def main() -> None:
    directory = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    form = sys.argv[3] if len(sys.argv) > 3 else "npy"
    directory.mkdir(parents=True, exist_ok=True)
    for label, kind in enumerate(CLASSES):
        for index in range(count):
            rng = random.Random(f"{kind} {index}")
            if form == "png":
                (directory / kind).mkdir(exist_ok=True)
                (directory / kind / f"{index}.png").write_bytes(to_png(draw(kind, rng)))
                continue
            name = f"{label}_{kind}.npy" if count == 1 else f"{label}_{kind}_{index}.npy"
            (directory / name).write_bytes(to_npy(draw(kind, rng), form == "nhwc"))


if __name__ == "__main__":
    main()
