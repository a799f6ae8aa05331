"""Networks trained with simulated quantisation, before and after conversion, against PyTorch.

    python tests/interop/torch_qat.py EDGECOMPILE

Needs PyTorch. Each network is trained for a few steps with FakeQuantize, saved as it is (unconverted) and after
torch.ao's conversion to integers (converted), eagerly and through FX. Compared, in steps of the last quantisation:
  run    our result of the archive with PyTorch's result of the same module: at most one step
  int8   the .tflite file made of the archive with PyTorch's converted module: at most two steps, as TFLite rounds
         sums and averages in its own way
  twin   the .tflite files made of both archives with each other: at most two steps, as weights may round to neighbours
"""

from __future__ import annotations

import argparse
import copy
import pathlib
import sys
import tempfile
import warnings

import numpy as np
import torch
from torch import nn
from torch.ao import quantization as aq
from torch.ao.quantization import quantize_fx

import program


class Block(nn.Module):
    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False)
        self.bn = nn.BatchNorm2d(channels_out)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))


class Network(nn.Module):
    """Convolutions with normalisation, a residual sum, both kinds of pools and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = aq.QuantStub(), aq.DeQuantStub()
        self.first, self.pool = Block(3, 16, 1), nn.MaxPool2d(2)
        self.second, self.third = Block(16, 16, 1), Block(16, 32, 2)
        self.sum = torch.ao.nn.quantized.FloatFunctional()
        self.average, self.classifier = nn.AdaptiveAvgPool2d(1), nn.Linear(32, 10)

    def forward(self, x):
        x = self.pool(self.first(self.quant(x)))
        x = self.third(self.sum.add(x, self.second(x)))
        return self.dequant(self.classifier(torch.flatten(self.average(x), 1)))


class Averages(nn.Module):
    """Local averages between convolutions: pools that training tools give no range."""

    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = aq.QuantStub(), aq.DeQuantStub()
        self.first, self.pool = Block(3, 16, 1), nn.AvgPool2d(2)
        self.second, self.average = Block(16, 24, 1), nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Conv2d(24, 10, 1)

    def forward(self, x):
        x = self.second(self.pool(self.first(self.quant(x))))
        return torch.flatten(self.dequant(self.classifier(self.average(x))), 1)


def train(model: nn.Module, example: torch.Tensor) -> None:
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    for step in range(6):
        generator = torch.Generator().manual_seed(step)
        loss = model(torch.randn((4, *example.shape[1:]), generator=generator)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def quantised(kind: type, how: str, example: torch.Tensor) -> tuple[nn.Module, nn.Module]:
    """The trained module before and after conversion."""
    torch.manual_seed(3)
    model = kind()
    configuration = aq.get_default_qat_qconfig("fbgemm")
    if how == "eager":
        model.eval()
        blocks = [n for n, m in model.named_modules() if isinstance(m, Block)]
        model.train()
        aq.fuse_modules_qat(model, [[f"{n}.conv", f"{n}.bn", f"{n}.relu"] for n in blocks], inplace=True)
        model.qconfig = configuration
        aq.prepare_qat(model, inplace=True)
    else:
        model.train()
        mapping = aq.QConfigMapping().set_global(configuration)
        model = quantize_fx.prepare_qat_fx(model, mapping, (example,))
    train(model, example)
    model.apply(aq.disable_observer)
    model.eval()
    converted = aq.convert(copy.deepcopy(model)) if how == "eager" else quantize_fx.convert_fx(copy.deepcopy(model))
    return model, converted


def run(binary: str, path: pathlib.Path, value: np.ndarray) -> np.ndarray:
    return next(iter(program.run_model(binary, path, [value]).values()))


def check(binary: str, kind: type, how: str, folder: pathlib.Path) -> bool:
    example = torch.randn((1, 3, 24, 24), generator=torch.Generator().manual_seed(9))
    model, converted = quantised(kind, how, example)
    good = True
    with torch.no_grad():
        integers = converted(example).numpy()
        step = float(converted.classifier.scale)
        files = []
        for name, module in (("unconverted", model), ("converted", converted)):
            path = folder / f"{kind.__name__}_{how}_{name}.pt"
            torch.jit.trace(module, example, check_trace=False).save(str(path))
            same = np.abs(run(binary, path, example.numpy()) - module(example).numpy()).max() / step
            written = path.with_suffix(".tflite")
            program.report(binary, path, "-t", "tflite", "-q", "qat", "--keep-io-layout", "-o", written)
            files.append(run(binary, written, example.numpy()))
            int8, twin = np.abs(files[-1] - integers).max() / step, np.abs(files[-1] - files[0]).max() / step
            passed = same <= 1.01 and int8 <= 2.01 and twin <= 2.01
            good &= bool(passed)
            print(f"{'pass' if passed else 'FAIL'}  {kind.__name__} {how} {name}: run {same:.2f}, int8 {int8:.2f}, twin {twin:.2f} steps",
                  flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("edgecompile")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.backends.quantized.engine = "fbgemm"
    with tempfile.TemporaryDirectory() as folder:
        results = [check(args.edgecompile, kind, how, pathlib.Path(folder)) for kind in (Network, Averages) for how in ("eager", "fx")]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
