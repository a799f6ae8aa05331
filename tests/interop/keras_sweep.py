#!/usr/bin/env python3
"""Every layer class of Keras with its arguments, and the operations of keras.ops, against Keras.

Each case is a small model with random weights. Keras runs it, saves it as .keras or .h5, and the program has to give the
same outputs, or refuse the file by the name of the layer. Needs TensorFlow with Keras 3 and the Python package. Outcomes:
ok, wrong (results), refused (by name), failed (any other error of ours), crashed, keras (Keras itself has no such form).
usage: keras_sweep.py [--only TEXT] [--list] [--keep DIR] [--shard I/N]
"""
import argparse
import collections
import itertools
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np  # noqa: E402

TOLERANCE = 1e-4  # of the largest output


class Case:
    """`exact`: the outputs without TensorFlow's own error, where that is larger than the tolerance."""

    def __init__(self, name, inputs, build, formats=("keras", "h5"), refused=False, exact=None):
        self.name, self.inputs, self.build, self.formats, self.refused, self.exact = name, inputs, build, formats, refused, exact


def grid(**options):
    keys = list(options)
    for values in itertools.product(*(options[k] for k in keys)):
        yield dict(zip(keys, values))


def label(options):
    return ",".join(f"{k}={v}" for k, v in options.items())


def exact_bicubic(x, height, width):
    import tensorflow as tf

    scale = np.float32([height / x.shape[1], width / x.shape[2]])
    return tf.raw_ops.ScaleAndTranslate(images=x, size=[height, width], scale=scale, translation=np.float32([0, 0]),
                                        kernel_type="keyscubic", antialias=False).numpy()


