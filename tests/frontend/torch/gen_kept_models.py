#!/usr/bin/env python3
"""Makes archives that only `inspect` and `check` can read as they stand: needs torch (made with 2.13).

usage: gen_kept_models.py FOLDER
int_argument_scripted.pt takes a number that the archive has no value for; unknown_op_*.pt* call an operator that nobody else knows.
"""

import pathlib
import re
import sys
import zipfile

import torch
import torch.nn as nn


@torch.library.custom_op("mine::frobnicate", mutates_args=())
def frobnicate(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@frobnicate.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class IntArgument(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor, times: int) -> torch.Tensor:
        for _ in range(times):
            x = torch.relu(x)
        return self.conv(x)


class UnknownOp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        x = torch.ops.mine.frobnicate(x)
        return torch.sigmoid(self.second(x))


def without_absolute_paths(path: pathlib.Path) -> None:
    """Drops what names folders of the machine: source ranges, and the frames of a node."""
    with zipfile.ZipFile(path) as archive:
        records = [(n, archive.read(n)) for n in archive.namelist()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in records:
            if name.endswith(".json"):
                content = re.sub(rb'File \\"/[^"]*/([^/"]*)\\"', rb'File \\"\1\\"', content)
            if not name.endswith(".debug_pkl"):
                archive.writestr(zipfile.ZipInfo(name), content)


def main(folder: str) -> None:
    out = pathlib.Path(folder)
    torch.manual_seed(1)
    torch.jit.script(IntArgument().eval()).save(str(out / "int_argument_scripted.pt"))
    example = torch.zeros(1, 3, 8, 8)
    torch.jit.trace(UnknownOp().eval(), example).save(str(out / "unknown_op_traced.pt"))
    torch.export.save(torch.export.export(UnknownOp().eval(), (example,)), str(out / "unknown_op.pt2"))
    for path in (*out.glob("int_argument_scripted.pt"), *out.glob("unknown_op*")):
        without_absolute_paths(path)


if __name__ == "__main__":
    main(sys.argv[1])
