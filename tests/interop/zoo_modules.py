"""Small networks of our own for the zoo: the forms that image classifiers do not have.

Recurrent layers, detection heads, up-sampling, one and three spatial dimensions, several inputs, integer
inputs, dynamic sizes, and shape computations that exporters turn into Shape/Gather/Concat chains.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class ConvBlock(nn.Sequential):
    def __init__(self, cin: int, cout: int, kernel: int = 3, stride: int = 1) -> None:
        super().__init__(
            nn.Conv2d(cin, cout, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(cout), nn.SiLU()
        )


class YoloLike(nn.Module):
    """Backbone, top-down neck with nearest up-sampling, three heads, boxes decoded on a mesh grid."""

    def __init__(self, classes: int = 12, width: int = 16) -> None:
        super().__init__()
        w = width
        self.stem = ConvBlock(3, w, 3, 2)
        self.stages = nn.ModuleList(
            [nn.Sequential(ConvBlock(w * 2**i, w * 2 ** (i + 1), 3, 2), ConvBlock(w * 2 ** (i + 1), w * 2 ** (i + 1), 1))
             for i in range(4)]
        )
        self.lateral = nn.ModuleList([ConvBlock(w * 16 + w * 8, w * 8, 1), ConvBlock(w * 8 + w * 4, w * 4, 1)])
        channels = [w * 4, w * 8, w * 16]
        self.box = nn.ModuleList([nn.Conv2d(c, 4, 1) for c in channels])
        self.score = nn.ModuleList([nn.Conv2d(c, classes, 1) for c in channels])
        self.strides = (8, 16, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        levels = []
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        c3, c4, c5 = levels[1:]
        p4 = self.lateral[0](torch.cat([F.interpolate(c5, scale_factor=2.0, mode="nearest"), c4], 1))
        p3 = self.lateral[1](torch.cat([F.interpolate(p4, scale_factor=2.0, mode="nearest"), c3], 1))
        decoded = []
        for feature, box, score, stride in zip((p3, p4, c5), self.box, self.score, self.strides):
            decoded.append(self._decode(box(feature), score(feature), stride))
        return torch.cat(decoded, 1)

    @staticmethod
    def _decode(box: torch.Tensor, score: torch.Tensor, stride: int) -> torch.Tensor:
        n, _, h, w = box.shape
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack([xs, ys], 0).to(box.dtype).unsqueeze(0)
        centre = (torch.sigmoid(box[:, :2]) * 2.0 - 0.5 + grid) * stride
        size = (torch.sigmoid(box[:, 2:]) * 2.0) ** 2 * stride
        joined = torch.cat([centre - size / 2, centre + size / 2, torch.sigmoid(score)], 1)
        return joined.flatten(2).transpose(1, 2)


class LstmTagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(24, 32, num_layers=2, batch_first=True)
        self.out = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        y, (h, c) = self.lstm(x)
        return self.out(y), h, c


class BiGru(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(16, 24, num_layers=2, bidirectional=True)
        self.out = nn.Linear(48, 6)

    def forward(self, x: torch.Tensor, h0: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y, h = self.gru(x, h0)
        return self.out(y[-1]), h


class ElmanRnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.RNN(12, 20, num_layers=1, nonlinearity="tanh", bidirectional=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rnn(x)[0]


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Linear(64, 9)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(x).mean(1))


class CausalDecoder(nn.Module):
    """Token ids in, logits out; the mask is computed from the sequence length."""

    def __init__(self, vocabulary: int = 97, width: int = 48, layers: int = 2, heads: int = 4) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.place = nn.Embedding(64, width)
        self.blocks = nn.ModuleList([self._block(width) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.heads = heads

    @staticmethod
    def _block(width: int) -> nn.ModuleDict:
        return nn.ModuleDict(
            {
                "n1": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "proj": nn.Linear(width, width),
                "n2": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width),
            }
        )

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        n, t = ids.shape
        x = self.token(ids) + self.place(torch.arange(t))[None]
        mask = torch.triu(torch.full((t, t), float("-inf")), diagonal=1)
        for block in self.blocks:
            q, k, v = block["qkv"](block["n1"](x)).reshape(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            a = torch.softmax(q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5 + mask, -1) @ v
            x = x + block["proj"](a.transpose(1, 2).reshape(n, t, -1))
            x = x + block["down"](F.gelu(block["up"](block["n2"](x)), approximate="tanh"))
        return self.norm(x) @ self.token.weight.T


class Conv1dNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, 16, 9, 4, 4), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 5, 2, 2, groups=4), nn.BatchNorm1d(32), nn.LeakyReLU(0.1),
            nn.Conv1d(32, 32, 3, padding=2, dilation=2), nn.ELU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(128, 8),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


class KeywordNet(nn.Module):
    """Depthwise-separable keyword spotter on a spectrogram."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(1, 64, (10, 4), (2, 2), (5, 1), bias=False), nn.BatchNorm2d(64), nn.ReLU()]
        for _ in range(4):
            layers += [nn.Conv2d(64, 64, 3, padding=1, groups=64, bias=False), nn.BatchNorm2d(64), nn.ReLU6()]
            layers += [nn.Conv2d(64, 64, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
        self.net = nn.Sequential(*layers, nn.AvgPool2d((12, 5)), nn.Flatten(1), nn.LazyLinear(12))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.net(x), -1)


class UNet(nn.Module):
    def __init__(self, width: int = 12) -> None:
        super().__init__()
        w = width
        self.down1, self.down2, self.mid = self._double(3, w), self._double(w, 2 * w), self._double(2 * w, 4 * w)
        self.up2, self.up1 = nn.ConvTranspose2d(4 * w, 2 * w, 2, 2), nn.ConvTranspose2d(2 * w, w, 4, 2, 1)
        self.dec2, self.dec1 = self._double(4 * w, 2 * w), self._double(2 * w, w)
        self.head = nn.Conv2d(w, 2, 1)

    @staticmethod
    def _double(cin: int, cout: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(),
            nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        y = self.dec2(torch.cat([self.up2(c), b], 1))
        return self.head(self.dec1(torch.cat([self.up1(y), a], 1)))


class SuperResolution(nn.Module):
    def __init__(self, factor: int = 3) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 24, 5, padding=2), nn.PReLU(24), nn.Conv2d(24, 24, 3, padding=1), nn.PReLU(24),
            nn.Conv2d(24, factor * factor, 3, padding=1), nn.PixelShuffle(factor),
        )
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        base = F.interpolate(x, scale_factor=float(self.factor), mode="bicubic", align_corners=False)
        return torch.clamp(self.body(x) + base, 0.0, 1.0)