def layer_cases(keras):
    L = keras.layers
    cases = []

    def add(cls, shape, dtype="float32", formats=("keras", "h5"), call=None, **options):
        cases.append(Case(f"{cls.__name__}({label(options)}) on {list(shape)}", [(shape, dtype)],
                          lambda x, o=options, c=call: (c(cls(**o), x[0]) if c else cls(**o)(x[0])), formats))

    def many(cls, count, shape, refused=False, **options):
        cases.append(Case(f"{cls.__name__}({label(options)}) x{count} on {list(shape)}", [(shape, "float32")] * count,
                          lambda x, o=options: cls(**o)(list(x)), refused=refused))

    spatial = {1: (9,), 2: (9, 8), 3: (6, 5, 7)}
    # Convolutions
    for n, cls in ((1, L.Conv1D), (2, L.Conv2D), (3, L.Conv3D)):
        for o in grid(kernel_size=(1, 2, 3), strides=(1, 2), padding=("valid", "same"), use_bias=(True, False)):
            add(cls, spatial[n] + (4,), filters=6, **o)
        for o in grid(kernel_size=(2, 3), dilation_rate=(2, 3) if n < 3 else (2,), padding=("valid", "same")):
            add(cls, spatial[n] + (4,), filters=4, **o)
        for o in grid(groups=(2, 4), padding=("valid", "same"), strides=(1, 2)):
            add(cls, spatial[n] + (4,), filters=8, kernel_size=2, **o)
        for activation in ("relu", "tanh", "swish"):
            add(cls, spatial[n] + (3,), filters=4, kernel_size=2, activation=activation)
        if n < 3:
            for o in grid(padding=("valid", "same"), strides=(1, 2)):
                add(cls, (3,) + spatial[n], filters=4, kernel_size=3, data_format="channels_last", **o)
    for o in grid(kernel_size=(2, 3), dilation_rate=(1, 2), strides=(1,)):
        add(L.Conv1D, (9, 4), filters=5, padding="causal", **o)
    for o in grid(kernel_size=((3, 2), (1, 3)), strides=((1, 2), (2, 1)), padding=("valid", "same")):
        add(L.Conv2D, (9, 8, 3), filters=4, **o)
    for n, cls in ((1, L.DepthwiseConv1D), (2, L.DepthwiseConv2D)):
        for o in grid(kernel_size=(2, 3), strides=(1, 2), padding=("valid", "same"), depth_multiplier=(1, 2),
                      use_bias=(True, False)):
            add(cls, spatial[n] + (4,), **o)
        for o in grid(dilation_rate=(2,), padding=("valid", "same")):
            add(cls, spatial[n] + (4,), kernel_size=3, **o)
    for n, cls in ((1, L.SeparableConv1D), (2, L.SeparableConv2D)):
        for o in grid(kernel_size=(2, 3), strides=(1, 2), padding=("valid", "same"), depth_multiplier=(1, 2),
                      use_bias=(True, False)):
            add(cls, spatial[n] + (3,), filters=5, **o)
        add(cls, spatial[n] + (3,), filters=5, kernel_size=3, dilation_rate=2, activation="relu")
    for n, cls in ((1, L.Conv1DTranspose), (2, L.Conv2DTranspose), (3, L.Conv3DTranspose)):
        small = tuple(min(s, 5) for s in spatial[n])
        for o in grid(kernel_size=(1, 2, 3, 4), strides=(1, 2, 3), padding=("valid", "same"), use_bias=(True, False)):
            add(cls, small + (3,), filters=4, **o)
        for o in grid(kernel_size=(3,), output_padding=(0, 1), padding=("valid", "same")):
            add(cls, small + (3,), filters=4, strides=2, **o)
    # Pools
    for n in (1, 2, 3):
        for kind in ("MaxPooling", "AveragePooling"):
            cls = getattr(L, f"{kind}{n}D")
            for o in grid(pool_size=(2, 3), strides=(None, 1, 2), padding=("valid", "same")):
                add(cls, spatial[n] + (3,), **o)
        for kind in ("GlobalMaxPooling", "GlobalAveragePooling"):
            cls = getattr(L, f"{kind}{n}D")
            for o in grid(keepdims=(True, False), data_format=("channels_last", "channels_first")):
                add(cls, spatial[n] + (3,), **o)
        for kind in ("AdaptiveMaxPooling", "AdaptiveAveragePooling"):
            if not hasattr(L, f"{kind}{n}D"):
                continue
            for size in (1, 2, 4):
                add(getattr(L, f"{kind}{n}D"), spatial[n] + (3,), output_size=size)
    # Dense and embeddings
    for o in grid(units=(1, 5), use_bias=(True, False), activation=(None, "relu", "softmax")):
        for shape in ((7,), (3, 7), (2, 3, 7)):
            add(L.Dense, shape, **o)
    for equation, out, bias, shape in (("ab,bc->ac", 5, "c", (7,)), ("abc,cd->abd", (None, 5), "d", (4, 7)),
                                       ("...x,xy->...y", 5, "y", (4, 7)), ("abc,cde->abde", (None, 2, 3), "de", (4, 6)),
                                       ("abc,bde->acde", (6, 2, 3), None, (4, 6)), ("abc,cd->adb", (5, None), None, (4, 7))):
        for activation in (None, "relu"):
            add(L.EinsumDense, shape, equation=equation, output_shape=out, bias_axes=bias, activation=activation)
    for o in grid(input_dim=(11,), output_dim=(1, 6), mask_zero=(False, True)):
        for shape in ((), (5,), (3, 4)):
            add(L.Embedding, shape, "int32", **o)
    # Activations
    names = ["linear", "relu", "relu6", "sigmoid", "tanh", "softmax", "log_softmax", "softplus", "softsign", "swish", "silu",
             "gelu", "elu", "celu", "selu", "exponential", "leaky_relu", "mish", "hard_sigmoid", "hard_silu", "hard_swish",
             "log_sigmoid", "hard_tanh", "hard_shrink", "soft_shrink", "tanh_shrink", "squareplus", "glu", "sparsemax",
             "sparse_plus", "sparse_sigmoid"]
    for name in names:
        for shape in ((6,), (3, 4), (4, 4, 2)):
            add(L.Activation, shape, activation=name)
        if name != "glu":
            add(L.Dense, (6,), units=4, activation=name)
            add(L.Conv2D, (5, 5, 2), filters=4, kernel_size=2, activation=name)
    for o in grid(max_value=(None, 1.0, 6.0), negative_slope=(0.0, 0.2), threshold=(0.0, 0.5)):
        add(L.ReLU, (5, 6), **o)
    for slope in (0.0, 0.1, 0.3):
        add(L.LeakyReLU, (5, 6), negative_slope=slope)
        add(L.ELU, (5, 6), alpha=slope + 0.5)
    for axes in (None, [1], [2], [1, 2]):
        add(L.PReLU, (5, 6, 3), shared_axes=axes, alpha_initializer="random_normal")
    for axis in (-1, 1, 2, (1, 2), (-1,)):
        add(L.Softmax, (4, 5), axis=axis)
    # Normalisation
    for o in grid(axis=(-1, 1, 2), center=(True, False), scale=(True, False), epsilon=(1e-3, 1e-5)):
        add(L.BatchNormalization, (6, 5, 4), **o)
    for shape in ((7,), (4, 7), (3, 4, 5, 2)):
        add(L.BatchNormalization, shape)
    for o in grid(axis=(-1, 1, (1, 2), (2, 3), (1, 2, 3)), center=(True, False), scale=(True, False)):
        add(L.LayerNormalization, (6, 5, 4), **o)
    for o in grid(groups=(1, 2, 4, -1), axis=(-1, 1, 2), center=(True, False), scale=(True, False)):
        add(L.GroupNormalization, (4, 4, 4), **o)
    for axis in (-1, 2, (2, 3)):
        add(L.RMSNormalization, (6, 5, 5), axis=axis)
        add(L.UnitNormalization, (6, 5, 4), axis=axis)
    for inner in (lambda: L.Dense(4), lambda: L.Conv1D(4, 2)):
        cases.append(Case("SpectralNormalization", [((5, 6), "float32")],
                          lambda x, i=inner: L.SpectralNormalization(i())(x[0])))
    # Merging
    for cls in (L.Add, L.Multiply, L.Average, L.Maximum, L.Minimum):
        for count in (2, 3, 4):
            for shape in ((5,), (4, 5), (3, 4, 5)):
                many(cls, count, shape)
        cases.append(Case(f"{cls.__name__} ranks", [((4, 5), "float32"), ((5,), "float32")],
                          lambda x, k=cls: k()(list(x))))
        cases.append(Case(f"{cls.__name__} broadcast", [((4, 5), "float32"), ((1, 5), "float32")],
                          lambda x, k=cls: k()(list(x))))
    for shape in ((5,), (4, 5), (3, 4, 5)):
        many(L.Subtract, 2, shape)
        for axis in (-1, 1):
            for count in (2, 3):
                many(L.Concatenate, count, shape, axis=axis)
    for axes, a, b in ((1, (6,), (6,)), (-1, (6,), (6,)), (1, (6, 3), (6, 2)), (2, (3, 6), (4, 6)), ((1, 2), (6, 3), (4, 6)),
                       ((2, 1), (3, 6), (6, 4)), (-1, (3, 6), (6,)), (1, (6,), (6, 4)), ((3, 2), (2, 3, 6), (5, 6)),
                       ((1, 1), (6, 2, 3), (6, 4))):
        for normalize in (False, True):
            cases.append(Case(f"Dot({axes},{normalize}) {a} {b}", [(a, "float32"), (b, "float32")],
                              lambda x, o=(axes, normalize): L.Dot(axes=o[0], normalize=o[1])(list(x))))
    # Reshaping
    for fmt in ("channels_last", "channels_first"):
        for shape in ((), (6,), (3, 4), (3, 4, 5)):
            add(L.Flatten, shape, data_format=fmt)
    for target, shape in (((12,), (3, 4)), ((2, 6), (3, 4)), ((-1, 2), (3, 4)), ((4, -1), (3, 4)), ((-1,), (3, 4)),
                          ((2, 2, 3), (12,)), ((1, 12), (3, 4))):
        add(L.Reshape, shape, target_shape=target)
    for dims in ((2, 1, 3), (3, 1, 2), (1, 3, 2), (3, 2, 1)):
        add(L.Permute, (3, 4, 5), dims=dims)
    for n in (1, 3):
        add(L.RepeatVector, (5,), n=n)
    add(L.ZeroPadding1D, (5, 3), padding=2)
    add(L.ZeroPadding1D, (5, 3), padding=(1, 2))
    add(L.Cropping1D, (6, 3), cropping=1)
    add(L.Cropping1D, (6, 3), cropping=(1, 2))
    for p in (1, (1, 2), ((1, 0), (2, 1)), ((0, 0), (0, 3))):
        for fmt in ("channels_last", "channels_first"):
            add(L.ZeroPadding2D, (6, 7, 5), padding=p, data_format=fmt)
            add(L.Cropping2D, (6, 7, 5), cropping=p, data_format=fmt)
    for p in (1, (1, 2, 1), ((1, 0), (2, 1), (0, 1))):
        for fmt in ("channels_last", "channels_first"):
            add(L.ZeroPadding3D, (5, 6, 5, 4), padding=p, data_format=fmt)
            add(L.Cropping3D, (5, 6, 5, 4), cropping=p, data_format=fmt)
    for size in (1, 2, 3):
        add(L.UpSampling1D, (5, 3), size=size)
        for fmt in ("channels_last", "channels_first"):
            add(L.UpSampling2D, (4, 5, 3), size=size, data_format=fmt)
            add(L.UpSampling3D, (3, 2, 3, 2), size=size, data_format=fmt)
    for o in grid(size=((2, 2), (2, 3)), interpolation=("bilinear", "bicubic", "nearest")):
        add(L.UpSampling2D, (4, 5, 3), **o)
        if o["interpolation"] == "bicubic":
            cases[-1].exact = lambda data, s=o["size"]: [exact_bicubic(data[0], 4 * s[0], 5 * s[1])]
    for o in grid(size=(2, 3), interpolation=("lanczos3", "lanczos5"), data_format=("channels_last", "channels_first")):
        add(L.UpSampling2D, (4, 5, 3), **o)
    # Regularisation and training alone
    for cls, o, shape in ((L.Dropout, dict(rate=.5), (5,)), (L.SpatialDropout1D, dict(rate=.5), (5, 3)),
                          (L.SpatialDropout2D, dict(rate=.5), (5, 4, 3)), (L.SpatialDropout3D, dict(rate=.5), (3, 5, 4, 3)),
                          (L.GaussianDropout, dict(rate=.5), (5,)), (L.GaussianNoise, dict(stddev=.5), (5,)),
                          (L.AlphaDropout, dict(rate=.5), (5,)), (L.ActivityRegularization, dict(l1=.1), (5,)),
                          (L.Identity, {}, (5,))):
        add(cls, shape, **o)
    for name, o in (("RandomFlip", {}), ("RandomRotation", dict(factor=.2)), ("RandomZoom", dict(height_factor=.2)),
                    ("RandomTranslation", dict(height_factor=.2, width_factor=.2)), ("RandomContrast", dict(factor=.2)),
                    ("RandomBrightness", dict(factor=.2)), ("RandomShear", dict(x_factor=.2)),
                    ("RandomSharpness", dict(factor=.2)), ("RandomSaturation", dict(factor=.2)), ("RandomHue", dict(factor=.2)),
                    ("RandomPosterization", dict(factor=4)), ("RandomGrayscale", {}), ("RandomErasing", {}),
                    ("RandomInvert", {}), ("RandomPerspective", {}), ("RandomGaussianBlur", {}), ("RandomElasticTransform", {}),
                    ("RandomColorJitter", dict(value_range=(0, 1))), ("RandomColorDegeneration", dict(factor=.2)),
                    ("RandomCrop", dict(height=6, width=5)), ("AugMix", {}), ("RandAugment", {}), ("CutMix", {}), ("MixUp", {}),
                    ("AutoContrast", {}), ("Equalization", {}), ("Solarization", {})):
        if hasattr(L, name):
            add(getattr(L, name), (8, 7, 3), formats=("keras",), **o)
    # Preprocessing
    for o in grid(scale=(1 / 255, 2.0, [1.0, 2.0, 3.0]), offset=(0.0, -1.0, [0.5, 0.0, 1.0])):
        add(L.Rescaling, (4, 5, 3), **o)
        add(L.Rescaling, (4, 5, 3), "uint8", **o)
    for o in grid(invert=(False, True), axis=(-1, None, (1, 3))):
        def build(x, o=o):
            layer = L.Normalization(**o)
            layer.adapt(np.random.RandomState(3).normal(1, 2, (16, 4, 5, 3)).astype(np.float32))
            return layer(x[0])
        cases.append(Case(f"Normalization adapted {label(o)}", [((4, 5, 3), "float32")], build))
    add(L.Normalization, (4, 3), mean=[0.5, 1.0, 2.0], variance=[1.0, 4.0, 0.25])
    add(L.Normalization, (4, 3), mean=0.5, variance=2.0, axis=None)
    for o in grid(height=(4, 12), width=(5, 13), interpolation=("bilinear", "nearest", "bicubic")):
        add(L.Resizing, (8, 9, 3), **o)
        if o["interpolation"] == "bicubic":
            # TensorFlow looks the kernel up in a table of 1,024 places. Its other operator computes it.
            cases[-1].exact = lambda data, o=o: [exact_bicubic(data[0], o["height"], o["width"])]
    for o in grid(height=(4, 12), width=(5, 13)):
        add(L.Resizing, (8, 9, 3), crop_to_aspect_ratio=True, **o)
        add(L.Resizing, (8, 9, 3), pad_to_aspect_ratio=True, **o)
        add(L.Resizing, (8, 9, 3), antialias=True, **o)
    for o in grid(height=(4, 12), width=(5, 13), interpolation=("lanczos3", "lanczos5"), antialias=(False, True)):
        add(L.Resizing, (8, 9, 3), **o)
    for mode in ("log", "magnitude", "psd", "real", "imag", "angle", "stft"):
        add(L.STFTSpectrogram, (100, 2), mode=mode, frame_length=16, frame_step=6, expand_dims=mode in ("log", "real"))
    for o in grid(window=("hann", "blackman", None), scaling=("density", "spectrum", None), padding=("valid", "same")):
        add(L.STFTSpectrogram, (60, 1), mode="magnitude", frame_length=12, frame_step=5, fft_length=16, **o)
    for o in grid(window=("hann", "hamming"), power_to_db=(True, False), shape=((400,), (2, 400))):
        add(L.MelSpectrogram, o.pop("shape"), fft_length=64, sequence_stride=32, num_mel_bins=10, **o)
    add(L.MelSpectrogram, (400,), fft_length=64, sequence_length=40, sequence_stride=20, num_mel_bins=8, mag_exp=1.0, min_freq=100.0,
        max_freq=3000.0, sampling_rate=8000)
    for o in grid(height=(4, 8, 12), width=(5, 9, 13)):
        add(L.CenterCrop, (8, 9, 3), **o)
    for mode in ("one_hot", "multi_hot", "count"):
        add(L.CategoryEncoding, (1,) if mode == "one_hot" else (4,), "int32", formats=("keras",), num_tokens=6,
            output_mode=mode)
    for mode in ("int", "one_hot", "multi_hot", "count"):
        add(L.Discretization, (1,) if mode == "one_hot" else (4,), formats=("keras",), bin_boundaries=[-1.0, 0.0, 0.5],
            output_mode=mode)
    # Recurrent
    for cls in (L.SimpleRNN, L.LSTM, L.GRU):
        for o in grid(return_sequences=(False, True), go_backwards=(False, True), use_bias=(True, False)):
            add(cls, (6, 4), units=5, **o)
        for activation in ("relu", "linear", "elu", "softsign", "swish", "hard_sigmoid", "gelu"):
            add(cls, (5, 4), units=3, activation=activation)
        if cls is not L.SimpleRNN:
            for activation in ("hard_sigmoid", "tanh", "relu", "swish"):
                add(cls, (5, 4), units=3, recurrent_activation=activation, return_sequences=True)
        for o in grid(return_sequences=(False, True)):
            add(cls, (6, 4), units=5, return_state=True, **o)
            add(cls, (6, 4), units=5, unroll=True, **o)
        for o in grid(merge_mode=("concat", "sum", "mul", "ave", None), return_sequences=(False, True)):
            cases.append(Case(f"Bidirectional({cls.__name__},{label(o)})", [((6, 4), "float32")],
                              lambda x, o=dict(o), k=cls: L.Bidirectional(
                                  k(3, return_sequences=o["return_sequences"]), merge_mode=o["merge_mode"])(x[0])))
        for sequences in (False, True):
            for zero in (False, True):
                cases.append(Case(f"Masking+{cls.__name__}({sequences},{zero})", [((6, 4), "masked")],
                                  lambda x, s=sequences, z=zero, k=cls: k(
                                      3, return_sequences=s, zero_output_for_mask=z)(L.Masking()(x[0])), ("keras",)))
            cases.append(Case(f"Embedding mask+{cls.__name__}({sequences})", [((6,), "int32")],
                              lambda x, s=sequences, k=cls: k(3, return_sequences=s)(
                                  L.Embedding(11, 4, mask_zero=True)(x[0])), ("keras",)))
            cases.append(Case(f"mask+Bidirectional {cls.__name__}({sequences})", [((6,), "int32")],
                              lambda x, s=sequences, k=cls: L.Bidirectional(k(3, return_sequences=s))(
                                  L.Embedding(11, 4, mask_zero=True)(x[0])), ("keras",)))
        states = 2 if cls is L.LSTM else 1
        cases.append(Case(f"{cls.__name__} initial state", [((6, 4), "float32")] + [((3,), "float32")] * states,
                          lambda x, k=cls: k(3, return_sequences=True)(x[0], initial_state=list(x[1:])), ("keras",)))
        cell = {L.SimpleRNN: L.SimpleRNNCell, L.LSTM: L.LSTMCell, L.GRU: L.GRUCell}[cls]
        for sequences in (False, True):
            for backwards in (False, True):
                cases.append(Case(f"RNN({cell.__name__},{sequences},{backwards})", [((6, 4), "float32")],
                                  lambda x, s=sequences, b=backwards, k=cell: L.RNN(
                                      k(3), return_sequences=s, go_backwards=b)(x[0])))
                cases.append(Case(f"RNN(stack {cell.__name__},{sequences},{backwards})", [((6, 4), "float32")],
                                  lambda x, s=sequences, b=backwards, k=cell: L.RNN(
                                      [k(3), k(5)], return_sequences=s, go_backwards=b)(x[0])))
    for o in grid(reset_after=(True, False), return_sequences=(True, False), use_bias=(True, False)):
        add(L.GRU, (5, 4), units=3, **o)
    for n, cls in ((1, L.ConvLSTM1D), (2, L.ConvLSTM2D), (3, L.ConvLSTM3D)):
        shape = (3,) + (5, 4, 3)[:n] + (2,)
        for o in grid(padding=("valid", "same"), return_sequences=(True, False), strides=(1, 2) if n < 3 else (1,)):
            add(cls, shape, filters=3, kernel_size=2, **o)
        add(cls, shape, filters=3, kernel_size=2, recurrent_activation="hard_sigmoid", use_bias=False, go_backwards=True)
    for inner, shape in ((lambda: L.Dense(3), (4, 5)), (lambda: L.Conv2D(3, 2), (4, 6, 5, 2)), (lambda: L.Flatten(), (4, 3, 2)),
                         (lambda: L.BatchNormalization(), (4, 3, 2)), (lambda: L.MaxPooling2D(), (3, 4, 4, 2)),
                         (lambda: L.LSTM(3), (3, 4, 5))):
        cases.append(Case(f"TimeDistributed({inner().__class__.__name__})", [(shape, "float32")],
                          lambda x, i=inner: L.TimeDistributed(i())(x[0])))
    # Attention
    for o in grid(num_heads=(1, 2), key_dim=(3,), value_dim=(None, 4), use_bias=(True, False), output_shape=(None, 5)):
        cases.append(Case(f"MHA({label(o)})", [((5, 6), "float32"), ((7, 6), "float32")],
                          lambda x, o=dict(o): L.MultiHeadAttention(**o)(x[0], x[1]), ("keras", "h5")))
    for causal in (False, True):
        cases.append(Case(f"MHA self causal={causal}", [((5, 6), "float32")],
                          lambda x, v=causal: L.MultiHeadAttention(2, 3)(x[0], x[0], use_causal_mask=v), ("keras",)))
        cases.append(Case(f"MHA scores causal={causal}", [((5, 6), "float32")], lambda x, v=causal: L.MultiHeadAttention(2, 3)(
            x[0], x[0], use_causal_mask=v, return_attention_scores=True), ("keras",)))
        for mode in ("dot", "concat"):
            for scale in (False, True):
                cases.append(Case(f"Attention({mode},{scale},{causal})", [((5, 6), "float32"), ((7, 6), "float32")],
                                  lambda x, m=mode, s=scale, v=causal: L.Attention(score_mode=m, use_scale=s)(
                                      list(x), use_causal_mask=v), ("keras",)))
        for scale in (False, True):
            cases.append(Case(f"AdditiveAttention({scale},{causal})", [((5, 6), "float32"), ((7, 6), "float32")],
                              lambda x, s=scale, v=causal: L.AdditiveAttention(use_scale=s)(list(x), use_causal_mask=v),
                              ("keras",)))
    cases.append(Case("MHA attention_mask", [((5, 6), "float32"), ((7, 6), "float32"), ((5, 7), "bool")],
                      lambda x: L.MultiHeadAttention(2, 3)(x[0], x[1], attention_mask=x[2]), ("keras",)))
    cases.append(Case("MHA key", [((5, 6), "float32"), ((7, 6), "float32"), ((7, 4), "float32")],
                      lambda x: L.MultiHeadAttention(2, 3)(x[0], x[1], x[2]), ("keras",)))
    cases.append(Case("MHA images", [((3, 4, 6), "float32")], lambda x: L.MultiHeadAttention(2, 3)(x[0], x[0]), ("keras",)))
    for heads, own in ((4, 2), (4, 1), (4, 4)):
        for bias in (True, False):
            cases.append(Case(f"GQA({heads},{own},{bias})", [((5, 6), "float32"), ((7, 6), "float32")],
                              lambda x, h=heads, k=own, b=bias: L.GroupQueryAttention(3, h, k, use_bias=b)(x[0], x[1]),
                              ("keras", "h5")))
    cases.append(Case("Embedding mask+MHA", [((6,), "int32")],
                      lambda x: (lambda e: L.MultiHeadAttention(2, 3)(e, e))(L.Embedding(11, 4, mask_zero=True)(x[0])),
                      ("keras",)))
    cases.append(Case("Embedding mask+GlobalAveragePooling1D", [((6,), "int32")],
                      lambda x: L.GlobalAveragePooling1D()(L.Embedding(11, 4, mask_zero=True)(x[0])), ("keras",)))
    cases.append(Case("Lambda", [((4,), "float32")], lambda x: L.Lambda(lambda v: v * 2)(x[0]), ("keras",), refused=True))
    return cases


