#!/usr/bin/env python3
"""Makes the packages of models/ with coremltools 9.0, and the inputs and outputs that belong to them.

    gen_models.py OUT EVALUATOR        EVALUATOR: folder of milrun.py, which runs packages op by op (coremltools and torch)

Needs coremltools==9.0 torch==2.13.0 numpy==2.1.3 scikit-learn. NAME.npz holds in0... and out0..., the evaluator's outputs for the package.
Dates and identifiers that coremltools writes are replaced by fixed ones, so that a second run gives the same files.
"""
import json
import logging
import os
import shutil
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
import coremltools as ct  # noqa: E402
import coremltools.optimize.coreml as cto  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from coremltools.converters.mil import Builder as mb  # noqa: E402
from coremltools.converters.mil.mil import types  # noqa: E402
from coremltools.proto import Model_pb2  # noqa: E402
from torch import nn  # noqa: E402

out_folder, evaluator = os.path.abspath(sys.argv[1]), sys.argv[2]
sys.path.insert(0, evaluator)
import milrun  # noqa: E402

torch.set_num_threads(1)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.depthwise = nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 3, 1, 1, groups=4, bias=False)
        self.prelu, self.up, self.group, self.linear = nn.PReLU(4), nn.ConvTranspose2d(4, 4, 3, 2, 1, output_padding=1), nn.GroupNorm(2, 4), nn.Linear(64, 5)

    def forward(self, x):
        x = F.relu6(self.norm(self.conv(x)))
        x = self.prelu(x + F.hardswish(self.depthwise(x)))
        x = self.group(self.up(F.max_pool2d(x, 2)))
        return F.softmax(self.linear(F.avg_pool2d(x, 3, 2, 1, count_include_pad=False).flatten(1)), -1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.linear = nn.LSTM(4, 3, bidirectional=True, batch_first=True), nn.GRU(6, 3, batch_first=True), nn.Linear(3, 2)

    def forward(self, x):
        return F.log_softmax(self.linear(self.gru(self.lstm(x)[0])[0][:, -1]), -1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.qkv, self.out, self.norm = nn.Embedding(12, 8), nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, tokens):
        x = self.embed(tokens)
        q, k, v = self.qkv(self.norm(x)).reshape(1, 5, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        return F.gelu(x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, 5, 8)))


class Resizes(nn.Module):
    def forward(self, x):
        return (F.interpolate(x, scale_factor=2, mode="nearest"), F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=False),
                F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True), F.pad(x, (1, 2, 2, 0), mode="reflect"), F.pixel_shuffle(x, 2),
                x.topk(3, dim=-1)[0], torch.cat([x, x * 2], 1)[:, 1:, ::2], x.amax((2, 3)))


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.linear, self.relu1, self.relu2 = nn.Conv2d(3, 8, 3, 1, 1), nn.Conv2d(8, 16, 3, 1, 1), nn.Linear(16, 4), nn.ReLU(), nn.ReLU()

    def forward(self, x):
        return self.linear(self.relu2(self.conv2(self.relu1(self.conv1(x)))).mean((2, 3)))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.linear, self.relu1, self.relu2 = nn.Conv2d(3, 8, 3, 1, 1), nn.Conv2d(8, 8, 3, 1, 1), nn.Linear(8, 4), nn.ReLU(), nn.ReLU()

    def forward(self, x):
        x = self.relu1(self.conv1(x))
        return self.linear((x + self.relu2(self.conv2(x))).mean((2, 3)))


class Accumulator(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(1, 4, dtype=torch.float16))

    def forward(self, x):
        self.sum.add_(x)
        return self.sum * 2


def convert(module, x, target, **options):
    inputs = options.pop("inputs", None) or [ct.TensorType(name="x", shape=tuple(x.shape), dtype=np.int32 if x.dtype == torch.int64 else None)]
    return ct.convert(torch.jit.trace(module, x), inputs=inputs, minimum_deployment_target=getattr(ct.target, target), convert_to="mlprogram", skip_model_load=True, **options)