class ManualShuffle(nn.Module):
    """PixelShuffle and its inverse written as reshape/permute/reshape."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Conv2d(12, 12, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, c, h, w = x.shape
        y = x.reshape(n, c, h // 2, 2, w // 2, 2).permute(0, 1, 3, 5, 2, 4).reshape(n, c * 4, h // 2, w // 2)
        y = self.inner(y)
        y = y.reshape(n, 3, 2, 2, h // 2, w // 2).permute(0, 1, 4, 2, 5, 3)
        return y.reshape(n, 3, h, w)


class Conv3dNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv3d(3, 8, 3, (1, 2, 2), 1), nn.BatchNorm3d(8), nn.ReLU(), nn.MaxPool3d(2),
            nn.Conv3d(8, 16, 3, padding=1, groups=2), nn.BatchNorm3d(16), nn.Hardswish(),
            nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(16, 7),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


class FullyConvolutional(nn.Module):
    """Any batch, height and width: the shape arithmetic stays in the exported graph."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = ConvBlock(3, 16, 3, 2), ConvBlock(16, 32, 3, 2), nn.Conv2d(48, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.a(x)
        b = F.interpolate(self.b(a), size=a.shape[-2:], mode="bilinear", align_corners=False)
        y = F.interpolate(self.c(torch.cat([a, b], 1)), size=x.shape[-2:], mode="bilinear", align_corners=True)
        return y.flatten(2).permute(0, 2, 1)


class GroupNormBlock(nn.Module):
    """Residual blocks and attention of the kind diffusion networks have."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, padding=1)
        self.n1, self.n2, self.n3 = nn.GroupNorm(8, 32), nn.GroupNorm(4, 32), nn.GroupNorm(1, 32)
        self.c1, self.c2 = nn.Conv2d(32, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1)
        self.time = nn.Linear(16, 64)
        self.qkv, self.proj = nn.Conv1d(32, 96, 1), nn.Conv1d(32, 32, 1)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        scale, shift = self.time(F.silu(t))[:, :, None, None].chunk(2, 1)
        y = self.c1(F.silu(self.n1(x)))
        y = x + self.c2(F.silu(self.n2(y) * (1 + scale) + shift))
        flat = self.n3(y).flatten(2)
        q, k, v = self.qkv(flat).chunk(3, 1)
        attention = torch.softmax(torch.einsum("bct,bcs->bts", q, k) * 32**-0.5, -1)
        return y + self.proj(torch.einsum("bts,bcs->bct", attention, v)).reshape(y.shape)


class SpatialTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.locate = nn.Sequential(nn.Conv2d(1, 4, 7, 2), nn.ReLU(), nn.AvgPool2d(3, 2), nn.Flatten(), nn.LazyLinear(6))
        self.classify = nn.Sequential(nn.Conv2d(1, 8, 5, 2), nn.InstanceNorm2d(8, affine=True), nn.Tanh(), nn.Flatten(), nn.LazyLinear(10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        theta = self.locate(x).reshape(-1, 2, 3) * 0.2 + torch.eye(2, 3)
        grid = F.affine_grid(theta, list(x.shape), align_corners=False)
        return self.classify(F.grid_sample(x, grid, align_corners=False, padding_mode="zeros"))


class TwoTower(nn.Module):
    """Two image inputs, shared weights, and integer side information."""

    def __init__(self) -> None:
        super().__init__()
        self.tower = nn.Sequential(ConvBlock(3, 8, 3, 2), ConvBlock(8, 16, 3, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.kind = nn.Embedding(10, 16)

    def forward(self, a: torch.Tensor, b: torch.Tensor, kind: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        fa = F.normalize(self.tower(a) + self.kind(kind), dim=1)
        fb = F.normalize(self.tower(b) + self.kind(kind), dim=1)
        return (fa * fb).sum(1), torch.cdist(fa, fb)


class MlpAutoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        sizes = [640, 128, 128, 8, 128, 128, 640]
        layers: list[nn.Module] = []
        for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
            layers.append(nn.Linear(a, b))
            if i + 2 < len(sizes):
                layers += [nn.BatchNorm1d(b), nn.ReLU()]
        self.net = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)
