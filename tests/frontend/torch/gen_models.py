#!/usr/bin/env python3
"""Makes the archives of this folder's models/ that are not samples: needs torch (made with 2.13).

usage: gen_models.py FOLDER
Each NAME.pt gets NAME.npz with in0... and out0...; loop_scripted.pt must be refused.
"""

import enum
import os
import subprocess
import sys
import zipfile
from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import torch
import torch.nn as nn


class Views(nn.Module):
    """Writes through views of views."""

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        y = x.clone()
        y[:, 0] = 5.0
        y[1].add_(x[0])
        y.view(-1)[2:4].mul_(2)
        z = y.t()
        z[0].relu_()
        a, b = y.chunk(2, 1)
        b.fill_(3.0)
        a += 1
        z[1] = a[:, 0]
        w = torch.zeros_like(x)
        w[:2, 1:] = y[:2, 1:]
        w.unsqueeze(0)[0, 1].sub_(0.5)
        w[w > 2] = -1.0
        return y, z, w


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.n = start

    def next(self) -> int:
        self.n += 1
        return self.n


class Language(nn.Module):
    """Enums, NamedTuples, classes, dicts, optional values, nested lists, branches on values."""

    color: Color

    def __init__(self):
        super().__init__()
        self.color = Color.BLUE
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.register_buffer("table", torch.arange(4.0))

    def split(self, x: torch.Tensor, at: Optional[int] = None) -> Pair:
        k = 2 if at is None else at
        return Pair(x[:, :k], x[:, k:])

    def forward(self, x: torch.Tensor) -> Dict[str, torch.Tensor]:
        counter = Counter(3)
        out: Dict[str, torch.Tensor] = {}
        parts: List[List[torch.Tensor]] = []
        for i, layer in enumerate(self.layers):
            x = layer(x)
            parts.append([x, x * counter.next()])
        pair = self.split(x)
        total = torch.zeros(1)
        for row in parts:
            for t in row[::-1]:
                total = total + t.sum()
        if self.color == Color.BLUE:
            out["blue"] = pair.first + self.table[:2]
        else:
            out["red"] = pair.second
        if x.mean() > 0:
            y = x * 2
            scale = 3.0
        else:
            y = x - 1
            scale = 0.5
        assert x.shape[1] == 4, f"bad width {x.shape[1]}"
        out["y"] = y * scale
        out["total"] = total
        return out


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in (value.values() if isinstance(value, dict) else value) for t in flat(v)]


def save(folder: str, name: str, module, x: torch.Tensor) -> None:
    module.save(os.path.join(folder, name + ".pt"))
    data = {"in0": x.numpy()}
    with torch.no_grad():
        for i, t in enumerate(flat(module(x.clone()))):
            data[f"out{i}"] = t.numpy()
    np.savez(os.path.join(folder, name + ".npz"), **data)


def without_absolute_paths(path: str) -> None:
    """Drops the source ranges that name folders of the machine."""
    with zipfile.ZipFile(path) as archive:
        records = [(n, archive.read(n)) for n in archive.namelist()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in records:
            if not name.endswith(".debug_pkl"):
                archive.writestr(zipfile.ZipInfo(name), content)


def main() -> None:
    folder = sys.argv[1]
    torch.manual_seed(1)
    x = torch.randn(3, 4)
    # Under a relative name, so that the source ranges have no folder in them.
    here = os.path.dirname(os.path.abspath(__file__))
    for script in ("data_loop.py", "exported_loops.py"):
        code = f"exec(compile(open('{script}').read(), '{script}', 'exec'))"
        subprocess.run([sys.executable, "-c", code, os.path.abspath(folder)], cwd=here, check=True)
    save(folder, "views_scripted", torch.jit.script(Views().eval()), x)
    save(folder, "views_traced", torch.jit.trace(Views().eval(), x), x)
    save(folder, "language_scripted", torch.jit.script(Language().eval()), x)
    for name in ("views_scripted", "views_traced", "language_scripted"):
        without_absolute_paths(os.path.join(folder, name + ".pt"))


if __name__ == "__main__":
    main()