def operation_cases(keras):
    K, cases = keras.ops, []

    def add(name, inputs, build):
        cases.append(Case("ops." + name, inputs, build, ("keras",)))

    f, i = ((4, 6), "float32"), ((4, 6), "int32")
    for name in ("absolute negative sign arctan arcsinh cos cosh sin sinh tan tanh exp exp2 expm1 square erf floor ceil "
                 "round trunc deg2rad rad2deg isfinite isinf isnan nan_to_num relu relu6 sigmoid sparse_sigmoid sparse_plus "
                 "softplus softsign silu log_sigmoid hard_sigmoid hard_silu selu tanh_shrink hard_tanh soft_shrink hard_shrink "
                 "squareplus leaky_relu elu celu gelu glu softmax log_softmax sparsemax ravel copy stop_gradient zeros_like "
                 "ones_like cbrt reciprocal").split():
        if not hasattr(K, name):
            continue
        for spec in (f, ((3, 2, 4), "float32")):
            add(f"{name} {spec[0]}", [spec], lambda x, n=name: getattr(K, n)(x[0]))
    for name in "log log1p log2 log10 sqrt rsqrt arccosh".split():
        add(name, [((4, 6), "positive")], lambda x, n=name: getattr(K, n)(x[0]))
    for name in "arccos arcsin arctanh".split():
        add(name, [((4, 6), "unit")], lambda x, n=name: getattr(K, n)(x[0]))
    for name in "add subtract multiply maximum minimum divide arctan2 logaddexp hypot equal not_equal greater greater_equal less less_equal divide_no_nan".split():
        if not hasattr(K, name):
            continue
        add(name, [f, f], lambda x, n=name: getattr(K, n)(x[0], x[1]))
        add(name + " broadcast", [f, ((1, 6), "float32")], lambda x, n=name: getattr(K, n)(x[0], x[1]))
        add(name + " number", [f], lambda x, n=name: getattr(K, n)(x[0], 0.5))
        add(name + " number first", [f], lambda x, n=name: getattr(K, n)(0.5, x[0]))
    for name in "add subtract multiply maximum minimum equal less mod floor_divide divide bitwise_and bitwise_or bitwise_xor".split():
        add(name + " int", [i, ((4, 6), "positive_int")], lambda x, n=name: getattr(K, n)(x[0], x[1]))
    add("power", [((4, 6), "positive"), f], lambda x: K.power(x[0], x[1]))
    add("power number", [f], lambda x: K.power(x[0], 2))
    add("mod", [f, ((4, 6), "positive")], lambda x: K.mod(x[0], x[1]))
    for name in "logical_and logical_or logical_xor".split():
        add(name, [((4, 6), "bool"), ((4, 6), "bool")], lambda x, n=name: getattr(K, n)(x[0], x[1]))
    add("logical_not", [((4, 6), "bool")], lambda x: K.logical_not(x[0]))
    for low, high in ((-0.5, 0.5), (None, 0.5), (-0.5, None)):
        if low is not None and high is not None:
            add(f"clip {low} {high}", [f], lambda x, a=low, b=high: K.clip(x[0], a, b))
    for name in "sum mean max min prod var std logsumexp ptp amax amin".split():
        if not hasattr(K, name):
            continue
        for axis in (None, 1, -1, (1, 2)):
            for keep in (False, True):
                add(f"{name} axis={axis} keepdims={keep}", [((3, 4, 5), "float32")],
                    lambda x, n=name, a=axis, k=keep: getattr(K, n)(x[0], axis=a, keepdims=k))
    for name in "all any".split():
        for axis in (None, 1, -1):
            add(f"{name} axis={axis}", [((4, 6), "bool")], lambda x, n=name, a=axis: getattr(K, n)(x[0], axis=a))
    for name in "argmax argmin".split():
        for axis in (None, 1, -1):
            for keep in (False, True):
                add(f"{name} axis={axis} {keep}", [f], lambda x, n=name, a=axis, k=keep: getattr(K, n)(x[0], axis=a, keepdims=k))
    for name in "cumsum cumprod sort argsort flip".split():
        for axis in (1, -1):
            add(f"{name} axis={axis}", [f], lambda x, n=name, a=axis: getattr(K, n)(x[0], axis=a))
    add("top_k", [f], lambda x: K.top_k(x[0], 3))
    add("count_nonzero", [i], lambda x: K.count_nonzero(x[0], axis=1))
    add("moments", [((3, 4, 5), "float32")], lambda x: K.moments(x[0], axes=[1]))
    add("average", [f], lambda x: K.average(x[0], axis=1))
    add("matmul", [((4, 6), "float32"), ((6, 3), "float32")], lambda x: K.matmul(x[0], x[1]))
    add("einsum", [((4, 6), "float32"), ((6, 3), "float32")], lambda x: K.einsum("bij,bjk->bik", x[0], x[1]))
    add("tensordot", [((4, 6), "float32")], lambda x: K.tensordot(x[0], np.ones((6, 2), np.float32), axes=1))
    for shape in ((-1, 24), (-1, 6, 4), (-1, 2, 12), (-1, 2, 3, 4)):
        add(f"reshape {shape}", [f], lambda x, s=shape: K.reshape(x[0], s))
    for axes in ((0, 2, 1), (2, 0, 1)):
        add(f"transpose {axes}", [f], lambda x, a=axes: K.transpose(x[0], a))
    add("swapaxes", [f], lambda x: K.swapaxes(x[0], 1, 2))
    add("moveaxis", [((3, 4, 5), "float32")], lambda x: K.moveaxis(x[0], 1, 3))
    for axis in (1, 2, -1, (1, 3)):
        add(f"expand_dims {axis}", [f], lambda x, a=axis: K.expand_dims(x[0], a))
    add("squeeze", [((4, 1, 6), "float32")], lambda x: K.squeeze(x[0], 2))
    for axis in (1, 2, -1):
        add(f"concatenate {axis}", [f, f], lambda x, a=axis: K.concatenate([x[0], x[1]], axis=a))
        add(f"stack {axis}", [f, f], lambda x, a=axis: K.stack([x[0], x[1]], axis=a))
        add(f"split {axis}", [f], lambda x, a=axis: K.split(x[0], 2, axis=a))
        add(f"repeat {axis}", [f], lambda x, a=axis: K.repeat(x[0], 3, axis=a))
        add(f"roll {axis}", [f], lambda x, a=axis: K.roll(x[0], 2, axis=a))
        add(f"take {axis}", [f], lambda x, a=axis: K.take(x[0], [1, 0, 2], axis=a))
    add("split places", [f], lambda x: K.split(x[0], [1, 4], axis=2))
    add("unstack", [f], lambda x: K.unstack(x[0], axis=1))
    add("tile", [f], lambda x: K.tile(x[0], (1, 2, 3)))
    for mode in ("constant", "reflect"):
        add(f"pad {mode}", [f], lambda x, m=mode: K.pad(x[0], ((0, 0), (1, 2), (2, 1)), mode=m))
    add("where", [((4, 6), "bool"), f, f], lambda x: K.where(x[0], x[1], x[2]))
    add("where number", [((4, 6), "bool"), f], lambda x: K.where(x[0], x[1], 0.0))
    for dtype in ("int32", "float32", "bool", "int64", "uint8"):
        add(f"cast {dtype}", [i], lambda x, d=dtype: K.cast(x[0], d))
    for text, key in (("[:, 1]", (slice(None), 1)), ("[:, -1]", (slice(None), -1)), ("[:, 1:3]", (slice(None), slice(1, 3))),
                      ("[..., 0]", (Ellipsis, 0)), ("[:, ::2]", (slice(None), slice(None, None, 2))),
                      ("[:, None]", (slice(None), None)), ("[..., ::-1]", (Ellipsis, slice(None, None, -1))),
                      ("[:, 1:, :-2]", (slice(None), slice(1, None), slice(None, -2)))):
        add("getitem " + text, [f], lambda x, k=key: x[0][k])
    add("operators", [f, f], lambda x: (x[0] + x[1]) * 2.0 - x[1] / 3.0)
    for approximate in (True, False):
        add(f"gelu {approximate}", [f], lambda x, a=approximate: K.gelu(x[0], approximate=a))
    for axis in (1, -1):
        add(f"softmax {axis}", [f], lambda x, a=axis: K.softmax(x[0], axis=a))
        add(f"normalize {axis}", [f], lambda x, a=axis: K.normalize(x[0], axis=a))
    add("one_hot", [((5,), "int32")], lambda x: K.one_hot(x[0], 11))
    add("layer_normalization", [f], lambda x: K.layer_normalization(x[0]))
    add("rms_normalization", [f], lambda x: K.rms_normalization(x[0]))
    for o in grid(padding=("valid", "same"), strides=(1, 2)):
        add(f"max_pool {label(o)}", [((6, 5, 3), "float32")], lambda x, o=dict(o): K.max_pool(x[0], 2, **o))
        add(f"average_pool {label(o)}", [((6, 5, 3), "float32")], lambda x, o=dict(o): K.average_pool(x[0], 2, **o))
    for mode in ("bilinear", "nearest"):
        add(f"image.resize {mode}", [((6, 5, 3), "float32")],
            lambda x, m=mode: K.image.resize(x[0], (9, 4), interpolation=m))
    add("image.rgb_to_grayscale", [((6, 5, 3), "float32")], lambda x: K.image.rgb_to_grayscale(x[0]))
    for causal in (False, True):
        add(f"dot_product_attention {causal}", [((5, 2, 3), "float32")] * 3,
            lambda x, v=causal: K.dot_product_attention(x[0], x[1], x[2], is_causal=v))
    return cases


