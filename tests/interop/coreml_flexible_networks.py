"""Networks with open sizes, for packages whose inputs take ranges or lists of shapes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
import torch.nn.functional as F
from coreml_networks import FirstAux, FirstOutput, TextNet, timm_model, vision
from torch import nn


@dataclasses.dataclass
class Flexible:
    name: str
    make: Callable[[], nn.Module]
    shapes: list[tuple[tuple[int, ...], ...]]  # of all inputs: the default, then others to run
    open: dict[str, dict[int, str]]  # dimensions by input, as the exporter names them
    options: list[str]  # of edgecompile
    tokens: int = 0  # inputs are whole numbers below this
    export: str = "onnx"  # or "pt2"
    bounds: tuple[int, int] = (2, 4096)  # of torch.export


IMAGE = {"x0": {2: "height", 3: "width"}}


def image(name, make, sizes, options, **more):
    """One input of [1, 3, height, width]."""
    return Flexible(name, make, [((1, 3, *size),) for size in sizes], IMAGE, options, **more)


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 16, 5, 1, 2), nn.Conv2d(16, 16, 3, 1, 1), nn.Conv2d(16, 12, 3, 1, 1)

    def forward(self, x):
        y = F.relu(self.b(F.relu(self.a(x))))
        return torch.sigmoid(F.pixel_shuffle(self.c(y), 2)) + F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


class Groups(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b, self.scale = nn.Conv2d(3, 16, 3, 2, 1), nn.GroupNorm(4, 16), nn.Conv2d(16, 16, 3, 1, 1), nn.InstanceNorm2d(16, affine=True)

    def forward(self, x):
        y = F.silu(self.norm(self.a(x)))
        return self.scale(self.b(y)).amax((2, 3))


class Pyramid(nn.Module):
    """Levels added to the sizes of the next finer one."""

    def __init__(self):
        super().__init__()
        self.levels = nn.ModuleList(nn.Conv2d(3 if i == 0 else 8, 8, 3, 2, 1) for i in range(3))
        self.sides, self.out = nn.ModuleList(nn.Conv2d(8, 8, 1) for _ in range(3)), nn.Conv2d(8, 4, 3, 1, 1)

    def forward(self, x):
        features = []
        for level in self.levels:
            x = F.relu(level(x))
            features.append(x)
        y = self.sides[2](features[2])
        for i in (1, 0):
            y = self.sides[i](features[i]) + F.interpolate(y, size=features[i].shape[2:], mode="nearest")
        return self.out(y)


class Unet(nn.Module):
    """Sizes are halved twice: multiples of four."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, 1, 1), nn.Conv2d(8, 16, 3, 1, 1), nn.Conv2d(16, 16, 3, 1, 1)
        self.up1, self.up2 = nn.ConvTranspose2d(16, 16, 2, 2), nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1)
        self.d1, self.out = nn.Conv2d(32, 16, 3, 1, 1), nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = F.relu(self.a(x))
        b = F.relu(self.b(F.max_pool2d(a, 2)))
        c = F.relu(self.c(F.avg_pool2d(b, 2)))
        d = F.relu(self.d1(torch.cat([self.up1(c), b], 1)))
        return torch.sigmoid(self.out(torch.cat([self.up2(d), a], 1)))


class Encoder(nn.Module):
    """Positions are a part of a table."""

    def __init__(self):
        super().__init__()
        torch.backends.mha.set_fastpath_enabled(False)
        self.embed, self.position = nn.Embedding(50, 32), nn.Parameter(torch.randn(1, 64, 32) * 0.1)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu", norm_first=True)
        self.encoder, self.out = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(32, 50)

    def forward(self, tokens):
        return self.out(self.encoder(self.embed(tokens) + self.position[:, : tokens.shape[1]]))


