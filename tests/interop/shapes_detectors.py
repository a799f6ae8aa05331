#!/usr/bin/env python3
"""Trains small detectors on drawn shapes, each in a few minutes of one processor: YOLO-like, SSD-like and DETR-like heads.

    shapes_detectors.py FOLDER [--steps N] [NAME ...]

Needs torch, onnx, numpy and pillow. Leaves NAME.onnx, detectors.json (the anchors) and test/ (pictures with labels as COCO
has them) in FOLDER. The same numbers in every run on one machine.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import shapes_pictures
from shapes_pictures import CLASSES, SIZE

N, BINS, STEPS = len(CLASSES), 8, (8, 16)


def conv(a: int, b: int, kernel: int = 3, stride: int = 1, groups: int = 1, act: type[nn.Module] | None = nn.SiLU) -> nn.Sequential:
    layers = [nn.Conv2d(a, b, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(b)]
    return nn.Sequential(*layers, *([act()] if act else []))


class Split(nn.Module):
    """Half of the channels goes through a residual block; all are joined (YOLOv8's C2f)."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.first, self.block, self.last = conv(a, b, 1), nn.Sequential(conv(b // 2, b // 2), conv(b // 2, b // 2)), conv(3 * b // 2, b, 1)

    def forward(self, x):
        left, right = self.first(x).chunk(2, 1)
        return self.last(torch.cat([left, right, right + self.block(right)], 1))


def cells(device=None) -> torch.Tensor:
    """Centres and steps of the cells of all levels."""
    rows = []
    for step in STEPS:
        y, x = torch.meshgrid(*(torch.arange(SIZE // step) + 0.5,) * 2, indexing="ij")
        rows.append(torch.stack([x.flatten() * step, y.flatten() * step, torch.full((x.numel(),), float(step))], 1))
    return torch.cat(rows)


class Yolo(nn.Module):
    """[1, 4 + classes, cells]: boxes from distributions of distances, probabilities by a sigmoid."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(conv(3, 16, stride=2), conv(16, 32, stride=2), Split(32, 32), conv(32, 48, stride=2), Split(48, 48))
        self.deep = nn.Sequential(conv(48, 64, stride=2), Split(64, 64))
        self.fuse = Split(48 + 64, 48)
        self.boxes = nn.ModuleList(nn.Sequential(conv(c, 32), nn.Conv2d(32, 4 * BINS, 1)) for c in (48, 64))
        self.kinds = nn.ModuleList(nn.Sequential(conv(c, 32), nn.Conv2d(32, N, 1)) for c in (48, 64))
        for head in self.kinds:
            nn.init.constant_(head[-1].bias, -4.0)
        self.register_buffer("cells", cells())

    def raw(self, x):
        near = self.stem(x)
        deep = self.deep(near)
        near = self.fuse(torch.cat([near, F.interpolate(deep, scale_factor=2.0)], 1))
        levels = list(zip((near, deep), self.boxes, self.kinds))
        boxes = torch.cat([box(level).flatten(2) for level, box, _ in levels], 2)
        return boxes, torch.cat([kind(level).flatten(2) for level, _, kind in levels], 2)

    def distances(self, boxes):
        bins = boxes.view(boxes.shape[0], 4, BINS, -1).softmax(2)
        return (bins * torch.arange(BINS, dtype=torch.float32).view(1, 1, BINS, 1)).sum(2)

    def forward(self, x):
        boxes, kinds = self.raw(x)
        far = self.distances(boxes)
        centre, step = self.cells[:, :2].T, self.cells[:, 2]
        low, high = centre - far[:, :2] * step, centre + far[:, 2:] * step
        return torch.cat([(low + high) / 2, high - low, kinds.sigmoid()], 1)

    def loss(self, x, targets):
        boxes, kinds = self.raw(x)
        batch, total = x.shape[0], kinds.shape[2]
        wanted = torch.zeros(batch, N, total)
        far_wanted, inside = torch.zeros(batch, 4, total), torch.zeros(batch, total, dtype=torch.bool)
        centre, step = self.cells[:, :2], self.cells[:, 2]
        for i, rows in enumerate(targets):
            # Small shapes last, so that they win cells that several claim.
            for row in sorted(rows.tolist(), key=lambda r: -(r[2] - r[0]) * (r[3] - r[1])):
                box, kind = torch.tensor(row[:4]), int(row[4])
                level = 8.0 if max(box[2] - box[0], box[3] - box[1]) < 36 else 16.0
                middle = (box[:2] + box[2:]) / 2
                near = (step == level) & ((centre - middle).abs() < 0.8 * level).all(1)
                wanted[i, :, near] = 0
                wanted[i, kind, near] = 1
                far_wanted[i, :, near] = torch.cat([(centre - box[:2])[near], (box[2:] - centre)[near]], 1).T / level
                inside[i] |= near
        count = inside.sum().clamp(min=1)
        # Focal: most cells are empty.
        chance = kinds.sigmoid()
        focus = F.binary_cross_entropy_with_logits(kinds, wanted, reduction="none") * (wanted - chance).abs() ** 1.5
        far, want = self.distances(boxes), far_wanted.clamp(0, BINS - 1.01)
        bins = boxes.view(batch, 4, BINS, total).log_softmax(2)
        left = want.floor().long()
        part = want - left
        spread = -(bins.gather(2, left[:, :, None])[:, :, 0] * (1 - part) + bins.gather(2, left[:, :, None] + 1)[:, :, 0] * part)
        mask = inside[:, None].expand(-1, 4, -1)
        return 2 * focus.sum() / count + (spread[mask].sum() * 0.3 + 2 * F.smooth_l1_loss(far[mask], want[mask], reduction="sum")) / count


def anchors() -> torch.Tensor:
    """Centre and size, two for each cell."""
    rows = []
    for step, sizes in zip(STEPS, ((16.0, 26.0), (36.0, 52.0))):
        level = cells()[cells()[:, 2] == step]
        for x, y, _ in level.tolist():
            rows += [[x, y, size, size] for size in sizes]
    return torch.tensor(rows)


class Ssd(nn.Module):
    """Inverted residuals with ReLU6; encodings [1, N, 4] and logits with a background, raw."""

    def __init__(self) -> None:
        super().__init__()

        def inverted(a, b, stride):
            wide = 4 * a
            return nn.Sequential(conv(a, wide, 1, act=nn.ReLU6), conv(wide, wide, 3, stride, wide, nn.ReLU6), conv(wide, b, 1, act=None))

        self.stem = nn.Sequential(conv(3, 16, stride=2, act=nn.ReLU6), inverted(16, 24, 2))
        self.block1, self.down1 = inverted(24, 24, 1), inverted(24, 40, 2)
        self.block2, self.down2, self.block3 = inverted(40, 40, 1), inverted(40, 64, 2), inverted(64, 64, 1)
        self.boxes = nn.ModuleList(nn.Sequential(conv(c, c, 3, 1, c, nn.ReLU6), nn.Conv2d(c, 2 * 4, 1)) for c in (40, 64))
        self.kinds = nn.ModuleList(nn.Sequential(conv(c, c, 3, 1, c, nn.ReLU6), nn.Conv2d(c, 2 * (N + 1), 1)) for c in (40, 64))
        self.register_buffer("anchors", anchors(), persistent=False)

    def forward(self, x):
        x = self.stem(x)
        x = self.down1(x + self.block1(x))
        near = x + self.block2(x)
        deep = self.down2(near)
        levels = list(zip((near, deep + self.block3(deep)), self.boxes, self.kinds))
        rows = lambda maps, width: torch.cat([m.permute(0, 2, 3, 1).reshape(x.shape[0], -1, width) for m in maps], 1)
        return rows([box(level) for level, box, _ in levels], 4), rows([kind(level) for level, _, kind in levels], N + 1)

    def loss(self, x, targets):
        codes, kinds = self(x)
        mine = self.anchors
        low, high = mine[:, :2] - mine[:, 2:] / 2, mine[:, :2] + mine[:, 2:] / 2
        labels, wanted = torch.zeros(kinds.shape[:2], dtype=torch.long), torch.zeros_like(codes)
        for i, rows in enumerate(targets):
            if not len(rows):
                continue
            both = (torch.minimum(high[:, None], rows[:, 2:4]) - torch.maximum(low[:, None], rows[:, :2])).clamp(min=0).prod(2)
            share = both / ((mine[:, 2:].prod(1))[:, None] + (rows[:, 2:4] - rows[:, :2]).prod(1) - both)
            share[share.argmax(0), torch.arange(len(rows))] = 2
            best, which = share.max(1)
            chosen = rows[which]
            labels[i] = torch.where(best > 0.45, chosen[:, 4].long() + 1, 0)
            labels[i][(best > 0.35) & (best <= 0.45)] = -100
            size = chosen[:, 2:4] - chosen[:, :2]
            wanted[i] = torch.cat([((chosen[:, :2] + chosen[:, 2:4]) / 2 - mine[:, :2]) / mine[:, 2:] / 0.1, (size / mine[:, 2:]).log() / 0.2], 1)
        found = labels > 0
        entropy = F.cross_entropy(kinds.transpose(1, 2), labels, reduction="none")
        # Three empty anchors for each that is not, the hardest.
        hard = torch.where(labels == 0, entropy, torch.zeros(()))
        keep = hard.flatten().topk(int(3 * found.sum().clamp(min=8)))[0].sum()
        count = found.sum().clamp(min=1)
        return (entropy[found].sum() + keep + F.smooth_l1_loss(codes[found], wanted[found], reduction="sum")) / count


class Attention(nn.Module):
    """Written out, as exported transformers have it."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))

    def forward(self, query, key, value):
        cut = lambda x: x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)
        q, k, v = cut(self.q(query)), cut(self.k(key)), cut(self.v(value))
        weights = (q @ k.transpose(2, 3) * (q.shape[-1] ** -0.5)).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, width: int, cross: bool) -> None:
        super().__init__()
        self.own, self.norm1 = Attention(width), nn.LayerNorm(width)
        self.cross, self.norm2 = (Attention(width), nn.LayerNorm(width)) if cross else (None, None)
        self.mlp, self.norm3 = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)), nn.LayerNorm(width)

    def forward(self, x, place, memory=None, memory_place=None):
        x = self.norm1(x + self.own(x + place, x + place, x))
        if self.cross is not None:
            x = self.norm2(x + self.cross(x + place, memory + memory_place, memory))
        return self.norm3(x + self.mlp(x))