def sample(random, shape, dtype, batch):
    size = (batch,) + tuple(shape)
    if dtype == "float32":
        return random.normal(0, 1, size).astype(np.float32)
    if dtype == "positive":
        return random.uniform(1.1, 3, size).astype(np.float32)
    if dtype == "unit":
        return random.uniform(-.9, .9, size).astype(np.float32)
    if dtype == "masked":
        x = random.normal(0, 1, size).astype(np.float32)
        for b in range(batch):
            x[b, random.randint(1, size[1]):] = 0
        x[0, 1] = 0
        return x
    if dtype == "bool":
        return random.uniform(0, 1, size) > .4
    if dtype == "uint8":
        return random.randint(0, 256, size).astype(np.uint8)
    if dtype == "positive_int":
        return random.randint(1, 9, size).astype(np.int32)
    return random.randint(0, 6, size).astype(np.int32)


KERAS_TYPES = {"positive": "float32", "unit": "float32", "masked": "float32", "positive_int": "int32"}


def run_case(keras, session_class, case, fmt, folder, before_ours, batch=2):
    """The outcome, with the largest difference relative to the outputs or a text that says what failed."""
    seed = zlib.crc32(case.name.encode())
    keras.utils.set_random_seed(seed % 2**31)
    random = np.random.RandomState(seed)
    inputs = [keras.Input(batch_shape=(batch,) + tuple(s), dtype=KERAS_TYPES.get(d, d), name=f"in{k}")
              for k, (s, d) in enumerate(case.inputs)]
    try:
        model = keras.Model(inputs, case.build(inputs))
        for weight in model.weights:
            value = random.normal(0, .5, weight.shape)
            if "variance" in weight.name:
                value = np.abs(value) + .3
            if not np.issubdtype(np.dtype(weight.dtype), np.floating) or "seed" in weight.name:
                continue
            weight.assign(value.astype(np.float32))
        for layer in model.layers:
            if isinstance(layer, keras.layers.Normalization):
                layer.finalize_state()
        data = [sample(random, s, d, batch) for s, d in case.inputs]
        wanted = model(data if len(data) > 1 else data[0], training=False)
        wanted = [np.asarray(v) for v in keras.tree.flatten(wanted)]
        path = os.path.join(folder, f"case.{fmt}")
        model.save(path)
    except Exception as error:  # Keras itself has no such form
        return ("keras", f"{type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}")
    before_ours()
    try:
        with session_class(path) as session:
            got = session.run({f"in{k}": v for k, v in enumerate(data)})
    except Exception as error:
        text = str(error)
        refused = "EC3" in text or getattr(error, "code", "").startswith("EC3")
        return ("refused" if refused else "failed", text[:300])
    got = list(got.values())
    if len(got) != len(wanted):
        return ("failed", f"{len(got)} outputs, {len(wanted)} wanted")
    worst = largest_error(got, wanted)
    if isinstance(worst, float) and worst > TOLERANCE and case.exact:
        exact = case.exact(data)
        worst = 0.0 if largest_error(got, exact) <= min(TOLERANCE, largest_error(wanted, exact)) else worst
    if not isinstance(worst, float):
        return ("failed", worst)
    return ("ok" if worst <= TOLERANCE else "wrong", worst)


