"""Networks that coremltools converts: architectures of torchvision and timm with random weights, and small modules."""
from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn


@dataclasses.dataclass
class Network:
    name: str
    make: Callable[[], nn.Module]
    shapes: tuple = ((1, 3, 64, 64),)
    tokens: int = 0  # inputs are whole numbers below this
    target: str = "iOS16"
    precision: str = "fp16"
    compression: str = ""  # of the weights, see coreml_read_check.py
    flexible: bool = False  # the last size is open


def torchvision_module():
    """torchvision with declarations of operators that its own library defines where it fits this torch."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        with contextlib.suppress(RuntimeError):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision
    return torchvision


def vision(name):
    def make():
        torchvision = torchvision_module()
        return torchvision.models.get_model(name, weights=None, **({"weights_backbone": None} if "deeplab" in name or "lraspp" in name else {}))
    return make


def timm_model(name, **options):
    def make():
        import timm
        return timm.create_model(name, pretrained=False, num_classes=10, **options)
    return make


class FirstOutput(nn.Module):
    def __init__(self, inner, key=None):
        super().__init__()
        self.inner, self.key = inner, key

    def forward(self, *x):
        y = self.inner(*x)
        return y[self.key] if self.key is not None else y[0]


class Recurrent(nn.Module):
    def __init__(self, kind, layers=1, bidirectional=False):
        super().__init__()
        self.layer = kind(8, 12, layers, batch_first=True, bidirectional=bidirectional)

    def forward(self, x):
        return self.layer(x)[0]


class TextNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.convs, self.out = nn.Embedding(50, 16), nn.ModuleList(nn.Conv1d(16, 8, k) for k in (2, 3, 4)), nn.Linear(24, 5)

    def forward(self, tokens):
        x = self.embed(tokens).transpose(1, 2)
        return self.out(torch.cat([F.relu(c(x)).amax(-1) for c in self.convs], 1))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        torch.backends.mha.set_fastpath_enabled(False)  # coremltools does not know the fused layer
        self.embed, self.position = nn.Embedding(50, 32), nn.Parameter(torch.randn(1, 12, 32) * 0.1)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu", norm_first=True)
        self.encoder, self.out = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(32, 50)

    def forward(self, tokens):
        return self.out(self.encoder(self.embed(tokens) + self.position))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, 1, 1), nn.Conv2d(8, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, 2, 1)
        self.up1, self.up2, self.out = nn.ConvTranspose2d(16, 16, 4, 2, 1), nn.Conv2d(32, 8, 3, 1, 1), nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = F.relu(self.a(x))
        b = F.relu(F.instance_norm(self.b(a)))
        d = F.relu(self.up1(F.leaky_relu(self.c(b), 0.1)))
        u = F.interpolate(F.relu(self.up2(torch.cat([d, b], 1))), scale_factor=2, mode="bilinear", align_corners=False)
        return torch.sigmoid(self.out(torch.cat([u, a], 1)))


class Video(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b, self.out = nn.Conv3d(3, 8, 3, 1, 1), nn.BatchNorm3d(8), nn.Conv3d(8, 8, 3, 2, 1), nn.Linear(8, 4)

    def forward(self, x):
        return self.out(F.max_pool3d(F.relu(self.b(F.relu(self.norm(self.a(x))))), 2).mean((2, 3, 4)))


class Detector(nn.Module):
    """A head as one-stage detectors have it: grids, exponentials, joined scales."""

    def __init__(self):
        super().__init__()
        self.stem, self.down, self.heads = nn.Conv2d(3, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, 2, 1), nn.ModuleList(nn.Conv2d(16, 7, 1) for _ in range(2))

    def forward(self, x):
        x = F.silu(self.stem(x))
        rows = []
        for i, head in enumerate(self.heads):
            x = F.silu(self.down(x))
            y = head(x).flatten(2).transpose(1, 2)
            n = 64 // 2 ** (i + 2)
            grid = torch.stack(torch.meshgrid(torch.arange(n), torch.arange(n), indexing="xy"), -1).reshape(1, -1, 2).float()
            rows.append(torch.cat([(y[..., :2].sigmoid() + grid) * (64 / n), y[..., 2:4].exp(), y[..., 4:].sigmoid()], -1))
        return torch.cat(rows, 1)


class Elementwise(nn.Module):
    def forward(self, x):
        a = F.hardswish(x) + F.mish(x) - F.softplus(x) * torch.tanh(x)
        b = torch.where(x > 0, torch.sqrt(x.abs()), torch.exp(x)) / (1 + x.square())
        return torch.cumsum(a, -1) + F.log_softmax(b, 1) + F.elu(x) * torch.clamp(x, -0.5, 0.5) + torch.round(x) + torch.sin(x)


class Grid(nn.Module):
    def forward(self, x):
        theta = torch.tensor([[[0.8, 0.1, 0.05], [-0.1, 0.9, 0.1]]])
        return F.grid_sample(x, F.affine_grid(theta, [1, 3, 20, 24], align_corners=False), align_corners=False)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.norm = nn.Linear(32, 96), nn.LayerNorm(32)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).reshape(1, 10, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
        mask = torch.ones(10, 10, dtype=torch.bool).tril()
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(1, 10, 32)


class Shapes(nn.Module):
    def forward(self, x):
        y = F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2)
        y = F.pad(y, (1, 2, 3, 1), mode="reflect")[:, 1:, ::2].flip(3)
        z = F.unfold(x, 3, padding=1).reshape(1, -1, 8, 8)
        return y.mean((2, 3)), torch.roll(z, 2, 1).amax(1), torch.gather(x.flatten(2), 2, torch.zeros(1, 4, 5, dtype=torch.long)), x.topk(2, 1)[0]


SEQUENCE, TOKENS = ((1, 9, 8),), ((1, 12),)

NETWORKS = [
    # torchvision
    Network("mobilenet_v2", vision("mobilenet_v2"), target="iOS15"),
    Network("mobilenet_v3_small", vision("mobilenet_v3_small"), target="iOS17", compression="int8"),
    Network("shufflenet_v2_x0_5", vision("shufflenet_v2_x0_5"), precision="fp32"),
    Network("squeezenet1_1", vision("squeezenet1_1"), target="iOS18", compression="palette4"),
    Network("mnasnet0_5", vision("mnasnet0_5"), target="iOS16", compression="int8_symmetric"),
    Network("resnet18", vision("resnet18"), target="iOS17"),
    Network("efficientnet_b0", vision("efficientnet_b0"), target="iOS16"),
    Network("regnet_y_400mf", vision("regnet_y_400mf"), target="iOS18", precision="fp32"),
    Network("googlenet", lambda: FirstAux("googlenet"), shapes=((1, 3, 96, 96),), target="iOS16"),
    Network("densenet121", vision("densenet121"), target="iOS15", precision="fp32"),
    Network("lraspp_mobilenet_v3_large", lambda: FirstOutput(vision("lraspp_mobilenet_v3_large")(), "out"), target="iOS16"),
    # timm
    Network("lcnet_050", timm_model("lcnet_050"), target="iOS17", compression="sparse"),
    Network("tinynet_e", timm_model("tinynet_e"), target="iOS18", compression="int4"),
    Network("ghostnet_050", timm_model("ghostnet_050"), target="iOS16"),
    Network("mobileone_s0", timm_model("mobileone_s0"), target="iOS15"),
    Network("repvgg_a0", timm_model("repvgg_a0"), target="iOS18", compression="palette_grouped"),
    Network("convnext_atto", timm_model("convnext_atto"), target="iOS16"),
    Network("edgenext_xx_small", timm_model("edgenext_xx_small"), target="iOS17", precision="fp32"),
    Network("mobilevit_xxs", timm_model("mobilevit_xxs"), target="iOS16", precision="fp32"),
    Network("vit_tiny_patch16_224", timm_model("vit_tiny_patch16_224", img_size=64), target="iOS18"),
    Network("deit_tiny_patch16_224", timm_model("deit_tiny_patch16_224", img_size=64), target="iOS16", compression="palette6"),
    Network("mixer_s32_224", timm_model("mixer_s32_224", img_size=64), target="iOS16", precision="fp32"),
    Network("gmixer_12_224", timm_model("gmixer_12_224", img_size=64), target="iOS17"),
    Network("poolformer_s12", timm_model("poolformer_s12"), target="iOS16", precision="fp32"),
    Network("xcit_nano_12_p16_224", timm_model("xcit_nano_12_p16_224"), target="iOS18", precision="fp32"),
    Network("hardcorenas_a", timm_model("hardcorenas_a"), target="iOS16"),
    Network("mobilenetv4_conv_small", timm_model("mobilenetv4_conv_small"), target="iOS17", compression="sparse_palette18"),
    # modules
    Network("lstm", lambda: Recurrent(nn.LSTM, 2, True), SEQUENCE, target="iOS16", precision="fp32"),
    Network("lstm_fp16", lambda: Recurrent(nn.LSTM), SEQUENCE, target="iOS17"),
    Network("gru", lambda: Recurrent(nn.GRU), SEQUENCE, target="iOS16", precision="fp32"),
    Network("rnn", lambda: Recurrent(nn.RNN), SEQUENCE, target="iOS18"),
    Network("text", TextNet, TOKENS, tokens=50, target="iOS16"),
    Network("encoder", Encoder, TOKENS, tokens=50, target="iOS17", precision="fp32"),
    Network("encoder_ios18", Encoder, TOKENS, tokens=50, target="iOS18", compression="int8"),
    Network("unet", UNet, target="iOS16"),
    Network("unet_flexible", UNet, target="iOS17", precision="fp32", flexible=True),
    Network("video", Video, ((1, 3, 4, 16, 16),), target="iOS16", precision="fp32"),
    Network("detector", Detector, target="iOS16", precision="fp32"),
    Network("elementwise", Elementwise, ((1, 4, 6, 8),), target="iOS16", precision="fp32"),
    Network("grid", Grid, ((1, 3, 16, 18),), target="iOS16", precision="fp32"),
    Network("attention", Attention, ((1, 10, 32),), target="iOS18"),
    Network("shapes", Shapes, ((1, 4, 8, 8),), target="iOS17", precision="fp32"),
]


def FirstAux(name):  # noqa: N802
    return torchvision_module().models.get_model(name, weights=None, aux_logits=False, init_weights=False)
