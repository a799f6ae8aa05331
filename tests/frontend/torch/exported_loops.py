"""Loops of torch.export for models/: while_loop.pt2, counted_loop.pt2 and scan.pt2. Run by gen_models.py.

usage: exported_loops.py FOLDER      (under a relative name: source ranges keep the path)
"""

import os
import sys

import numpy as np
import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop


class Shrink(torch.nn.Module):
    """Runs as often as the data say; the step has weights of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3, bias=False)

    def forward(self, x):
        return while_loop(lambda y: y.abs().sum() > 0.01, lambda y: (self.linear(y) * 0.2 - y * 0.1,), (x,))[0]


class Counted(torch.nn.Module):
    """A counter of known start: no loop is left."""

    def forward(self, x):
        return while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * 0.5 + i), (torch.tensor(0), x))[1]


class Recurrence(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 3))

    def forward(self, x):
        def step(state, entry):
            following = torch.tanh(state @ self.weight + entry)
            return following, following * 2

        return scan(step, torch.zeros(2, 3), x, dim=0)


def main() -> None:
    torch.manual_seed(2)
    models = {"while_loop": (Shrink(), torch.randn(2, 3)), "counted_loop": (Counted(), torch.randn(2, 3)),
              "scan": (Recurrence(), torch.randn(5, 2, 3))}
    for name, (model, x) in models.items():
        program = torch.export.export(model.eval(), (x,))
        torch.export.save(program, os.path.join(sys.argv[1], name + ".pt2"))
        with torch.no_grad():
            result = model(x)
        results = result if isinstance(result, tuple) else (result,)
        np.savez(os.path.join(sys.argv[1], name + ".npz"), in0=x.numpy(),
                 **{f"out{i}": y.numpy() for i, y in enumerate(results)})


main()