def make_repeatable(package):
    """Fixed identifiers and no dates; the empty weights folder of packages without weights is not listed."""
    path = os.path.join(package, "Manifest.json")
    with open(path) as file:
        manifest = json.load(file)
    entries, root = {}, None
    for number, (key, entry) in enumerate(sorted(manifest["itemInfoEntries"].items(), key=lambda item: item[1]["name"])):
        fixed = f"00000000-0000-4000-8000-{number:012d}"
        if os.path.isdir(os.path.join(package, "Data", entry["path"])) and not os.listdir(os.path.join(package, "Data", entry["path"])):
            continue
        entries[fixed] = entry
        root = fixed if key == manifest["rootModelIdentifier"] else root
    with open(path, "w") as file:
        json.dump({"fileFormatVersion": manifest["fileFormatVersion"], "itemInfoEntries": entries, "rootModelIdentifier": root}, file, indent=4, sort_keys=True)
    path = os.path.join(package, "Data/com.apple.CoreML/model.mlmodel")
    spec = Model_pb2.Model()
    with open(path, "rb") as file:
        spec.ParseFromString(file.read())
    spec.description.metadata.userDefined.pop("com.github.apple.coremltools.conversion_date", None)
    with open(path, "wb") as file:
        file.write(spec.SerializeToString(deterministic=True))


def put(name, model, *inputs, run=True):
    package = os.path.join(out_folder, name + ".mlpackage")
    shutil.rmtree(package, ignore_errors=True)
    model.save(package)
    make_repeatable(package)
    size = sum(os.path.getsize(os.path.join(at, file)) for at, _, files in os.walk(package) for file in files)
    if run:
        arrays = [x.numpy() if isinstance(x, torch.Tensor) else x for x in inputs]
        arrays = [x.astype(np.int32) if x.dtype == np.int64 else x for x in arrays]
        _, outputs = milrun.run(package, arrays)
        np.savez_compressed(os.path.join(out_folder, name + ".npz"), **{f"in{i}": x for i, x in enumerate(arrays)}, **{f"out{i}": y for i, y in enumerate(outputs)})
    print(f"{name}: {size} bytes", flush=True)


def compressed():
    config, quantize, palette, prune = cto.OptimizationConfig, cto.OpLinearQuantizerConfig, cto.OpPalettizerConfig, cto.OpMagnitudePrunerConfig
    module, x = Small().eval(), torch.rand(1, 3, 8, 8)
    put("int8_ios16", cto.linear_quantize_weights(convert(module, x, "iOS16"), config(quantize(mode="linear", dtype="uint8", weight_threshold=50))), x)
    put("palette_ios16", cto.palettize_weights(convert(module, x, "iOS16"), config(palette(mode="kmeans", nbits=4, weight_threshold=50))), x)
    put("sparse_ios16", cto.prune_weights(convert(module, x, "iOS16"), config(prune(target_sparsity=0.6, weight_threshold=50))), x)
    put("int4_ios18", cto.linear_quantize_weights(convert(module, x, "iOS18"), config(quantize(mode="linear", dtype="int4", granularity="per_block", block_size=4, weight_threshold=50))), x)
    put("palette_ios18", cto.palettize_weights(convert(module, x, "iOS18"), config(palette(mode="kmeans", nbits=3, granularity="per_grouped_channel", group_size=4, weight_threshold=50))), x)
    put("sparse_palette_ios18", cto.palettize_weights(cto.prune_weights(convert(module, x, "iOS18"), config(prune(target_sparsity=0.6, weight_threshold=50))),
                                                     config(palette(mode="kmeans", nbits=4, weight_threshold=50)), joint_compression=True), x)
    put("sparse_int8_ios18", cto.linear_quantize_weights(cto.prune_weights(convert(module, x, "iOS18"), config(prune(target_sparsity=0.6, weight_threshold=50))),
                                                        config(quantize(mode="linear_symmetric", dtype="int8", weight_threshold=50)), joint_compression=True), x)


def quantized():
    from coremltools.optimize.torch.quantization import LinearQuantizer, LinearQuantizerConfig, ModuleLinearQuantizerConfig
    x = torch.rand(1, 3, 8, 8)
    quantizer = LinearQuantizer(Residual(), LinearQuantizerConfig(global_config=ModuleLinearQuantizerConfig(quantization_scheme="symmetric", milestones=[0, 0, 10, 10])))
    prepared = quantizer.prepare(example_inputs=(x,))
    prepared.train()
    for _ in range(4):
        quantizer.step()
        prepared(torch.rand(4, 3, 8, 8))
    put("w8a8_ios17", convert(quantizer.finalize(prepared.eval()), x, "iOS17"), x)