def largest_error(got, wanted):
    """Relative to the largest value of each output; a text where shapes differ."""
    worst = 0.0
    for a, b in zip(got, wanted):
        a = np.asarray(a)
        if a.shape != b.shape:
            return f"shape {a.shape}, {b.shape} wanted"
        a, b = a.astype(np.float64), b.astype(np.float64)
        scale = max(1e-6, float(np.max(np.abs(b[np.isfinite(b)]), initial=0)))
        with np.errstate(invalid="ignore"):
            difference = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
        worst = max(worst, float(np.max(difference, initial=0)) / scale)
    return worst


def work(places, options):
    """Lines of JSON for each run at these places of the list: place, name, format, outcome, detail; the last one ends with true."""
    import keras
    from edgecompiler.runtime import InferenceSession

    logging.getLogger("absl").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    runs = all_runs(keras, options.only)
    for place in places:
        case, fmt = runs[place]

        def tell(outcome, detail, *final):
            print(json.dumps([place, case.name, fmt, outcome, detail, *final]), flush=True)

        # What counts where the process dies.
        tell("keras", "crashed")
        with tempfile.TemporaryDirectory() as folder:
            outcome, detail = run_case(keras, InferenceSession, case, fmt, options.keep or folder, lambda: tell("crashed", ""))
        keras.backend.clear_session()
        if case.refused:
            outcome = "ok" if outcome == "refused" else "failed"
        tell(outcome, detail, True)


