"""State from run to run against LiteRT: recurrent operators with variable tensors, and variables with handles.

Every model is run several times in a row, reset, and run again; as it is, and as edgecompile writes it.
Needs ai-edge-litert and the edgecompiler package.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import program
from litert import open_model, run_in_order
from tflite_builder import ModelBuilder, Quant

RUNS, RUNS_AFTER_RESET = 4, 2


def svdf() -> bytes:
    rng, b = np.random.default_rng(1), ModelBuilder()
    x = b.input((1, 4), np.float32)
    feature, time = (b.const(rng.standard_normal(s).astype(np.float32)) for s in ((6, 4), (6, 5)))
    state = b.tensor((1, 30), np.float32, variable=True, name="state")
    b.op("SVDF", [x, feature, time, -1, state], [b.output((1, 3), np.float32)], [2, 0, False])
    return b.finish()


def svdf_int8() -> bytes:
    rng, b = np.random.default_rng(2), ModelBuilder()
    x = b.input((1, 4), np.int8, Quant(0.05, 3))
    feature = b.const(rng.integers(-127, 128, (6, 4)).astype(np.int8), Quant(0.01))
    time = b.const(rng.integers(-2000, 2000, (6, 5)).astype(np.int16), Quant(0.0005))
    bias = b.const(rng.integers(-100, 100, 3).astype(np.int32), Quant(0.0000005))
    state = b.tensor((1, 30), np.int16, Quant(0.001), variable=True, name="state")
    b.op("SVDF", [x, feature, time, bias, state], [b.output((1, 3), np.int8, Quant(0.1, -128))], [2, 1, False])
    return b.finish()


def lstm() -> bytes:
    rng, b = np.random.default_rng(3), ModelBuilder()
    units, inputs = 5, 4
    x = b.input((1, 3, inputs), np.float32)

    def weights(*shape):
        return b.const((rng.standard_normal(shape) * 0.5).astype(np.float32))

    operands = [x, *(weights(units, inputs) for _ in range(4)), *(weights(units, units) for _ in range(4)), -1, -1, -1,
                *(weights(units) for _ in range(4)), -1, -1]
    operands += [b.tensor((1, units), np.float32, variable=True, name=name) for name in ("hidden", "cell")]
    b.op("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [b.output((1, 3, units), np.float32)], [4, 0.0, 0.0, False, False, False])
    return b.finish()


# A state that two operations use: a variable with a handle.
COUNTER = """ecir 1
graph @g(%x: f32[2]) -> (y = %y) {
  %first = const f32[2] dense[1,-2]
  %s = read_state(%first) {name="sum"}
  %y = add(%s, %x)
  %w = write_state(%y) {name="sum"}
}
"""


def inputs_of(detail: dict, rng: np.random.Generator) -> np.ndarray:
    if detail["dtype"] == np.int8:
        return rng.integers(-128, 128, detail["shape"]).astype(np.int8)
    return rng.standard_normal(detail["shape"]).astype(np.float32)


def compare(path: pathlib.Path, resets_variables: bool) -> list[str]:
    """Faults of a file, each as a sentence."""
    from edgecompiler.runtime import InferenceSession

    theirs, ours, rng, faults = open_model(path), InferenceSession(path), np.random.default_rng(7), []
    details = theirs.get_input_details()
    for run in range(RUNS + RUNS_AFTER_RESET):
        if run == RUNS:
            if not resets_variables:
                break
            theirs.reset_all_variables()
            ours.reset()
        values = [inputs_of(detail, rng) for detail in details]
        want = run_in_order(theirs, values)
        got = list(ours.run(values).values())
        worst = max(float(np.max(np.abs(a.astype(np.float64) - b))) for a, b in zip(got, want))
        if worst > (0 if want[0].dtype == np.int8 else 1e-6):
            faults.append(f"run {run}: differs by {worst:.3g}")
    return faults


def check_reset_of_variables(path: pathlib.Path) -> list[str]:
    """Variables with handles: ours go back to what CALL_ONCE assigned, with LiteRT's initial values as the judge."""
    from edgecompiler.runtime import InferenceSession

    x = np.ones(2, np.float32)
    first = run_in_order(open_model(path), [x])[0]
    session = InferenceSession(path)
    results = [session.run([x])["y"] for _ in range(2)]
    session.reset()
    results.append(session.run([x])["y"])
    good = np.array_equal(results[0], first) and np.array_equal(results[2], first) and not np.array_equal(results[1], first)
    return [] if good else [f"after reset: {results} where LiteRT starts with {first}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edgecompile", default=program.find())
    arguments = parser.parse_args()
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for make in (svdf, svdf_int8, lstm):
            path = pathlib.Path(folder, f"{make.__name__}.tflite")
            path.write_bytes(make())
            files.append((path, True))
        counter = pathlib.Path(folder, "counter.ecir")
        counter.write_text(COUNTER)
        sources = [path for path, _ in files] + [counter]
        for source in sources:
            written = source.with_name(source.stem + "_written.tflite")
            subprocess.run([arguments.edgecompile, source, "-t", "tflite", "-o", written, "--quiet"], check=True)
            files.append((written, source != counter))
        for path, resets in files:
            found = compare(path, resets)
            if not resets:
                found += check_reset_of_variables(path)
            faults += len(found)
            print(f"{path.stem:24} {'; '.join(found) or 'as LiteRT'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
