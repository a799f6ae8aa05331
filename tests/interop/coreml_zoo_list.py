"""The models that coreml_zoo_check.py turns into packages, each with inputs and what its own runtime computes of them."""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import json
import pathlib
import subprocess
from collections.abc import Callable, Iterator

import model_set
import numpy as np
import torch_archives
import zoo

# Architectures come as these forms in turn.
TURNS = ("onnx", "export", "traced")
# Of every kind of network one: what `make interop` compares.
SUBSET = (
    "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "shufflenet_v2_x1_0", "regnet_x_400mf", "convnext_atto", "vit_tiny",
    "swin_t", "levit_128s", "lraspp_mobilenet_v3_large", "YoloLike", "UNet", "LstmTagger", "Encoder", "Conv1dNet",
)
SEED = 3


@dataclasses.dataclass
class Case:
    name: str
    group: str  # where it comes from: "torchvision", "coral", ...
    # The model file, its inputs and its outputs.
    make: Callable[[], tuple[pathlib.Path, list[np.ndarray], list[np.ndarray]]]
    integers: bool = False  # the model computes on integers of 8 bits itself
    # Inputs as the integer file takes them, and what makes its outputs real numbers; nothing where it takes these.
    as_stored: Callable[[], tuple[list[np.ndarray], Callable[[list[np.ndarray]], list[np.ndarray]]]] | None = None
    # What the source gives with its weights rounded to half precision; nothing where it is not at hand.
    halved: Callable[[], list[np.ndarray]] | None = None


def arrays_of(path: pathlib.Path, prefix: str) -> list[np.ndarray]:
    with np.load(path) as npz:
        found: list[np.ndarray] = []
        while f"{prefix}{len(found)}" in npz:
            found.append(npz[f"{prefix}{len(found)}"])
        return found


def real_arrays_of(path: pathlib.Path, prefix: str) -> list[np.ndarray]:
    """Real numbers in place of integers with scales: packages have no such inputs and outputs."""
    return as_real(path, prefix, arrays_of(path, prefix))


def as_real(path: pathlib.Path, prefix: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
    with np.load(path) as npz:
        for i, value in enumerate(arrays):
            if f"{prefix}{i}_scale" in npz:
                scale, zero = npz[f"{prefix}{i}_scale"]
                arrays[i] = ((value.astype(np.float32) - np.float32(zero)) * np.float32(scale)).astype(np.float32)
    return arrays


def recorded(model: pathlib.Path, npz: pathlib.Path):
    return lambda: (model, arrays_of(npz, "in"), arrays_of(npz, "out"))


def run_here(model: pathlib.Path, python: pathlib.Path, keep: pathlib.Path):
    """By another Python, which has the runtime of the format."""

    def make():
        result = keep / f"{model.parent.name}-{model.name}.npz"
        if not result.exists():
            part = result.with_name("part.npz")
            command = [python, pathlib.Path(__file__).with_name("source_runtime.py"), model, part, str(SEED)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
            if done.returncode:
                raise RuntimeError(f"its own runtime: {done.stderr.strip().splitlines()[-1][:300]}")
            part.rename(result)
        return model, real_arrays_of(result, "in"), real_arrays_of(result, "out")

    return make


GROUPS = {"tv": "torchvision", "seg": "torchvision", "video": "torchvision", "detection": "torchvision", "timm": "timm", "own": "own"}


def architectures(keep: pathlib.Path) -> Iterator[Case]:
    """As PyTorch writes them, which says what they compute, too."""
    for index, entry in enumerate(torch_archives.entries()):

        def make(entry=entry, form=TURNS[index % len(TURNS)]):
            for found in dict.fromkeys((form, "traced")):  # what cannot be exported is traced
                archives = torch_archives.write_archives(entry, [found], keep / entry.name)
                if archives.path(found).exists():
                    return archives.path(found), archives.arrays("in"), archives.arrays("out")
            raise RuntimeError(f"PyTorch cannot write it: {archives.refused}")

        yield Case(entry.name, GROUPS[entry.source], make, halved=lambda entry=entry: with_halves(entry, keep / entry.name))


def with_halves(entry, folder: pathlib.Path) -> list[np.ndarray]:
    """PyTorch's results with the parameters rounded to half precision and nothing else."""
    import torch

    archives = torch_archives.write_archives(entry, ["traced"], folder)
    model = torch.jit.load(str(archives.path("traced"))).eval()
    with torch.no_grad():
        for value in [*model.parameters(), *model.buffers()]:
            if value.dtype == torch.float32:
                value.copy_(value.half().float())
        return torch_archives.flat(model(*map(torch.from_numpy, archives.arrays("in"))))


def recorded_cases(data: pathlib.Path) -> Iterator[Case]:
    for folder in ("torchscript", "torch213", "tf"):
        index = data / folder / "index.json"
        for name, entry in json.loads(index.read_text()).items() if index.exists() else ():
            if name.startswith("_") or "reject" in entry:
                continue
            model = data / folder / entry.get("file", name if folder == "tf" else name + ".pt")
            text = f"{name} {entry.get('how', '')}".lower()
            integers = any(word in text for word in ("int8", "quantize", "qat", "ptq", "pt2e"))
            yield Case(f"{folder}/{model.name}", folder, recorded(model, data / folder / entry.get("npz", name + ".npz")), integers)


def file_cases(data: pathlib.Path, keep: pathlib.Path, peers: pathlib.Path, tensorflow: pathlib.Path) -> Iterator[Case]:
    """Models of others, run by their own runtime."""
    for path in sorted(data.rglob("*")):
        folder = path.relative_to(data).parts[0]
        if folder in ("hostile", "tf", "arm", "torchscript", "torch213") or path.name.endswith(("_edgetpu.tflite", "_vela.tflite")):
            continue
        python = peers if path.suffix in (".onnx", ".tflite") else tensorflow
        if path.suffix in (".onnx", ".tflite", ".h5") or (path / "saved_model.pb").exists():
            integers = any(word in path.stem for word in ("quant", "ptq", "int8")) or path.stem == "person_detect"
            case = Case(f"{folder}/{path.name}", folder, run_here(path, python, keep), integers)
            if path.suffix == ".tflite":
                result = keep / f"{path.parent.name}-{path.name}.npz"
                case.as_stored = lambda r=result: (arrays_of(r, "in"), lambda outputs, r=r: as_real(r, "out", outputs))
            yield case
        elif path.suffix in (".pt", ".pt2") and path.with_suffix(".onnx").exists():
            # The ONNX file is the same network.
            twin = run_here(path.with_suffix(".onnx"), peers, keep)
            yield Case(f"{folder}/{path.name}", folder, lambda path=path, twin=twin: (path, *twin()[1:]))


def all_cases(keep: pathlib.Path, peers: pathlib.Path, tensorflow: pathlib.Path, only: list[str]) -> list[Case]:
    data = model_set.shared_data()
    found = list(architectures(keep))
    if data.is_dir():
        found += [*recorded_cases(data), *file_cases(data, keep, peers, tensorflow)]
    else:
        print(f"skipped: no shared data at {data}")
    return [c for c in found if not only or any(fnmatch.fnmatch(c.name, pattern) for pattern in only)]


def declare_operators():
    """Kept by the caller while torchvision is used."""
    with contextlib.suppress(Exception):
        return zoo.declare_torchvision_ops()
