#!/usr/bin/env python3
"""Branches, loops, state and attention in Core ML packages: every package is type-checked by coremltools, read back and run beside
its source, each with single and half precision and for several systems.

usage: coreml_control_check.py [--edgecompile PROGRAM] [--only TEXT] [--out FOLDER]

Models: the graphs below, and every ONNX backend test of Debian's libonnx-testdata that has If, Loop or Scan, on its own inputs. What
is refused is counted by its reason; graphs below are never refused. State is compared over several runs by the self-check of
`compile`, which fails where one of them differs. Runs in an environment of requirements-coreml.txt.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import sys
import tempfile

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import program
from coreml_write_check import load
from onnx_reader import fields

TOLERANCE = {"fp32": 1e-4, "fp16": 5e-3}
NODES = pathlib.Path("/usr/share/libonnx-testdata/data")
DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64}

LOOP = """ecir 1
graph @loop(%x: f32[3], %step: f32[3], %n: i32[]) -> (y = %y, all = %all) {
  %count = const i64[] dense[6]
  %y, %all = loop(%count, _, %x, %step) {num_carried=1}
    body graph @body(%i: i64[], %go: bool[], %v: f32[3], %s: f32[3]) -> (c = %go, v = %w, row = %r) {
      %f = cast(%i) {to=f32}
      %m = mul(%s, %f)
      %w = add(%v, %m)
      %r = tanh(%w)
    }
}
"""

WHILE = """ecir 1
graph @while(%x: f32[2,3]) -> (y = %y, n = %n) {
  %zero = const i32[] dense[0]
  %yes = const bool[] dense[1]
  %y, %n = loop(_, %yes, %x, %zero) {num_carried=2}
    body graph @body(%i: i64[], %go: bool[], %v: f32[2,3], %k: i32[]) -> (c = %c, v = %w, k = %m) {
      %one = const f32[] splat(1)
      %w = add(%v, %one)
      %step = const i32[] dense[1]
      %m = add(%k, %step)
      %limit = const f32[] splat(20)
      %axes = const i64[2] dense[0,1]
      %s = reduce_sum(%w, %axes) {keep_dims=false}
      %c = less(%s, %limit)
    }
}
"""

SCAN = """ecir 1
graph @scan(%h: f32[2,4], %xs: f32[2,5,4]) -> (last = %last, all = %all) {
  %last, %all = scan(%h, %xs) {num_states=1, num_scan_inputs=1, input_axes=[1], input_directions=[1], output_axes=[1], output_directions=[0]}
    body graph @body(%v: f32[2,4], %x: f32[2,4]) -> (v = %w, row = %r) {
      %s = add(%v, %x)
      %w = sigmoid(%s)
      %r = neg(%w)
    }
}
"""

NESTED = """ecir 1
graph @nested(%x: f32[4]) -> (y = %y) {
  %n = const i64[] dense[5]
  %y = loop(%n, _, %x) {num_carried=1}
    body graph @body(%i: i64[], %go: bool[], %v: f32[4]) -> (c = %go, v = %w) {
      %two = const i64[] dense[2]
      %odd = less(%i, %two)
      %w = if(%odd, %v)
        body graph @then(%p: f32[4]) -> (r = %r) {
          %k = const f32[4] dense[1,2,3,4]
          %r = add(%p, %k)
        }
        body graph @else(%p: f32[4]) -> (r = %r) {
          %h = const f32[] splat(0.5)
          %r = mul(%p, %h)
        }
    }
}
"""

COUNTER = """ecir 1
graph @counter(%x: f32[2,3]) -> (y = %y) {
  %zero = const f32[2,3] splat(0)
  %s = read_state(%zero) {name="total"}
  %half = const f32[] splat(0.5)
  %kept = mul(%s, %half)
  %y = add(%kept, %x)
  %w = write_state(%y) {name="total"}
}
"""

STARTED = """ecir 1
graph @started(%x: f32[2]) -> (y = %y) {
  %start = const f32[2] dense[1,-2]
  %s = read_state(%start) {name="average"}
  %half = const f32[] splat(0.5)
  %d = sub(%x, %s)
  %m = mul(%d, %half)
  %y = add(%s, %m)
  %w = write_state(%y) {name="average"}
}
"""

# One step of attention with its cache as state, which wraps around.
CACHE = """ecir 1
graph @cache(%q: f32[1,2,1,4], %k: f32[1,2,1,4], %v: f32[1,2,1,4], %at: i32[1]) -> (y = %y) {
  %zero = const f32[1,2,6,4] splat(0)
  %keys = read_state(%zero) {name="keys"}
  %values = read_state(%zero) {name="values"}
  %none2 = const i32[2] dense[0,0]
  %none1 = const i32[1] dense[0]
  %start = concat(%none2, %at, %none1) {axis=0}
  %k2 = dynamic_update_slice(%keys, %k, %start)
  %v2 = dynamic_update_slice(%values, %v, %start)
  %wk = write_state(%k2) {name="keys"}
  %wv = write_state(%v2) {name="values"}
  %y = attention(%q, %k2, %v2)
}
"""

CAUSAL = """ecir 1
graph @causal(%q: f32[2,4,6,8], %k: f32[2,2,6,8], %v: f32[2,2,6,5]) -> (y = %y) {
  %y = attention(%q, %k, %v) {causal=true, scale=0.3}
}
"""

MASKED = """ecir 1
graph @masked(%q: f32[2,3,8], %k: f32[2,5,8], %v: f32[2,5,8], %f: f32[3,5]) -> (y = %y) {
  %limit = const f32[] splat(0.7)
  %m = greater(%f, %limit)
  %y = attention(%q, %k, %v, %m) {q_heads=2, kv_heads=2}
}
"""

GRAPHS = {"loop": LOOP, "while": WHILE, "scan": SCAN, "nested": NESTED, "counter": COUNTER, "started": STARTED, "cache": CACHE, "causal": CAUSAL, "masked": MASKED}
# Systems for each; "auto" is the oldest one that serves.
SYSTEMS = ("auto", "ios18")


def tensor(path: pathlib.Path) -> np.ndarray | None:
    """A TensorProto of numbers that lie in raw_data; nothing for others, such as sequences."""
    try:
        read = list(fields(path.read_bytes()))
        dims = [v for n, v in read if n == 1 and isinstance(v, int)]
        dtype = DTYPES[dict(read)[2]]
        return np.frombuffer(dict(read).get(9, b""), dtype).reshape(dims)
    except (KeyError, IndexError, ValueError, TypeError):
        return None


def node_models() -> dict[str, pathlib.Path]:
    found = {}
    for path in sorted(NODES.rglob("model.onnx")):
        content = path.read_bytes()
        if any(mark in content for mark in (b'"\x02If', b'"\x04Loop', b'"\x04Scan')):
            found[path.parent.name] = path
    return found


def node_inputs(model: pathlib.Path) -> list[np.ndarray] | None:
    files = sorted((model.parent / "test_data_set_0").glob("input_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
    arrays = [tensor(file) for file in files]
    return None if any(a is None for a in arrays) else arrays


def random_inputs(edgecompile: str, model: pathlib.Path) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    arrays = []
    for described in program.report(edgecompile, "inspect", model)["inputs"]:
        shape = described["shape"]
        arrays.append(rng.random(shape, np.float32) if described["dtype"] == "f32" else rng.integers(0, 4, shape).astype(np.int32))
    return arrays


def difference(wanted: dict, got: dict) -> float:
    worst = 0.0
    for a, b in zip(wanted.values(), got.values(), strict=True):
        a, b = a.astype(np.float64), b.astype(np.float64).reshape(a.shape)
        if not np.array_equal(np.isnan(a), np.isnan(b)):
            return float("inf")
        if a.size:
            worst = max(worst, float(np.abs(a - b).max()) / max(float(np.abs(a).max()), 1e-6))
    return worst


def check(edgecompile: str, model: pathlib.Path, inputs: list[np.ndarray] | None, precision: str, system: str, package: pathlib.Path) -> float | None:
    """The largest difference as a share of the largest value; nothing where there are no inputs to run it on."""
    shapes = program.shapes_in_order(inputs) if inputs and model.suffix == ".onnx" else []
    made = program.report(edgecompile, model, "-t", "metal", "--precision", precision, "--deployment-target", system, "-o", package, *shapes, timeout=300)
    if not made["self_check"]["ran"]:
        raise AssertionError(f"the self-check did not run: {made['self_check']}")
    load(package)
    if inputs is None:
        return None
    wanted = program.run_model(edgecompile, model, inputs)
    given = [np.atleast_1d(a) for a in inputs]
    given = [a.astype(np.float32 if a.dtype == np.bool_ or a.dtype.kind == "f" else np.int32) for a in given]
    return difference(wanted, program.run_model(edgecompile, package, given))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--edgecompile", default=program.find())
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    faults, refused, written, compared = [], collections.Counter(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        models: dict[str, tuple[pathlib.Path, list[np.ndarray] | None]] = {}
        for name, text in GRAPHS.items():
            path = pathlib.Path(folder) / f"{name}.ecir"
            path.write_text(text)
            models[name] = (path, random_inputs(options.edgecompile, path))
        models |= {name: (path, node_inputs(path)) for name, path in node_models().items()}
        for name, (path, inputs) in models.items():
            if options.only not in name:
                continue
            for precision, limit in TOLERANCE.items():
                for system in SYSTEMS:
                    label = f"{name} {precision} {system}"
                    try:
                        worst = check(options.edgecompile, path, inputs, precision, system, pathlib.Path(folder) / f"{written}.mlpackage")
                    except program.Failed as error:
                        if name in GRAPHS or not error.errors or not error.errors[0]["code"].startswith(("EC2", "EC3")):
                            faults.append(f"{label}: {error}")
                        else:
                            refused[error.errors[0]["message"]] += 1
                        continue
                    except Exception as error:  # whatever coremltools throws is a finding
                        faults.append(f"{label}: {type(error).__name__}: {error}")
                        continue
                    written += 1
                    compared += worst is not None
                    # Core ML keeps state in half precision, whatever the program computes in.
                    if worst is not None and worst > (TOLERANCE["fp16"] if "read_state" in (GRAPHS.get(name) or "") else limit):
                        faults.append(f"{label}: differs by {worst:.2e} of the largest value")
    lines = [f"control flow, state and attention: {written} packages written and type-checked, {compared} run beside their sources; "
             f"{sum(refused.values())} refused, {len(faults)} wrong", "", "| refused | because |", "|---|---|"]
    lines += [f"| {count} | {what} |" for what, count in refused.most_common()] + [""] + faults
    print("\n".join(lines))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "coreml_control.md").write_text("\n".join(lines) + "\n")
    return 1 if faults or written == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
