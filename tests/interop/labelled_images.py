"""The labelled images of ../shared/data: which calibrate and which score, their pixels, and the options that say the same."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable

import numpy as np

from model_set import shared_data

DATA = shared_data()
Labelled = list[tuple[pathlib.Path, int]]

CIFAR_MEAN, CIFAR_STD = np.float32((0.4914, 0.4822, 0.4465)), np.float32((0.2470, 0.2435, 0.2616))
# By kind of pixels.
OPTIONS = {
    "cifar": ["--mean", ",".join(f"{v:.4f}" for v in CIFAR_MEAN), "--std", ",".join(f"{v:.4f}" for v in CIFAR_STD)],
    "raw": ["--pixel-range", "255"],
    "imagenet": ["--mean", "127.5", "--std", "127.5", "--resize", "crop:256"],
}


def _cifar_files(folder: str) -> list[list[pathlib.Path]]:
    """By class, in the order of labels."""
    return [sorted(p.iterdir()) for p in sorted((DATA / "cifar10" / folder).iterdir()) if p.is_dir()]


def cifar_calibration(first: int = 0, per_class: int = 20) -> list[pathlib.Path]:
    """So many of each class, from the one with that number on; behind the last comes the first."""
    return [file for files in _cifar_files("calibration") for file in (files[first:] + files[:first])[:per_class]]


def cifar_test() -> Labelled:
    return [(file, label) for label, files in enumerate(_cifar_files("test")) for file in files]


def imagenet_files() -> list[pathlib.Path]:
    """One of each class, 256 pixels wide and high."""
    return sorted((DATA / "imagenet1000").glob("*.jpg"))


def imagenet_calibration() -> list[pathlib.Path]:
    return imagenet_files()[::10]


def imagenet_test() -> Labelled:
    """What does not calibrate; the networks have a class of background before the others."""
    return [(file, int(file.name[:3]) + 1) for i, file in enumerate(imagenet_files()) if i % 10]


def every_few(labelled: Labelled, about: int | None) -> Labelled:
    """About so many of them, spread over the classes; all without a number."""
    return labelled[:: max(1, len(labelled) // about)] if about else labelled


def pixels(file: pathlib.Path, kind: str) -> np.ndarray:
    """One image as its networks take it, channels last."""
    from PIL import Image

    image = Image.open(file).convert("RGB")
    if kind == "imagenet":
        left, top = (image.width - 224) // 2, (image.height - 224) // 2
        return np.asarray(image.crop((left, top, left + 224, top + 224)), np.float32) / 127.5 - 1
    raw = np.asarray(image, np.float32)
    return raw if kind == "raw" else ((raw / 255 - CIFAR_MEAN) / CIFAR_STD).astype(np.float32)


def write_listing(path: pathlib.Path, files: Iterable[pathlib.Path]) -> pathlib.Path:
    """The files as --calibration-data takes them."""
    path.write_text("".join(f"{file}\n" for file in files))
    return path
