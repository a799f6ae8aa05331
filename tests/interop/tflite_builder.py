"""Writes TFLite files tensor by tensor and operator by operator, without TensorFlow.

Tables are dicts {field number: (kind, value)}; the numbers are those of the file format, as
src/formats/tflite/schema.fbs lists them.
"""
import flatbuffers
import numpy as np

TYPES = {np.dtype(np.float32): 0, np.dtype(np.float16): 1, np.dtype(np.int32): 2, np.dtype(np.uint8): 3,
         np.dtype(np.int64): 4, np.dtype(np.bool_): 6, np.dtype(np.int16): 7, np.dtype(np.complex64): 8, np.dtype(np.int8): 9,
         np.dtype(np.uint64): 12, np.dtype(np.uint32): 15}

# Operator: (code, number of the option table or 0, kinds of its fields in order)
OPERATORS = {
    "ADD": (0, 11, ["i8", "bool"]), "AVERAGE_POOL_2D": (1, 5, ["i8", "i32", "i32", "i32", "i32", "i8"]),
    "CONCATENATION": (2, 10, ["i32", "i8"]), "CONV_2D": (3, 1, ["i8", "i32", "i32", "i8", "i32", "i32", "i8"]),
    "DEPTHWISE_CONV_2D": (4, 2, ["i8", "i32", "i32", "i32", "i8", "i32", "i32"]), "DEPTH_TO_SPACE": (5, 94, ["i32"]),
    "DEQUANTIZE": (6, 38, []), "FULLY_CONNECTED": (9, 8, ["i8", "i8", "bool", "bool", "i8"]),
    "L2_NORMALIZATION": (11, 12, ["i8"]), "L2_POOL_2D": (12, 5, ["i8", "i32", "i32", "i32", "i32", "i8"]),
    "LOGISTIC": (14, 0, []), "MAX_POOL_2D": (17, 5, ["i8", "i32", "i32", "i32", "i32", "i8"]), "MUL": (18, 21, ["i8"]),
    "RELU": (19, 0, []), "RELU_N1_TO_1": (20, 0, []), "RELU6": (21, 0, []), "RESHAPE": (22, 17, ["[i32]"]),
    "RESIZE_BILINEAR": (23, 15, ["skip", "skip", "bool", "bool"]), "RNN": (24, 7, ["i8", "bool"]), "SOFTMAX": (25, 9, ["f32"]),
    "SPACE_TO_DEPTH": (26, 19, ["i32"]), "SVDF": (27, 6, ["i32", "i8", "bool"]), "TANH": (28, 0, []), "PAD": (34, 22, []),
    "UNIDIRECTIONAL_SEQUENCE_RNN": (35, 31, ["bool", "i8", "bool"]), "GATHER": (36, 23, ["i32", "i32"]),
    "BATCH_TO_SPACE_ND": (37, 24, []), "SPACE_TO_BATCH_ND": (38, 25, []), "TRANSPOSE": (39, 26, []), "MEAN": (40, 27, ["bool"]),
    "SUB": (41, 28, ["i8", "bool"]), "DIV": (42, 29, ["i8"]),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (44, 71, ["i8", "f32", "f32", "bool", "bool", "bool"]),
    "STRIDED_SLICE": (45, 32, ["i32", "i32", "i32", "i32", "i32", "bool"]), "EXP": (47, 33, []), "SPLIT": (49, 35, ["i32"]),
    "LOG_SOFTMAX": (50, 36, []), "CAST": (53, 37, ["i8", "i8"]), "PRELU": (54, 0, []), "MAXIMUM": (55, 39, []),
    "ARG_MAX": (56, 40, ["i8"]), "MINIMUM": (57, 39, []), "LESS": (58, 41, []), "NEG": (59, 42, []), "PADV2": (60, 43, []),
    "GREATER": (61, 44, []), "GREATER_EQUAL": (62, 45, []), "LESS_EQUAL": (63, 46, []), "SELECT": (64, 47, []),
    "SLICE": (65, 48, []), "SIN": (66, 0, []), "TRANSPOSE_CONV": (67, 49, ["i8", "i32", "i32", "i8", "i8"]), "TILE": (69, 51, []),
    "EQUAL": (71, 53, []), "NOT_EQUAL": (72, 54, []), "LOG": (73, 0, []), "SUM": (74, 27, ["bool"]), "SQRT": (75, 0, []),
    "RSQRT": (76, 0, []), "POW": (78, 56, []), "ARG_MIN": (79, 57, ["i8"]), "FAKE_QUANT": (80, 58, ["f32", "f32", "i32", "bool"]),
    "REDUCE_PROD": (81, 27, ["bool"]), "REDUCE_MAX": (82, 27, ["bool"]), "PACK": (83, 59, ["i32", "i32"]),
    "ONE_HOT": (85, 61, ["i32"]), "UNPACK": (88, 64, ["i32", "i32"]), "REDUCE_MIN": (89, 27, ["bool"]),
    "FLOOR_DIV": (90, 65, []), "SQUARE": (92, 66, []), "FLOOR_MOD": (95, 72, []),
    "RFFT2D": (131, 0, []), "IMAG": (133, 0, []), "REAL": (134, 0, []), "COMPLEX_ABS": (135, 0, []),
    "SQUEEZE": (43, 30, ["[i32]"]), "EXPAND_DIMS": (70, 52, []), "SHAPE": (77, 55, ["i8"]), "CUSTOM": (32, 0, []),
    "RESIZE_NEAREST_NEIGHBOR": (97, 74, ["bool", "bool"]), "LEAKY_RELU": (98, 75, ["f32"]),
    "SQUARED_DIFFERENCE": (99, 76, []), "MIRROR_PAD": (100, 77, ["i8"]), "ABS": (101, 78, []), "REVERSE_V2": (105, 81, []),
    "ELU": (111, 0, []), "QUANTIZE": (114, 89, []), "HARD_SWISH": (117, 91, []), "SELECT_V2": (123, 98, []),
    "BATCH_MATMUL": (126, 101, ["bool", "bool", "bool"]), "CUMSUM": (128, 102, ["bool", "bool"]), "GELU": (150, 116, ["bool"]),
    "DYNAMIC_UPDATE_SLICE": (151, 117, []), "RELU_0_TO_1": (152, 0, []), "ATAN2": (156, 122, []),
}


