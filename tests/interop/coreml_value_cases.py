"""Single-operator models for coreml_value_sweep.py that the ONNX node tests lack: the fixtures of tests/ops, and forms of programs that
only networks lead to (pixel shuffles, upper and lower parts, stored weights)."""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Iterator

import numpy as np
from model_set import REPOSITORY

TYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "u8": np.uint8, "bool": np.bool_, "f16": np.float16}
CONSTANT = re.compile(r"^  %(\w+) = const (\w+)\[([\d,]*)\] (base64|dense|splat)(?:\(\"?(.*?)\"?\)|\[(.*)\])$")


@dataclasses.dataclass
class Case:
    name: str
    text: str
    inputs: list[np.ndarray]
    options: tuple[str, ...] = ()


def array_of(match: re.Match) -> np.ndarray | None:
    """The value of a constant; nothing for types that NumPy lacks."""
    _, dtype, sizes, form, inside, listed = match.groups()
    if dtype not in TYPES:
        return None
    shape = [int(s) for s in sizes.split(",") if s]
    if form == "base64":
        return np.frombuffer(base64.b64decode(inside), TYPES[dtype]).reshape(shape)
    if form == "splat":
        return np.full(shape, float(inside)).astype(TYPES[dtype])
    values = [{"true": 1, "false": 0}.get(v.strip()) if v.strip() in ("true", "false") else float(v) for v in listed.split(",") if v.strip()]
    return np.array(values).astype(TYPES[dtype]).reshape(shape)


def with_inputs(name: str, text: str, wanted: int) -> Case | None:
    """The graph of a fixture with its first `wanted` float operands as inputs in place of constants, and without what it must give."""
    lines, inputs, declared = [], [], []
    for line in text.splitlines():
        match = CONSTANT.match(line)
        if match and match[1].startswith("e"):
            continue
        value = array_of(match) if match and match[1].startswith("x") and len(inputs) < wanted else None
        if value is not None and (value.dtype == np.float32 or not inputs):
            inputs.append(value)
            declared.append(f"%{match[1]}: {match[2]}[{match[3]}]")
        else:
            lines.append(line)
    results = re.findall(r"(y\d+) = %y\d+", lines[1] if len(lines) > 1 else "")
    if len(inputs) < wanted or not results:
        return None
    lines[1] = f"graph @g({', '.join(declared)}) -> ({', '.join(f'{y} = %{y}' for y in results)}) {{"
    lines = [line for line in lines if "metadata" not in line]
    return Case(name, "\n".join(lines) + "\n", inputs)


def fixture_cases() -> Iterator[Case]:
    """With one input, and with two where the operation has them."""
    for file in sorted((REPOSITORY / "tests/ops/fixtures").glob("*.ecir")):
        for i, text in enumerate(file.read_text().split("// -----\n")):
            for wanted in (1, 2):
                if case := with_inputs(f"{file.stem}_{i}_{wanted}", text, wanted):
                    yield case


def graph(name: str, body: str, *shapes: tuple[int, ...], options: tuple[str, ...] = (), low: float = -1, high: float = 1) -> Case:
    rng = np.random.default_rng(5)
    inputs = [rng.uniform(low, high, shape).astype(np.float32) for shape in shapes]
    declared = ", ".join(f"%x{i}: f32[{','.join(map(str, s))}]" for i, s in enumerate(shapes))
    return Case(name, f"ecir 1\ngraph @g({declared}) -> (y = %y) {{\n{body}\n}}\n", inputs, options)


def own_cases() -> Iterator[Case]:
    yield from ()


def all_cases() -> Iterator[Case]:
    yield from fixture_cases()
    yield from own_cases()
