#!/usr/bin/env python3
"""Runs the operators that only TFLite Micro has here and in TFLite Micro: its signal library, 8-bit SVDF, softmax to 16 bits.

    micro_check.py [--edgecompile PATH] [--only TEXT] [--seed N] [--count N] [--run-only] [--out DIR]

Needs tflite-micro and flatbuffers. Every case is a model of one operator. Integers must be equal in every element, floats
within 1e-5 of the largest. Operators with state are compared in their first run, and, where the case says so, in several
runs one after the other. Each model is also written again with -t tflite, and TFLite Micro runs that. Whole models of
TFLite Micro are compared where EC_MICRO_MODELS names a folder of them.
"""
import os
import pathlib
import sys
import tempfile

import numpy as np
from flatbuffers import flexbuffers

import comparison
import program
from tflite_builder import ModelBuilder, Quant
from tflite_check import difference

SIGNAL_TYPES = {np.int16: 7, np.int32: 2, np.float32: 0}


def run_micro(content, inputs, outputs, runs=1):
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(content, arena_size=1 << 21)
    for _ in range(runs):
        for i, value in enumerate(inputs):
            interpreter.set_input(value, i)
        interpreter.invoke()
    return [interpreter.get_output(i).copy() for i in range(outputs)]


class Model:
    """One operator; `check` names the outputs to compare (all when left out)."""

    def __init__(self, rng):
        self.rng, self.builder, self.inputs = rng, ModelBuilder(), []

    def ints(self, low, high, shape, dtype):
        return self.rng.integers(low, high, shape, endpoint=True).astype(dtype)

    def input(self, value):
        self.inputs.append(value)
        return self.builder.input(value.shape, value.dtype)

    def signal(self, code, inputs, outputs, **options):
        made = [self.builder.output(shape, dtype) for shape, dtype in outputs]
        self.builder.custom(code, inputs, made, bytes(flexbuffers.Dumps(options)))
        return self


def samples(m, shape, level=None):
    level = level or int(m.rng.choice([1, 50, 3000, 32767]))
    return m.ints(-level, level, shape, np.int16)


def window(m):
    n = int(m.rng.choice([1, 7, 480]))
    x = samples(m, (int(m.rng.integers(1, 4)), n), 32767)
    weights = m.builder.const(m.ints(-32768 if m.rng.random() < .2 else 0, 32767, n, np.int16))
    return m.signal("SignalWindow", [m.input(x), weights], [(x.shape, np.int16)], shift=int(m.rng.integers(0, 16)))


def auto_scale(m):
    x = samples(m, int(m.rng.choice([1, 16, 480])))
    if m.rng.random() < .3:
        x[0] = m.rng.choice([-32768, 0])
    if m.rng.random() < .2:
        x[:] = 0
    return m.signal("SignalFftAutoScale", [m.input(x)], [(x.shape, np.int16), ((), np.int32)])


def fft_length(m):
    """Even, half of it with no factors but 2, 3 and 5: TFLite Micro crashes on others."""
    return int(m.rng.choice([4, 8, 12, 16, 20, 30, 64, 90, 256, 480, 512, 1024]))


def rfft(m, dtype):
    n = fft_length(m)
    shape = (int(m.rng.integers(1, 3)), int(m.rng.integers(1, n + 1)))
    if dtype == np.float32:
        x = m.rng.normal(0, 100, shape).astype(np.float32)
    else:
        bits = int(m.rng.integers(1, np.iinfo(dtype).bits))
        x = m.ints(-2**bits, 2**bits - 1, shape, dtype)
    return m.signal("SignalRfft", [m.input(x)], [((shape[0], n + 2), dtype)], T=SIGNAL_TYPES[dtype], fft_length=n)


def irfft(m, dtype):
    n = fft_length(m)
    shape = (int(m.rng.integers(1, 3)), n + 2)
    if dtype == np.float32:
        x = m.rng.normal(0, 100, shape).astype(np.float32)
    else:
        bits = int(m.rng.integers(1, np.iinfo(dtype).bits))
        x = m.ints(-2**bits, 2**bits - 1, shape, dtype)
    return m.signal("SignalIrfft", [m.input(x)], [((shape[0], n), dtype)], T=SIGNAL_TYPES[dtype], fft_length=n)


def energy(m):
    n = int(m.rng.choice([2, 17, 257]))
    x = samples(m, 2 * n, 32767)
    return m.signal("SignalEnergy", [m.input(x)], [((n,), np.uint32)], start_index=0, end_index=n)