class Quant:
    """Scales and zero points; several belong to an axis."""

    def __init__(self, scale, zero_point=0, axis=0):
        self.scale = np.atleast_1d(np.asarray(scale, np.float32))
        self.zero_point = np.broadcast_to(np.asarray(zero_point, np.int64), self.scale.shape)
        self.axis = axis


def _vector(b, kind, values):
    if kind == "[u8]":
        return b.CreateByteVector(bytes(values))
    return b.CreateNumpyVector(np.asarray(values, {"[i32]": np.int32, "[f32]": np.float32, "[i64]": np.int64}[kind]))


def write_table(b, fields):
    ready = {}
    for slot, (kind, value) in fields.items():
        if kind == "str":
            ready[slot] = b.CreateString(value)
        elif kind in ("[i32]", "[f32]", "[i64]", "[u8]"):
            ready[slot] = _vector(b, kind, value)
        elif kind == "table":
            ready[slot] = write_table(b, value)
        elif kind == "[table]":
            offsets = [write_table(b, t) for t in value]
            b.StartVector(4, len(offsets), 4)
            for offset in reversed(offsets):
                b.PrependUOffsetTRelative(offset)
            ready[slot] = b.EndVector()
    b.StartObject(max(fields, default=-1) + 1)
    prepend = {"i8": b.PrependInt8, "i32": b.PrependInt32, "u32": b.PrependUint32, "f32": b.PrependFloat32,
               "bool": b.PrependBool, "u8": b.PrependUint8}
    for slot, (kind, value) in fields.items():
        if slot in ready:
            b.PrependUOffsetTRelative(ready[slot])
        else:
            prepend[kind](value)
        b.Slot(slot)
    return b.EndObject()


class ModelBuilder:
    def __init__(self):
        self.tensors, self.buffers, self.operators, self.codes = [], [{}], [], {}
        self.inputs, self.outputs = [], []

    def tensor(self, shape, dtype, quant=None, data=None, variable=False, name=None):
        fields = {0: ("[i32]", list(shape)), 1: ("i8", TYPES[np.dtype(dtype)]), 2: ("u32", 0),
                  3: ("str", name or f"t{len(self.tensors)}")}
        if quant is not None:
            fields[4] = ("table", {2: ("[f32]", quant.scale), 3: ("[i64]", quant.zero_point), 6: ("i32", quant.axis)})
        if data is not None:
            fields[2] = ("u32", len(self.buffers))
            self.buffers.append({0: ("[u8]", np.ascontiguousarray(data, dtype).tobytes())})
        if variable:
            fields[5] = ("bool", True)
        self.tensors.append(fields)
        return len(self.tensors) - 1

    def input(self, shape, dtype, quant=None):
        self.inputs.append(self.tensor(shape, dtype, quant))
        return self.inputs[-1]

    def const(self, data, quant=None):
        data = np.asarray(data)
        return self.tensor(data.shape, data.dtype, quant, data)

    def output(self, shape, dtype, quant=None):
        self.outputs.append(self.tensor(shape, dtype, quant))
        return self.outputs[-1]

    def custom(self, code, inputs, outputs, options, version=1):
        """An operator of another program; its options are bytes."""
        index = self.codes.setdefault((OPERATORS["CUSTOM"][0], code, version), len(self.codes))
        self.operators.append({0: ("u32", index), 1: ("[i32]", inputs), 2: ("[i32]", outputs), 5: ("[u8]", options)})

    def op(self, name, inputs, outputs, options=(), intermediates=()):
        code, table, kinds = OPERATORS[name]
        index = self.codes.setdefault((code, None, 1), len(self.codes))
        fields = {0: ("u32", index), 1: ("[i32]", inputs), 2: ("[i32]", outputs)}
        if table:
            values = {i: (kind, value) for i, (kind, value) in enumerate(zip(kinds, options)) if kind != "skip"}
            fields[3], fields[4] = ("u8", table), ("table", values)
        if intermediates:
            fields[8] = ("[i32]", list(intermediates))
        self.operators.append(fields)

    def finish(self):
        codes = [{0: ("i8", min(code, 127)), 2: ("i32", version), 3: ("i32", code)} | ({1: ("str", custom)} if custom else {})
                 for code, custom, version in self.codes]
        graph = {0: ("[table]", self.tensors), 1: ("[i32]", self.inputs), 2: ("[i32]", self.outputs),
                 3: ("[table]", self.operators), 4: ("str", "main")}
        model = {0: ("u32", 3), 1: ("[table]", codes), 2: ("[table]", [graph]), 3: ("str", "op sweep"),
                 4: ("[table]", self.buffers)}
        b = flatbuffers.Builder(1 << 16)
        b.Finish(write_table(b, model), file_identifier=b"TFL3")
        return bytes(b.Output())