def control():
    """A branch, a loop and a list."""
    @mb.program(input_specs=[mb.TensorSpec(shape=(4, 3)), mb.TensorSpec(shape=(1,))], opset_version=ct.target.iOS16)
    def program(x, choice):
        picked = mb.cond(pred=mb.squeeze(x=mb.greater(x=choice, y=np.float32(0))), _true_fn=lambda: mb.add(x=x, y=np.float32(1)), _false_fn=lambda: mb.mul(x=x, y=np.float32(2)))
        made = mb.make_list(init_length=4, dynamic_length=False, elem_shape=(3,), dtype="fp32")

        def more(i, sums, total):
            return mb.less(x=i, y=np.int32(4))

        def step(i, sums, total):
            row = mb.squeeze(x=mb.gather(x=picked, indices=i, axis=0))
            total = mb.add(x=total, y=row)
            return mb.add(x=i, y=np.int32(1)), mb.list_write(ls=sums, index=i, value=total), total

        _, sums, _ = mb.while_loop(_cond=more, _body=step, loop_vars=(np.int32(0), made, np.zeros(3, np.float32)))
        return mb.list_gather(ls=sums, indices=np.arange(4, dtype=np.int32), name="sums")

    model = ct.convert(program, source="milinternal", convert_to="mlprogram", minimum_deployment_target=ct.target.iOS16, compute_precision=ct.precision.FLOAT32,
                       pass_pipeline=ct.PassPipeline.EMPTY, skip_model_load=True)
    put("control_ios16", model, run=False)
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.savez_compressed(os.path.join(out_folder, "control_ios16.npz"), in0=rows, in1=np.float32([1]), out0=np.cumsum(rows + 1, 0))


def interfaces():
    module, x = Small().eval(), torch.rand(1, 3, 8, 8)
    put("image_classifier_ios15", convert(module, x, "iOS15", inputs=[ct.ImageType(name="image", shape=(1, 3, 8, 8), scale=1 / 127.5, bias=[-1, -1, -1], color_layout=ct.colorlayout.RGB)],
                                          classifier_config=ct.ClassifierConfig(["cat", "dog", "bird", "fish"])), run=False)
    put("flexible_ios16", convert(module, x, "iOS16", inputs=[ct.TensorType(name="x", shape=ct.EnumeratedShapes([(1, 3, 8, 8), (1, 3, 12, 16)], default=(1, 3, 8, 8)))]), run=False)
    put("state_ios18", ct.convert(torch.jit.trace(Accumulator().eval(), torch.rand(1, 4)), inputs=[ct.TensorType(name="x", shape=(1, 4))], outputs=[ct.TensorType(name="y")],
                                  states=[ct.StateType(wrapped_type=ct.TensorType(shape=(1, 4)), name="sum")], minimum_deployment_target=ct.target.iOS18, skip_model_load=True), run=False)
    descriptor = ct.utils.MultiFunctionDescriptor()
    for name, factor in (("double", 2.0), ("triple", 3.0)):
        @mb.program(input_specs=[mb.TensorSpec(shape=(1, 4))], opset_version=ct.target.iOS18)
        def program(x):
            return mb.mul(x=x, y=np.float32(factor), name="y")
        path = os.path.join(out_folder, name + ".mlpackage")
        ct.convert(program, source="milinternal", convert_to="mlprogram", minimum_deployment_target=ct.target.iOS18, compute_precision=ct.precision.FLOAT32, skip_model_load=True).save(path)
        descriptor.add_function(path, src_function_name="main", target_function_name=name)
    descriptor.default_function_name = "double"
    package = os.path.join(out_folder, "functions_ios18.mlpackage")
    shutil.rmtree(package, ignore_errors=True)
    ct.utils.save_multifunction(descriptor, package)
    make_repeatable(package)
    for name in ("double", "triple"):
        shutil.rmtree(os.path.join(out_folder, name + ".mlpackage"))


def refused():
    """A model of the older kind."""
    from coremltools.models import datatypes, neural_network
    builder = neural_network.NeuralNetworkBuilder([("x", datatypes.Array(3))], [("y", datatypes.Array(3))])
    builder.add_activation("relu", "RELU", "x", "y")
    with open(os.path.join(out_folder, "reject_network.mlmodel"), "wb") as file:
        file.write(builder.spec.SerializeToString(deterministic=True))


def main():
    os.makedirs(out_folder, exist_ok=True)
    torch.manual_seed(0)
    np.random.seed(0)
    x = torch.rand(1, 3, 16, 16)
    put("cnn_ios15", convert(Cnn().eval(), x, "iOS15"), x)
    x = torch.rand(1, 5, 4)
    put("recurrent_ios16", convert(Recurrent().eval(), x, "iOS16"), x)
    tokens = torch.randint(0, 12, (1, 5))
    put("attention_ios18", convert(Attention().eval(), tokens, "iOS18"), tokens)
    x = torch.rand(1, 4, 5, 6)
    put("resizes_ios17", convert(Resizes().eval(), x, "iOS17"), x)
    compressed()
    quantized()
    control()
    interfaces()
    refused()


main()
