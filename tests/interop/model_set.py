"""The models that the comparisons run on: the exported zoo, the shared data folder and models inside packages.

Everything is optional: a part that is absent is skipped with a message, never an error.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import os
import pathlib
import sys
import zlib

import numpy as np

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

_DTYPES = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
    9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
}


@dataclasses.dataclass(frozen=True)
class Input:
    name: str
    shape: tuple[int, ...]
    dtype: str
    below: int | None = None  # exclusive bound of integer inputs


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    path: pathlib.Path
    inputs: tuple[Input, ...]
    dynamic: bool = False
    is_cnn: bool = True

    def feeds(self, seed: int = 0) -> dict[str, np.ndarray]:
        generator = np.random.default_rng(zlib.crc32(self.name.encode()) + seed)
        values = {}
        for value in self.inputs:
            if value.below is not None or np.dtype(value.dtype).kind in "iu":
                values[value.name] = generator.integers(0, value.below or 2, value.shape).astype(value.dtype)
            else:
                values[value.name] = generator.standard_normal(value.shape).astype(value.dtype)
        return values

    def input_shapes(self) -> dict[str, list[int]] | None:
        return {v.name: list(v.shape) for v in self.inputs} if self.dynamic else None


def zoo_root() -> pathlib.Path:
    return pathlib.Path(os.environ.get("EC_ZOO_DIR", REPOSITORY / "build" / "zoo"))


def shared_data() -> pathlib.Path:
    return pathlib.Path(os.environ.get("EC_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))


def shared_tflite_files() -> list[pathlib.Path]:
    """Models that somebody made to be run, not those that were made to do harm."""
    return sorted(p for p in shared_data().rglob("*.tflite") if "hostile" not in p.parts)


def zoo_models() -> list[Model]:
    manifest = zoo_root() / "manifest.json"
    if not manifest.exists():
        print(f"skipped: no zoo at {zoo_root()} (run tests/interop/zoo.py)", file=sys.stderr)
        return []
    models = []
    for file, record in sorted(json.loads(manifest.read_text())["models"].items()):
        inputs = tuple(Input(i["name"], tuple(i["shape"]), i["dtype"], i["below"]) for i in record["inputs"])
        models.append(Model(file.removesuffix(".onnx"), zoo_root() / file, inputs, record["dynamic"], record["source"] != "own"))
    return models


def from_file(name: str, path: pathlib.Path, sizes: dict[str, int] | None = None, below: int | None = None) -> Model:
    """A model whose inputs are read from the file; symbolic dimensions take 1 unless sizes says otherwise."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    initialised = {t.name for t in graph.initializer}
    inputs, dynamic = [], False
    for value in graph.input:
        if value.name in initialised:
            continue
        tensor = value.type.tensor_type
        shape = []
        for dim in tensor.shape.dim:
            if dim.HasField("dim_value") and dim.dim_value > 0:
                shape.append(dim.dim_value)
            else:
                dynamic = True
                shape.append((sizes or {}).get(dim.dim_param, 1))
        inputs.append(Input(value.name, tuple(shape), np.dtype(_DTYPES[tensor.elem_type]).name, below))
    return Model(name, path, tuple(inputs), dynamic)


def shared_models() -> list[Model]:
    root = shared_data()
    if not root.is_dir():
        print(f"skipped: no shared data at {root}", file=sys.stderr)
        return []
    paths = [*sorted((root / "onnx").glob("*.onnx")), *sorted((root / "cifar10" / "zoo").glob("*.onnx"))]
    nmp = root / "basic_pitch" / "nmp.onnx"
    models = [from_file(f"shared-{p.stem}", p) for p in paths]
    return models + ([from_file("basic_pitch-nmp", nmp)] if nmp.exists() else [])


def magika_models() -> list[Model]:
    import importlib.util

    spec = importlib.util.find_spec("magika")
    if spec is None or spec.origin is None:
        print("skipped: magika is not installed", file=sys.stderr)
        return []
    paths = sorted((pathlib.Path(spec.origin).parent / "models").rglob("*.onnx"))
    return [from_file(f"magika-{p.parent.name}", p, below=256) for p in paths]


def all_models(only: list[str] | None = None) -> list[Model]:
    models = [*zoo_models(), *shared_models(), *magika_models()]
    return [m for m in models if not only or any(fnmatch.fnmatch(m.name, g) for g in only)]