class Bert(nn.Module):
    """Attention with a mask from a second input, as Hugging Face has it."""

    def __init__(self):
        super().__init__()
        self.words, self.positions, self.norm = nn.Embedding(50, 32), nn.Embedding(64, 32), nn.LayerNorm(32)
        self.qkv, self.out = nn.ModuleList(nn.Linear(32, 32) for _ in range(3)), nn.Linear(32, 32)
        self.up, self.down, self.last, self.pool = nn.Linear(32, 64), nn.Linear(64, 32), nn.LayerNorm(32), nn.Linear(32, 5)
        self.register_buffer("ids", torch.arange(64).expand(1, -1))

    def forward(self, tokens, mask):
        x = self.norm(self.words(tokens) + self.positions(self.ids[:, : tokens.shape[1]]))
        heads = [f(x).view(x.size(0), x.size(1), 4, 8).permute(0, 2, 1, 3) for f in self.qkv]
        scores = heads[0] @ heads[1].transpose(-1, -2) / 8**0.5
        scores = scores + (1.0 - mask[:, None, None, :].float()) * -10000.0
        y = (scores.softmax(-1) @ heads[2]).permute(0, 2, 1, 3).contiguous()
        x = self.last(x + self.out(y.view(x.size(0), x.size(1), 32)))
        x = x + self.down(F.gelu(self.up(x)))
        return x, torch.tanh(self.pool(x[:, 0]))


class Causal(nn.Module):
    """The mask is made from the length."""

    def __init__(self):
        super().__init__()
        self.embed, self.qkv, self.out = nn.Embedding(50, 32), nn.Linear(32, 96), nn.Linear(32, 50)

    def forward(self, tokens):
        x = self.embed(tokens)
        b, n, _ = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
        mask = torch.ones(n, n, dtype=torch.bool).tril()
        scores = (q @ k.transpose(-1, -2) * 8**-0.5).masked_fill(~mask, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, 32))


class Lstm(nn.Module):
    """The answer is in the last step."""

    def __init__(self, layers=1, bidirectional=False):
        super().__init__()
        self.layer = nn.LSTM(8, 12, layers, batch_first=True, bidirectional=bidirectional)
        self.out = nn.Linear(24 if bidirectional else 12, 5)

    def forward(self, x):
        y, _ = self.layer(x)
        return y, self.out(y[:, -1])


class Vocoder(nn.Module):
    """Frames become samples: transposed convolutions over time."""

    def __init__(self):
        super().__init__()
        self.a, self.up1, self.b, self.up2, self.out = nn.Conv1d(20, 16, 7, 1, 3), nn.ConvTranspose1d(16, 8, 8, 4, 2), nn.Conv1d(8, 8, 3, 1, 3, 3), nn.ConvTranspose1d(8, 4, 4, 2, 1), nn.Conv1d(4, 1, 7, 1, 3)

    def forward(self, x):
        y = self.up1(F.leaky_relu(self.a(x), 0.1))
        y = self.up2(F.leaky_relu(y + self.b(y), 0.1))
        return torch.tanh(self.out(y))[:, 0]


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(20, 32), nn.Linear(32, 4)

    def forward(self, x):
        return F.softmax(self.b(F.relu(self.a(x))), -1)


def ranges(low, high):
    return ["--flexible-shape", f"x0:1x3x{low}..{high}x{low}..{high}"]


def listed(*sizes):
    return ["--flexible-shape", "x0:" + ",".join(f"1x3x{h}x{w}" for h, w in sizes)]


LENGTH = {"x0": {1: "length"}}
SIZES = [(64, 64), (96, 64), (77, 111)]