def all_runs(keras, only):
    cases = layer_cases(keras) + operation_cases(keras)
    return [(case, fmt) for case in cases for fmt in case.formats if only in case.name]


def results_of(places, options):
    """The results of worker processes; one that dies is followed by another, which takes the next case."""
    while places:
        command = [sys.executable, __file__, "--work", ",".join(map(str, places)), "--only", options.only]
        if options.keep:
            command += ["--keep", options.keep]
        last = None
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as worker:
            for line in worker.stdout:
                if not line.startswith("["):
                    continue
                row = json.loads(line)
                if len(row) > 5:
                    yield row[:5]
                last = row
        if last is None:
            raise RuntimeError("the worker does not start: " + " ".join(command))
        if len(last) == 5:
            yield last
        places = places[places.index(last[0]) + 1 :]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", help="folder for the file of the last case")
    parser.add_argument("--shard", default="0/1", help="I/N: every N-th case from the I-th on")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(list(map(int, options.work.split(","))), options)
        return 0
    import keras
    runs = all_runs(keras, options.only)
    index, count = map(int, options.shard.split("/"))
    places = list(range(len(runs)))[index::count]
    if options.list:
        print("\n".join(f"{runs[place][0].name} [{runs[place][1]}]" for place in places))
        return 0
    totals, refusals = collections.Counter(), collections.Counter()
    for place, name, fmt, outcome, detail in results_of(places, options):
        totals[outcome] += 1
        if outcome == "refused":
            refusals[name.split("(")[0].split(" ")[0]] += 1
        if outcome != "ok":
            print(f"{outcome:8} {name} [{fmt}]: {detail}", flush=True)
    print(f"{sum(totals.values())} cases: " + ", ".join(f"{n} {k}" for k, n in sorted(totals.items())))
    if refusals:
        print("refused by name: " + ", ".join(f"{name} {n}" for name, n in sorted(refusals.items())))
    return 1 if totals["wrong"] or totals["failed"] or totals["crashed"] or sum(totals.values()) != len(places) else 0


if __name__ == "__main__":
    sys.exit(main())
