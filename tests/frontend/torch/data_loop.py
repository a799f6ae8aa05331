"""A model without a fixed graph, for gen_models.py: loop_scripted.pt must be refused."""

import os
import sys

import torch


class DataLoop(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while bool(x.sum() > 1.0):
            x = x / 2
        return x


torch.jit.script(DataLoop().eval()).save(os.path.join(sys.argv[1], "loop_scripted.pt"))