NETWORKS = [
    image("mobilenet_v2", vision("mobilenet_v2"), SIZES, ranges(33, 128)),
    image("mobilenet_v2_pt2", vision("mobilenet_v2"), [(64, 64), (96, 64), (128, 96)], ranges(33, 128), export="pt2", bounds=(33, 128)),
    image("resnet50", vision("resnet50"), [(64, 64), (96, 96), (64, 128)], listed((64, 64), (96, 96), (64, 128))),
    image("googlenet", lambda: FirstAux("googlenet"), [(96, 96), (128, 97), (64, 80)], ranges(64, 160)),
    image("efficientnet_b0", vision("efficientnet_b0"), SIZES, ranges(33, 128)),
    image("shufflenet_v2_x0_5", vision("shufflenet_v2_x0_5"), SIZES, ranges(33, 128)),
    image("convnext_atto", timm_model("convnext_atto"), [(64, 64), (96, 64), (128, 160)], ranges(32, 160)),
    image("deeplabv3_mobilenet_v3_large", lambda: FirstOutput(vision("deeplabv3_mobilenet_v3_large")(), "out"), [(64, 64), (96, 65)], ranges(33, 128)),
    image("lraspp_mobilenet_v3_large", lambda: FirstOutput(vision("lraspp_mobilenet_v3_large")(), "out"), [(64, 64), (96, 80)], listed((64, 64), (96, 80))),
    image("super_resolution", SuperResolution, [(32, 32), (17, 40)], ranges(8, 64)),
    image("super_resolution_pt2", SuperResolution, [(32, 32), (17, 40)], ranges(8, 64), export="pt2"),
    image("groups", Groups, [(32, 32), (33, 40)], ranges(8, 64)),
    image("pyramid", Pyramid, [(32, 32), (41, 60), (9, 9)], ranges(8, 64)),
    image("unet", Unet, [(32, 32), (64, 48)], listed((32, 32), (64, 48))),
    # The older exporter to ONNX writes lengths into nn.TransformerEncoder.
    Flexible("encoder_pt2", Encoder, [((1, 12),), ((1, 7),), ((1, 40),)], LENGTH, ["--flexible-shape", "x0:1x2..64"], tokens=50, export="pt2", bounds=(2, 64)),
    Flexible("bert", Bert, [((1, 12), (1, 12)), ((1, 1), (1, 1)), ((1, 64), (1, 64))], {"x0": {1: "length"}, "x1": {1: "length"}}, ["--flexible-dim", "length=1..64", "--dim", "length=12"], tokens=2),
    Flexible("bert_batch", Bert, [((2, 12), (2, 12)), ((1, 5), (1, 5))], {"x0": {0: "batch", 1: "length"}, "x1": {0: "batch", 1: "length"}}, ["--flexible-dim", "length=1..64", "--flexible-dim", "batch=1..8"], tokens=2),
    Flexible("bert_listed", Bert, [((1, 16), (1, 16)), ((1, 64), (1, 64))], {"x0": {1: "length"}, "x1": {1: "length"}}, ["--flexible-dim", "length=16,32,64"], tokens=2),
    Flexible("causal", Causal, [((1, 12),), ((1, 1),), ((1, 33),)], LENGTH, ["--flexible-shape", "x0:1x1..64"], tokens=50),
    Flexible("lstm", Lstm, [((1, 9, 8),), ((1, 1, 8),), ((1, 30, 8),)], LENGTH, ["--flexible-shape", "x0:1x1..64x8"]),
    Flexible("lstm_bidirectional", lambda: Lstm(2, True), [((1, 9, 8),), ((1, 2, 8),), ((1, 30, 8),)], LENGTH, ["--flexible-shape", "x0:1x1..64x8"]),
    Flexible("lstm_batch", lambda: Lstm(2, True), [((3, 9, 8),), ((1, 2, 8),)], {"x0": {0: "batch", 1: "length"}}, ["--flexible-shape", "x0:1..4x1..64x8"]),
    Flexible("text", TextNet, [((1, 12),), ((1, 4),), ((1, 50),)], LENGTH, ["--flexible-shape", "x0:1x4..64"], tokens=50),
    Flexible("vocoder", Vocoder, [((1, 20, 16),), ((1, 20, 5),), ((1, 20, 60),)], {"x0": {2: "frames"}}, ["--flexible-shape", "x0:1x20x4..64"]),
    Flexible("perceptron", Perceptron, [((4, 20),), ((1, 20),), ((16, 20),)], {"x0": {0: "batch"}}, ["--flexible-shape", "x0:1..16x20"]),
    Flexible("mobilenet_batch", vision("mobilenet_v3_small"), [((1, 3, 64, 64),), ((3, 3, 64, 64),)], {"x0": {0: "batch"}}, ["--flexible-shape", "x0:1..4x3x64x64"]),
]