def filter_bank(m):
    bins, channels = 257, int(m.rng.integers(1, 41))
    widths = m.ints(0, 6, channels + 1, np.int16)
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]]).astype(np.int16)
    weights = [m.builder.const(m.ints(0, 4096, int(widths.sum()) + 1, np.int16)) for _ in range(2)]
    x = m.ints(0, 2**32 - 1, bins, np.uint32)
    tables = [m.builder.const(v) for v in (np.minimum(starts, bins - 7), starts, widths)]
    return m.signal("SignalFilterBank", [m.input(x), *weights, *tables], [((channels,), np.uint64)], num_channels=channels)


def square_root(m):
    bits = int(m.rng.integers(1, 64))
    x = m.rng.integers(0, 2**bits, 40, dtype=np.uint64)
    x[:4] = [0, 1, 2**32 - 1, 2**32]
    scale = m.ints(0, 12, (), np.int32)
    return m.signal("SignalFilterBankSquareRoot", [m.input(x), m.input(np.asarray(scale))], [(x.shape, np.uint32)])


def spectral_subtraction(m):
    x = m.ints(0, 2**int(m.rng.integers(1, 22)), 40, np.uint32)
    return m.signal("SignalFilterBankSpectralSubtraction", [m.input(x)], [(x.shape, np.uint32)] * 2,
                    alternate_one_minus_smoothing=16384 - 983, alternate_smoothing=983, clamping=bool(m.rng.integers(2)),
                    min_signal_remaining=int(m.rng.integers(0, 16384)), num_channels=40, one_minus_smoothing=16384 - 655,
                    smoothing=655, smoothing_bits=int(m.rng.integers(0, 11)), spectral_subtraction_bits=14)


def pcan(m):
    x, noise = (m.ints(0, 2**int(m.rng.integers(1, 33)) - 1, 40, np.uint32) for _ in range(2))
    table = m.builder.const(m.ints(-2000, 2000, 125, np.int16))
    return m.signal("SignalPCAN", [m.input(x), m.input(noise), table], [(x.shape, np.uint32)], snr_shift=int(m.rng.integers(0, 16)))


def logarithm(m):
    x = m.ints(0, 2**int(m.rng.integers(1, 33)) - 1, 40, np.uint32)
    x[:3] = [0, 1, 2]
    return m.signal("SignalFilterBankLog", [m.input(x)], [(x.shape, np.int16)], input_correction_bits=int(m.rng.integers(0, 5)),
                    output_scale=int(m.rng.choice([64, 1600])))


def framer(m):
    step = int(m.rng.integers(1, 9))
    size, frames, rows = step + int(m.rng.integers(0, 9)), int(m.rng.integers(1, 5)), int(m.rng.integers(1, 3))
    x = samples(m, (rows, step * frames))
    return m.signal("SignalFramer", [m.input(x)], [((rows, frames, size), np.int16), ((), np.bool_)], frame_size=size,
                    frame_step=step, prefill=True)


def delay(m):
    x = samples(m, (int(m.rng.integers(1, 3)), int(m.rng.integers(1, 20))))
    return m.signal("SignalDelay", [m.input(x)], [(x.shape, np.int16)], delay_length=int(m.rng.integers(1, 30)))


def stacker(m):
    channels, left = int(m.rng.integers(1, 6)), int(m.rng.integers(0, 4))
    x = samples(m, channels)
    return m.signal("SignalStacker", [m.input(x)], [((channels * (left + 1),), np.int16), ((), np.bool_)], num_channels=channels,
                    stacker_left_context=left, stacker_right_context=0, stacker_step=int(m.rng.integers(1, left + 2)))


def overlap_add(m, dtype):
    size, frames = int(m.rng.integers(2, 20)), int(m.rng.integers(1, 6))
    step = int(m.rng.integers(1, size + 1))
    shape = (int(m.rng.integers(1, 3)), frames, size)
    x = samples(m, shape, 32767) if dtype == np.int16 else m.rng.normal(0, 1, shape).astype(np.float32)
    return m.signal("SignalOverlapAdd", [m.input(x)], [((shape[0], frames * step), dtype)], T=SIGNAL_TYPES[dtype], frame_step=step)


def svdf(m, wide):
    """One step of the filter: of TFLite Micro alone with an 8-bit state."""
    depth, units, rank, memory = (int(m.rng.integers(1, n)) for n in (20, 9, 3, 9))
    kind, b = (np.int16 if wide else np.int8), m.builder
    x = m.ints(-128, 127, (1, depth), np.int8)
    m.inputs.append(x)
    zero = 0 if wide else int(m.rng.integers(-20, 20))
    state_scale, time_scale = np.float32(2**-6 if not wide else 2**-12), np.float32(2**-5)
    operands = [b.input(x.shape, np.int8, Quant(0.05, int(m.rng.integers(-128, 128)))),
                b.const(m.ints(-127, 127, (units * rank, depth), np.int8), Quant(0.02)),
                b.const(m.ints(-100, 100, (units * rank, memory), kind), Quant(time_scale)),
                b.const(m.ints(-500, 500, units, np.int32), Quant(state_scale * time_scale)),
                b.tensor([1, units * rank * memory], kind, Quant(state_scale, zero), variable=True)]
    out = b.output([1, units], np.int8, Quant(0.1, int(m.rng.integers(-128, 128))))
    b.op("SVDF", operands, [out], [rank, 1, False])
    return m