class Detr(nn.Module):
    """Queries with a place of their own; logits with 'no object' behind them, boxes in parts of the picture."""

    WIDTH, SIDE = 64, 6

    def __init__(self) -> None:
        super().__init__()
        w = self.WIDTH
        self.stem = nn.Sequential(conv(3, 24, stride=2, act=nn.ReLU), conv(24, 32, stride=2, act=nn.ReLU), conv(32, 48, stride=2, act=nn.ReLU),
                                  conv(48, w, act=nn.ReLU), conv(w, w, stride=2, act=nn.ReLU), nn.Conv2d(w, w, 1))
        self.place = nn.Parameter(torch.randn(1, (SIZE // 16) ** 2, w) * 0.5)
        y, x = torch.meshgrid(*((torch.arange(self.SIDE) + 0.5) / self.SIDE,) * 2, indexing="ij")
        self.register_buffer("reference", torch.stack([x.flatten(), y.flatten()], 1))
        self.query, self.start = nn.Parameter(torch.randn(1, self.SIDE**2, w) * 0.5), nn.Parameter(torch.zeros(1, self.SIDE**2, w))
        self.encoder, self.decoder = nn.ModuleList([Layer(w, False)]), nn.ModuleList([Layer(w, True) for _ in range(2)])
        self.kinds, self.boxes = nn.Linear(w, N + 1), nn.Sequential(nn.Linear(w, w), nn.ReLU(), nn.Linear(w, 4))

    def forward(self, x):
        memory = self.stem(x).flatten(2).transpose(1, 2)
        for layer in self.encoder:
            memory = layer(memory, self.place)
        found = self.start.expand(x.shape[0], -1, -1)
        for layer in self.decoder:
            found = layer(found, self.query, memory, self.place)
        boxes = self.boxes(found)
        logits = torch.log(self.reference / (1 - self.reference))
        return self.kinds(found), torch.cat([boxes[..., :2] + logits, boxes[..., 2:] - 1.5], 2).sigmoid()

    def loss(self, x, targets):
        kinds, boxes = self(x)
        labels = torch.full(kinds.shape[:2], N, dtype=torch.long)
        wanted, chosen = torch.zeros_like(boxes), torch.zeros(kinds.shape[:2], dtype=torch.bool)
        with torch.no_grad():
            chance = kinds.softmax(-1)
        for i, rows in enumerate(targets):
            if not len(rows):
                continue
            own = torch.cat([(rows[:, :2] + rows[:, 2:4]) / 2, rows[:, 2:4] - rows[:, :2]], 1) / SIZE
            far = torch.cdist(self.reference, own[:, :2])
            cost = 5 * torch.cdist(boxes[i].detach(), own, p=1) + 3 * far - chance[i][:, rows[:, 4].long()]
            # The cheapest pair first: each query and each shape once.
            for _ in range(len(rows)):
                at = int(cost.argmin())
                query, shape = at // len(rows), at % len(rows)
                labels[i, query], wanted[i, query], chosen[i, query] = int(rows[shape, 4]), own[shape], True
                cost[query], cost[:, shape] = float("inf"), float("inf")
        weight = torch.ones(N + 1)
        weight[N] = 0.2
        count = chosen.sum().clamp(min=1)
        a, b = boxes[chosen], wanted[chosen]
        low, high = torch.maximum(a[:, :2] - a[:, 2:] / 2, b[:, :2] - b[:, 2:] / 2), torch.minimum(a[:, :2] + a[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
        both = (high - low).clamp(min=0).prod(1)
        share = both / (a[:, 2:].prod(1) + b[:, 2:].prod(1) - both).clamp(min=1e-6)
        return F.cross_entropy(kinds.transpose(1, 2), labels, weight) * 2 + 5 * (a - b).abs().sum() / count + 2 * (1 - share).sum() / count


# Network, learning rate, steps of training, names of the outputs.
NETWORKS = {
    "shapes_yolo": (Yolo, 2e-3, 400, ["output0"]),
    "shapes_ssd": (Ssd, 3e-3, 500, ["boxes", "scores"]),
    "shapes_detr": (Detr, 1e-3, 900, ["logits", "pred_boxes"]),
}
BATCH, TRAINING = 16, 2000


def train(name: str, data, steps: int | None) -> nn.Module:
    make, rate, usual, _ = NETWORKS[name]
    torch.manual_seed(1)
    network, count = make(), steps or usual
    optimiser = torch.optim.AdamW(network.parameters(), rate, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, count)
    chance = np.random.default_rng(2)
    start, seen = time.process_time(), []
    for step in range(count):
        drawn = [data[i] for i in chance.integers(0, len(data), BATCH)]
        x = torch.from_numpy(np.stack([p for p, _ in drawn])).permute(0, 3, 1, 2).float() / 255
        loss = network.loss(x, [torch.from_numpy(b) for _, b in drawn])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimiser.step()
        schedule.step()
        seen.append(loss.item())
        if step % 100 == 99:
            print(f"{name} {step + 1}: loss {np.mean(seen[-100:]):.3f}, {time.process_time() - start:.0f} s", flush=True)
    return network.eval()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=int, help="of training; default: what each network needs")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)  # sums are added up in one order
    args.folder.mkdir(parents=True, exist_ok=True)
    shapes_pictures.write_labelled(args.folder / "test", 100)
    data = shapes_pictures.pictures(TRAINING, shapes_pictures.TRAINING_SEED)
    for name in args.names or NETWORKS:
        network = train(name, data, args.steps)
        torch.onnx.export(network, (torch.zeros(1, 3, SIZE, SIZE),), args.folder / f"{name}.onnx", input_names=["images"],
                          output_names=NETWORKS[name][3], opset_version=17, dynamo=False)
    (args.folder / "detectors.json").write_text(json.dumps({"anchors": anchors().tolist()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
