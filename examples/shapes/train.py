#!/usr/bin/env python3
"""Trains the bundled example model and writes shapes.onnx. Needs torch and onnx; the result is checked in.

usage: train.py [OUTPUT.onnx]
"""

import random
import sys

import numpy as np
import torch
from torch import nn

from draw import CLASSES, draw


def batch_norm_block(*layers: nn.Module, channels: int) -> list[nn.Module]:
    return [*layers, nn.BatchNorm2d(channels), nn.ReLU6()]


def separable(inputs: int, outputs: int, stride: int) -> list[nn.Module]:
    depthwise = nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False)
    pointwise = nn.Conv2d(inputs, outputs, 1, bias=False)
    return batch_norm_block(depthwise, channels=inputs) + batch_norm_block(pointwise, channels=outputs)


def network() -> nn.Module:
    return nn.Sequential(
        *batch_norm_block(nn.Conv2d(3, 16, 3, 1, 1, bias=False), channels=16),
        *separable(16, 32, 2),
        *separable(32, 64, 2),
        *separable(64, 64, 1),
        *separable(64, 96, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(96, len(CLASSES)),
        nn.Softmax(1),
    )


def draw_images(per_class: int, salt: str) -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = [], []
    for label, kind in enumerate(CLASSES):
        for index in range(per_class):
            images.append(np.asarray(draw(kind, random.Random(f"{salt} {kind} {index}")), dtype=np.float32))
            labels.append(label)
    return torch.from_numpy(np.stack(images)), torch.tensor(labels)


def train(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 15)
    for _ in range(15):
        order = torch.randperm(len(images))
        for chunk in order.split(64):
            loss = nn.functional.nll_loss(torch.log(model(images[chunk]) + 1e-9), labels[chunk])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()


def main() -> None:
    torch.manual_seed(0)
    model = network()
    train(model, *draw_images(700, "train"))
    model.eval()
    images, labels = draw_images(100, "test")
    with torch.no_grad():
        accuracy = (model(images).argmax(1) == labels).float().mean().item()
    print(f"accuracy on {len(labels)} new images: {accuracy:.4f}")
    # Batch normalisation stays visible in the file, so that optimisation has something to show.
    torch.onnx.export(
        model, (torch.zeros(1, 3, 32, 32),), sys.argv[1] if len(sys.argv) > 1 else "shapes.onnx",
        input_names=["image"], output_names=["probabilities"], opset_version=17, dynamo=False,
        dynamic_axes={"image": {0: "batch"}, "probabilities": {0: "batch"}},
        do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE,
    )


if __name__ == "__main__":
    main()