def softmax(m):
    x = m.ints(-128, 127, (int(m.rng.integers(1, 4)), int(m.rng.integers(1, 20))), np.int8)
    m.inputs.append(x)
    source = m.builder.input(x.shape, np.int8, Quant(float(m.rng.uniform(0.01, 0.2)), 3))
    m.builder.op("SOFTMAX", [source], [m.builder.output(x.shape, np.int16, Quant(1 / 65536, -32768))], [1.0])
    return m


CASES = {"window": window, "fft_auto_scale": auto_scale, "rfft_i16": lambda m: rfft(m, np.int16), "rfft_i32": lambda m: rfft(m, np.int32),
         "rfft_f32": lambda m: rfft(m, np.float32), "irfft_i16": lambda m: irfft(m, np.int16), "irfft_i32": lambda m: irfft(m, np.int32),
         "irfft_f32": lambda m: irfft(m, np.float32), "energy": energy, "filter_bank": filter_bank, "square_root": square_root,
         "spectral_subtraction": spectral_subtraction, "pcan": pcan, "log": logarithm, "framer": framer, "delay": delay,
         "stacker": stacker, "overlap_add_i16": lambda m: overlap_add(m, np.int16), "overlap_add_f32": lambda m: overlap_add(m, np.float32),
         "svdf_i16": lambda m: svdf(m, True), "svdf_i8": lambda m: svdf(m, False), "softmax_i16": softmax}
# TFLite Micro has none of the builtin operators that transforms of floats become.
NOT_WRITTEN_AGAIN = ("rfft_f32", "irfft_f32")


def compare(tool, content, inputs, outputs, folder, rewrite):
    """None, or what differs."""
    theirs = run_micro(content, inputs, outputs)
    source = pathlib.Path(folder) / "model.tflite"
    source.write_bytes(content)
    ours = list(program.run_model(tool, source, inputs).values())
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if text := difference(a, b):
            return f"output {i}: {text}"
    if not rewrite:
        return None
    again = pathlib.Path(folder) / "again.tflite"
    program.report(tool, source, "-t", "tflite", "-o", again)
    for i, (a, b) in enumerate(zip(run_micro(again.read_bytes(), inputs, outputs), theirs)):
        if text := difference(a, b):
            return f"written again, output {i}: {text}"
    return None


def whole_models(tool, folder, rows, rng, rewrite):
    """Models of TFLite Micro with the operators above: their first run on random samples."""
    for path in sorted(pathlib.Path(folder).glob("*.tflite")):
        if not path.name.startswith(("audio_preprocessor", "keyword_scrambled")):
            continue
        shape = (1, 480) if path.name.startswith("audio") else (1, 96)
        differences = []
        with tempfile.TemporaryDirectory() as scratch:
            for _ in range(5):
                x = rng.integers(-20000, 20000, shape).astype(np.int16)
                differences.append(compare(tool, path.read_bytes(), [x], 1, scratch, rewrite))
        rows.add({"case": path.name, "runs": len(differences), "different": [d for d in differences if d], "ok": not any(differences)})


def main():
    parser = comparison.parser(__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=12, help="models of each kind")
    parser.add_argument("--run-only", action="store_true", help="do not write the models again")
    args = parser.parse_args()
    rows = comparison.Rows()
    for number, (name, make) in enumerate(CASES.items()):
        if args.only not in name:
            continue
        faults = []
        with tempfile.TemporaryDirectory() as folder:
            for i in range(args.count):
                model = make(Model(np.random.default_rng([args.seed, number, i])))
                try:
                    text = compare(args.edgecompile, model.builder.finish(), model.inputs, len(model.builder.outputs), folder,
                                   name not in NOT_WRITTEN_AGAIN and not args.run_only)
                except (RuntimeError, ValueError) as error:
                    text = str(error)[:200]
                if text:
                    faults.append(f"{i}: {text}")
        rows.add({"case": name, "models": args.count, "different": faults, "ok": not faults})
    if "EC_MICRO_MODELS" in os.environ and not args.only:
        whole_models(args.edgecompile, os.environ["EC_MICRO_MODELS"], rows, np.random.default_rng(args.seed), not args.run_only)
    return rows.finish(args.out, "micro_check.json")


if __name__ == "__main__":
    sys.exit(main())
