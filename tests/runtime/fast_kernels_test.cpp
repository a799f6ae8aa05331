// Every form that has a fast kernel, against the reference kernel, on each instruction set and with
// one and several threads.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "ops/kernel.h"
#include "ops/op_def.h"
#include "runtime/executor.h"
#include "runtime/prepared_op.h"

namespace ec {
namespace {

using Sizes = std::vector<int64_t>;

struct In {
  Sizes shape;
  bool constant = false;
  bool absent = false;
  std::vector<int64_t> ints;  // given: an i64 constant
  float low = -1.0f, high = 1.0f;
};

In x(Sizes shape) { return {std::move(shape), false, false, {}, -1.0f, 1.0f}; }
In w(Sizes shape) { return {std::move(shape), true, false, {}, -1.0f, 1.0f}; }
In positive(Sizes shape, bool constant) {
  return {std::move(shape), constant, false, {}, 0.5f, 2.0f};
}
In none() { return {{}, false, true, {}, 0, 0}; }
In ints(std::vector<int64_t> values) {
  const auto n = static_cast<int64_t>(values.size());
  return {{n}, true, false, std::move(values), 0, 0};
}

struct Case {
  std::string name;
  OpKind kind;
  std::vector<In> inputs;
  Attrs attrs = {};
  size_t outputs = 1;
  bool fast = true;  // a fast kernel must exist
  double tolerance = 2e-5;
};

struct Built {
  Graph graph{"case"};
  std::vector<Value> inputs;
};

std::unique_ptr<Built> build(const Case& c) {
  auto built = std::make_unique<Built>();
  std::mt19937 engine(17);
  std::vector<Tensor*> operands;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const In& in = c.inputs[i];
    const std::string name = "in" + std::to_string(i);
    if (in.absent) {
      operands.push_back(nullptr);
      continue;
    }
    if (!in.ints.empty()) {
      operands.push_back(built->graph.add_ints(name, in.ints));
      continue;
    }
    std::vector<float> data(static_cast<size_t>(count_elements(in.shape)));
    std::uniform_real_distribution<float> values(in.low, in.high);
    for (float& v : data) v = values(engine);
    if (in.constant) {
      operands.push_back(built->graph.add_constant<float>(name, Shape::of(in.shape), data));
    } else {
      operands.push_back(built->graph.add_input(name, TensorType(DType::F32, Shape::of(in.shape))));
      built->inputs.push_back(Value::of<float>(in.shape, std::span<const float>(data)));
    }
  }
  OpSpec spec;
  spec.attrs = c.attrs;
  spec.num_outputs = c.outputs;
  auto op = built->graph.add(c.kind, operands, std::move(spec));
  EXPECT_TRUE(op.ok()) << c.name << ": " << (op.ok() ? "" : op.error().message());
  if (!op.ok()) return nullptr;
  for (size_t i = 0; i < c.outputs; ++i)
    built->graph.add_output("y" + std::to_string(i), (*op)->output(i));
  return built;
}

void check(const Case& c) {
  const auto built = build(c);
  if (built == nullptr) return;
  const auto want = interpret(built->graph, built->inputs);
  ASSERT_TRUE(want.ok()) << c.name << ": " << want.error().message();
  std::vector<ConstView> views;
  std::vector<TensorType> types;
  for (const Value& value : built->inputs) {
    views.push_back(value.view());
    types.push_back(value.type());
  }
  for (const kernels::Isa isa : {kernels::Isa::Generic, kernels::Isa::Avx2, kernels::Isa::Avx512}) {
    if (!kernels::isa_available(isa)) continue;
    for (const int threads : {1, 3}) {
      ExecutorOptions options;
      options.isa = isa;
      auto executor = Executor::create(built->graph, types, options,
                                       std::make_shared<kernels::ThreadPool>(threads));
      ASSERT_TRUE(executor.ok()) << c.name << ": " << executor.error().message();
      const auto timings = (*executor)->timings();
      ASSERT_EQ(timings.size(), 1U) << c.name;
      EXPECT_EQ(timings[0].fast, c.fast) << c.name;
      const auto got = (*executor)->run(views);
      ASSERT_TRUE(got.ok()) << c.name << ": " << got.error().message();
      ASSERT_EQ(got->size(), want->size());
      for (size_t o = 0; o < got->size(); ++o) {
        ASSERT_EQ((*got)[o].shape, (*want)[o].shape) << c.name;
        const auto g = (*got)[o].as<float>();
        const auto r = (*want)[o].as<float>();
        double largest = 1e-3;
        for (const float v : r) largest = std::max(largest, std::fabs(static_cast<double>(v)));
        for (size_t i = 0; i < g.size(); ++i)
          ASSERT_NEAR(static_cast<double>(g[i]), static_cast<double>(r[i]), c.tolerance * largest)
              << c.name << " result " << o << " at " << i << " isa " << isa_name(isa);
      }
    }
  }
}

std::vector<Case> unary_cases() {
  std::vector<Case> cases;
  const auto one = [&](OpKind kind, Attrs attrs = {}) {
    cases.push_back({std::string(op_name(kind)), kind, {x({3, 37})}, std::move(attrs)});
  };
  for (const OpKind kind :
       {OpKind::Relu, OpKind::HardSwish, OpKind::Sigmoid, OpKind::Silu, OpKind::Tanh, OpKind::Exp,
        OpKind::Erf, OpKind::Gelu, OpKind::Softplus, OpKind::Mish, OpKind::Neg, OpKind::Abs,
        OpKind::Floor, OpKind::Ceil, OpKind::Elu, OpKind::LeakyRelu, OpKind::HardSigmoid})
    one(kind);
  one(OpKind::LeakyRelu, LeakyReluAttrs{.alpha = 0.3f});
  one(OpKind::Elu, AlphaAttrs{.alpha = 0.3f});
  one(OpKind::HardSigmoid, HardSigmoidAttrs{.alpha = 1.0f / 6, .beta = 0.5f});
  one(OpKind::Gelu, GeluAttrs{.form = GeluForm::Tanh});
  for (const OpKind kind : {OpKind::Log, OpKind::Sqrt, OpKind::Rsqrt, OpKind::Reciprocal})
    cases.push_back({std::string(op_name(kind)), kind, {positive({41}, false)}});
  cases.push_back({"clip", OpKind::Clip, {x({50}), w({}), positive({}, true)}});
  cases.push_back({"clip_low", OpKind::Clip, {x({50}), w({}), none()}});
  cases.push_back({"clip_high", OpKind::Clip, {x({50}), none(), w({})}});
  return cases;
}

std::vector<Case> binary_cases() {
  std::vector<Case> cases;
  for (const OpKind kind :
       {OpKind::Add, OpKind::Sub, OpKind::Mul, OpKind::Div, OpKind::Min, OpKind::Max}) {
    const std::string name(op_name(kind));
    cases.push_back({name, kind, {positive({2, 3, 17}, false), positive({2, 3, 17}, false)}});
    cases.push_back({name + "_row", kind, {positive({2, 3, 17}, false), positive({17}, true)}});
    cases.push_back(
        {name + "_channel", kind, {positive({2, 3, 17}, false), positive({3, 1}, false)}});
    cases.push_back({name + "_scalar", kind, {positive({}, true), positive({5, 7}, false)}});
  }
  for (const float exponent : {2.0f, 1.0f, -1.0f}) {
    const In power{{}, true, false, {}, exponent, exponent};
    cases.push_back({"power", OpKind::Pow, {positive({5, 7}, false), power}});
  }
  return cases;
}

ConvAttrs conv_attrs(Sizes strides, Sizes pads, int64_t groups, Layout layout,
                     Activation activation = Activation::None) {
  ConvAttrs attrs;
  attrs.strides = std::move(strides);
  attrs.pads = std::move(pads);
  attrs.groups = groups;
  attrs.layout = layout;
  attrs.activation = activation;
  attrs.act_alpha = 0.1f;
  attrs.act_beta = 0.6f;
  return attrs;
}

// [N, C, ...] as the layout wants it.
Sizes image(Layout layout, Sizes sizes) {
  if (layout == Layout::ChannelsFirst) return sizes;
  Sizes last = {sizes[0]};
  last.insert(last.end(), sizes.begin() + 2, sizes.end());
  last.push_back(sizes[1]);
  return last;
}

std::vector<Case> conv_cases() {
  std::vector<Case> cases;
  for (const Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast}) {
    const std::string name = layout == Layout::ChannelsFirst ? "nchw " : "nhwc ";
    const auto at = [layout](Sizes sizes) { return image(layout, std::move(sizes)); };
    cases.push_back({name + "3x3",
                     OpKind::Conv,
                     {x(at({2, 5, 9, 8})), w(at({7, 5, 3, 3})), w({7})},
                     conv_attrs({2, 1}, {1, 0, 2, 1}, 1, layout)});
    cases.push_back({name + "no bias",
                     OpKind::Conv,
                     {x(at({1, 5, 6, 6})), w(at({7, 5, 1, 1}))},
                     conv_attrs({1, 1}, {0, 0, 0, 0}, 1, layout)});
    cases.push_back({name + "one pixel",
                     OpKind::Conv,
                     {x(at({1, 12, 1, 1})), w(at({7, 12, 1, 1})), w({7})},
                     conv_attrs({1, 1}, {0, 0, 0, 0}, 1, layout, Activation::Silu)});
    cases.push_back({name + "groups",
                     OpKind::Conv,
                     {x(at({1, 6, 6, 5})), w(at({9, 2, 3, 3})), w({9})},
                     conv_attrs({1, 1}, {1, 1, 1, 1}, 3, layout)});
    cases.push_back({name + "depthwise",
                     OpKind::Conv,
                     {x(at({2, 18, 9, 10})), w(at({18, 1, 3, 3})), w({18})},
                     conv_attrs({2, 2}, {0, 0, 1, 1}, 18, layout)});
    cases.push_back({name + "one dimension",
                     OpKind::Conv,
                     {x(at({2, 6, 30})), w(at({8, 6, 5})), w({8})},
                     conv_attrs({2}, {2, 1}, 1, layout)});
    cases.push_back({name + "depthwise residual",
                     OpKind::Conv,
                     {x(at({1, 18, 5, 6})), w(at({18, 1, 3, 3})), w({18}), x(at({1, 18, 5, 6}))},
                     conv_attrs({1, 1}, {1, 1, 1, 1}, 18, layout, Activation::Relu)});
    cases.push_back({name + "volume",
                     OpKind::Conv,
                     {x(at({2, 4, 6, 5, 7})), w(at({8, 2, 3, 2, 3})), w({8})},
                     conv_attrs({2, 1, 2}, {1, 0, 1, 1, 1, 2}, 2, layout)});
    cases.push_back({name + "residual",
                     OpKind::Conv,
                     {x(at({1, 5, 6, 6})), w(at({7, 5, 3, 3})), w({7}), x(at({1, 7, 6, 6}))},
                     conv_attrs({1, 1}, {1, 1, 1, 1}, 1, layout, Activation::Relu)});
    for (const Activation activation :
         {Activation::Relu, Activation::Relu6, Activation::Clip, Activation::LeakyRelu,
          Activation::Sigmoid, Activation::Tanh, Activation::Silu, Activation::HardSwish,
          Activation::HardSigmoid, Activation::Gelu, Activation::GeluTanh})
      cases.push_back({name + "activation " + std::to_string(static_cast<int>(activation)),
                       OpKind::Conv,
                       {x(at({1, 5, 6, 6})), w(at({7, 5, 3, 3})), w({7})},
                       conv_attrs({1, 1}, {1, 1, 1, 1}, 1, layout, activation)});
    ConvAttrs same = conv_attrs({2, 2}, {}, 1, layout);
    same.auto_pad = AutoPad::SameLower;
    same.dilations = {1, 2};
    cases.push_back({name + "same lower",
                     OpKind::Conv,
                     {x(at({1, 3, 9, 8})), w(at({4, 3, 4, 3})), w({4})},
                     same});
    ConvTransposeAttrs up;
    up.layout = layout;
    up.strides = {2, 3};
    up.pads = {1, 0, 0, 1};
    up.output_padding = {1, 0};
    cases.push_back({name + "transposed",
                     OpKind::ConvTranspose,
                     {x(at({2, 4, 5, 3})), w(at({4, 6, 3, 3})), w({6})},
                     up});
    up.groups = 2;
    up.activation = Activation::Relu;
    cases.push_back({name + "transposed groups",
                     OpKind::ConvTranspose,
                     {x(at({1, 4, 5, 3})), w(at({4, 3, 3, 3})), w({6})},
                     up});
  }
  cases.push_back({"run-time weights",
                   OpKind::Conv,
                   {x({1, 3, 5, 5}), x({4, 3, 3, 3})},
                   conv_attrs({1, 1}, {0, 0, 0, 0}, 1, Layout::ChannelsFirst),
                   1,
                   false});
  return cases;
}

std::vector<Case> matmul_cases() {
  std::vector<Case> cases;
  const auto one = [&](std::string name, std::vector<In> inputs, MatMulAttrs attrs = {}) {
    cases.push_back({std::move(name), OpKind::MatMul, std::move(inputs), attrs});
  };
  one("constant right", {x({5, 7}), w({7, 33})});
  one("constant right, batch", {x({2, 3, 5, 7}), w({7, 33}), w({33})});
  one("constant left", {w({5, 7}), x({2, 7, 9})});
  one("both", {x({2, 3, 20, 8}), x({2, 3, 8, 20})});
  one("broadcast batch", {x({2, 1, 4, 8}), x({3, 8, 5})});
  one("vector left", {x({8}), x({2, 8, 5})});
  one("vector right", {x({2, 5, 8}), x({8})});
  one("vectors", {x({8}), x({8})});
  one("run-time bias", {x({5, 8}), w({8, 6}), x({6})});
  for (int form = 1; form < 4; ++form) {
    MatMulAttrs attrs;
    attrs.transpose_a = (form & 1) != 0;
    attrs.transpose_b = (form & 2) != 0;
    attrs.alpha = 0.5f;
    attrs.activation = Activation::Gelu;
    const Sizes a = attrs.transpose_a ? Sizes{2, 8, 5} : Sizes{2, 5, 8};
    const Sizes b = attrs.transpose_b ? Sizes{19, 8} : Sizes{8, 19};
    one("form " + std::to_string(form), {x(a), x(b)}, attrs);
    one("constant, form " + std::to_string(form), {x(a), w(b), w({19})}, attrs);
  }
  return cases;
}

std::vector<Case> gemm_cases() {
  std::vector<Case> cases;
  for (int form = 0; form < 4; ++form) {
    GemmAttrs attrs;
    attrs.transpose_a = (form & 1) != 0;
    attrs.transpose_b = (form & 2) != 0;
    const Sizes a = attrs.transpose_a ? Sizes{8, 5} : Sizes{5, 8};
    const Sizes b = attrs.transpose_b ? Sizes{19, 8} : Sizes{8, 19};
    const std::string name = "gemm " + std::to_string(form);
    attrs.activation = Activation::Relu;
    cases.push_back({name + " matrix", OpKind::Gemm, {x(a), w(b), x({5, 19})}, attrs});
    cases.push_back({name + " column", OpKind::Gemm, {x(a), x(b), w({5, 1})}, attrs});
    attrs.alpha = 0.5f;
    attrs.beta = 2.0f;
    cases.push_back({name, OpKind::Gemm, {x(a), w(b), w({19})}, attrs});
    cases.push_back({name + " scalar", OpKind::Gemm, {x(a), w(b), w({})}, attrs});
    cases.push_back({name + " row", OpKind::Gemm, {x(a), x(b), w({1, 19})}, attrs});
    cases.push_back({name + " none", OpKind::Gemm, {x(a), x(b)}, attrs});
  }
  return cases;
}

std::vector<Case> einsum_cases() {
  const auto one = [](std::string equation, Sizes a, Sizes b, bool fast = true) {
    return Case{equation, OpKind::Einsum, {x(a), x(b)}, EinsumAttrs{.equation = equation}, 1, fast};
  };
  return {
      one("ij,jk->ik", {5, 7}, {7, 9}),
      one("bct,bcs->bts", {2, 6, 5}, {2, 6, 7}),
      one("bts, bcs -> bct", {2, 5, 7}, {2, 6, 7}),
      one("bhid,bhjd->bhij", {2, 3, 5, 8}, {2, 3, 7, 8}),
      one("bij,kj->bik", {2, 5, 7}, {9, 7}),
      one("ij,kj->ki", {5, 7}, {9, 7}),
      one("bwhc,cd->bwhd", {2, 3, 4, 5}, {5, 6}),
      one("i,i->", {9}, {9}),
      one("ij,ij->i", {5, 7}, {5, 7}),
      one("ij,ij->ij", {5, 7}, {5, 7}, false),
      one("ijk,jl->ilk", {5, 7, 3}, {7, 4}, false),
  };
}

std::vector<Case> pool_cases() {
  std::vector<Case> cases;
  for (const Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast}) {
    for (const OpKind kind : {OpKind::MaxPool, OpKind::AvgPool}) {
      PoolAttrs attrs;
      attrs.layout = layout;
      attrs.kernel = {3, 2};
      attrs.strides = {2, 2};
      attrs.pads = {1, 0, 1, 1};
      for (int form = 0; form < 4; ++form) {
        attrs.ceil_mode = (form & 1) != 0;
        attrs.count_include_pad = (form & 2) != 0;
        cases.push_back({std::string(op_name(kind)) + std::to_string(form),
                         kind,
                         {x(image(layout, {2, 19, 8, 8}))},
                         attrs});
      }
      PoolAttrs line;
      line.layout = layout;
      line.kernel = {3};
      cases.push_back({"one dimension", kind, {x(image(layout, {2, 19, 8}))}, line});
    }
    const GlobalPoolAttrs global{.layout = layout};
    for (const OpKind kind : {OpKind::GlobalAvgPool, OpKind::GlobalMaxPool})
      cases.push_back({"global", kind, {x(image(layout, {2, 19, 7, 5}))}, global});
  }
  return cases;
}

std::vector<Case> reduce_cases() {
  std::vector<Case> cases;
  for (const OpKind kind : {OpKind::ReduceSum, OpKind::ReduceMean, OpKind::ReduceMax}) {
    cases.push_back({"last", kind, {x({2, 3, 40}), ints({-1})}});
    cases.push_back(
        {"last two", kind, {x({2, 3, 40}), ints({1, 2})}, ReduceAttrs{.keep_dims = false}});
    cases.push_back({"middle", kind, {x({2, 9, 7, 20}), ints({1, 2})}});
    cases.push_back({"first", kind, {x({5, 33}), ints({0})}});
    cases.push_back({"all", kind, {x({5, 33})}});
    cases.push_back({"apart", kind, {x({5, 3, 6}), ints({0, 2})}, {}, 1, false});
  }
  return cases;
}

std::vector<Case> movement_cases() {
  return {
      {"transpose", OpKind::Transpose, {x({2, 3, 4, 5})}, TransposeAttrs{.perm = {0, 2, 3, 1}}},
      {"reverse", OpKind::Transpose, {x({2, 3, 40})}, TransposeAttrs{.perm = {2, 1, 0}}},
      {"concat", OpKind::Concat, {x({2, 3, 4}), x({2, 5, 4}), x({2, 1, 4})}, AxisAttrs{.axis = 1}},
      {"concat last", OpKind::Concat, {x({2, 3}), x({2, 5})}, AxisAttrs{.axis = 1}},
      {"split", OpKind::Split, {x({2, 9, 4}), ints({2, 3, 4})}, AxisAttrs{.axis = 1}, 3},
      {"slice", OpKind::Slice, {x({4, 9, 5}), ints({1, -3}), ints({3, 100}), ints({1, 2})}},
      {"slice steps",
       OpKind::Slice,
       {x({4, 9, 5}), ints({8, 0}), ints({-100, 4}), ints({1, 0}), ints({-2, 3})}},
      {"slice all axes", OpKind::Slice, {x({4, 9}), ints({1, 2}), ints({3, 4})}},
      {"pad", OpKind::Pad, {x({2, 3, 4}), ints({0, 1, 2, 1, 0, 3}), w({})}},
      {"pad axes", OpKind::Pad, {x({2, 3, 4}), ints({1, 2}), none(), ints({-1})}},
      {"gather", OpKind::Gather, {x({3, 7, 4}), ints({6, -7, 0, 3})}, GatherAttrs{.axis = 1}},
  };
}

std::vector<Case> normalisation_cases() {
  std::vector<Case> cases;
  for (const OpKind kind : {OpKind::Softmax, OpKind::LogSoftmax})
    cases.push_back({"softmax", kind, {x({3, 5, 37})}, AxisAttrs{.axis = 2}});
  cases.push_back({"softmax middle", OpKind::Softmax, {x({3, 5, 37})}, AxisAttrs{.axis = 1}});
  cases.push_back({"softmax first", OpKind::Softmax, {x({30, 5})}, AxisAttrs{.axis = 0}});
  cases.push_back({"layer norm",
                   OpKind::LayerNorm,
                   {x({3, 5, 37}), w({37}), w({37})},
                   LayerNormAttrs{.axis = 2, .epsilon = 1e-3f}});
  cases.push_back({"layer norm, two axes",
                   OpKind::LayerNorm,
                   {x({3, 5, 7}), w({5, 7})},
                   LayerNormAttrs{.axis = 1}});
  cases.push_back(
      {"rms norm", OpKind::RmsNorm, {x({3, 5, 37}), w({37})}, LayerNormAttrs{.axis = -1}});
  for (const Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast}) {
    const Sizes shape = image(layout, {2, 12, 5, 7});
    BatchNormAttrs batch;
    batch.layout = layout;
    cases.push_back({"batch norm",
                     OpKind::BatchNorm,
                     {x(shape), w({12}), w({12}), w({12}), positive({12}, true)},
                     batch});
    InstanceNormAttrs instance;
    instance.layout = layout;
    cases.push_back(
        {"instance norm", OpKind::InstanceNorm, {x(shape), w({12}), w({12})}, instance});
    GroupNormAttrs group;
    group.layout = layout;
    group.groups = 3;
    cases.push_back({"group norm", OpKind::GroupNorm, {x(shape), w({12}), x({12})}, group});
  }
  return cases;
}

std::vector<Case> resize_cases() {
  std::vector<Case> cases;
  for (const ResizeMode mode : {ResizeMode::Nearest, ResizeMode::Linear, ResizeMode::Cubic}) {
    for (const CoordinateMode coordinates :
         {CoordinateMode::HalfPixel, CoordinateMode::AlignCorners, CoordinateMode::Asymmetric}) {
      ResizeAttrs attrs;
      attrs.mode = mode;
      attrs.coordinates = coordinates;
      attrs.axes = {1, 2};
      const std::string name = "resize " + std::to_string(static_cast<int>(mode)) + " " +
                               std::to_string(static_cast<int>(coordinates));
      cases.push_back(
          {name + " up", OpKind::Resize, {x({2, 5, 6, 19}), none(), none(), ints({11, 9})}, attrs});
      cases.push_back({name + " down",
                       OpKind::Resize,
                       {x({1, 9, 8, 3}), none(), none(), ints({4, 13})},
                       attrs});
      attrs.axes = {2, 3};
      cases.push_back({name + " nchw",
                       OpKind::Resize,
                       {x({2, 3, 5, 6}), none(), none(), ints({7, 12})},
                       attrs});
    }
  }
  return cases;
}

std::vector<Case> block_cases() {
  std::vector<Case> cases;
  for (const Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast}) {
    for (const DepthOrder order : {DepthOrder::Dcr, DepthOrder::Crd}) {
      cases.push_back({"to space",
                       OpKind::DepthToSpace,
                       {x(image(layout, {2, 12, 3, 5}))},
                       DepthToSpaceAttrs{.block = 2, .order = order, .layout = layout}});
      cases.push_back({"to depth",
                       OpKind::SpaceToDepth,
                       {x(image(layout, {2, 3, 4, 6}))},
                       SpaceToDepthAttrs{.block = 2, .order = order, .layout = layout}});
    }
  }
  return cases;
}

std::vector<Case> attention_cases() {
  AttentionAttrs heads;
  heads.q_heads = 4;
  heads.kv_heads = 2;
  AttentionAttrs causal = heads;
  causal.causal = true;
  causal.scale = 0.3f;
  return {
      {"heads first", OpKind::Attention, {x({2, 3, 5, 8}), x({2, 3, 7, 8}), x({2, 3, 7, 6})}},
      {"grouped", OpKind::Attention, {x({2, 4, 5, 8}), x({2, 2, 7, 8}), x({2, 2, 7, 6})}},
      {"many queries", OpKind::Attention, {x({1, 2, 300, 4}), x({1, 2, 19, 4}), x({1, 2, 19, 4})}},
      {"heads last", OpKind::Attention, {x({2, 5, 32}), x({2, 7, 16}), x({2, 7, 12})}, heads},
      {"causal", OpKind::Attention, {x({2, 7, 32}), x({2, 7, 16}), x({2, 7, 12})}, causal},
      {"mask", OpKind::Attention, {x({2, 3, 5, 8}), x({2, 3, 7, 8}), x({2, 3, 7, 6}), x({5, 7})}},
      {"mask per head",
       OpKind::Attention,
       {x({2, 3, 5, 8}), x({2, 3, 7, 8}), x({2, 3, 7, 6}), x({2, 3, 1, 7})}},
  };
}

std::vector<Case> recurrent_cases() {
  std::vector<Case> cases;
  for (const Direction direction :
       {Direction::Forward, Direction::Reverse, Direction::Bidirectional}) {
    const int64_t d = direction == Direction::Bidirectional ? 2 : 1;
    RecurrentAttrs attrs;
    attrs.hidden_size = 9;
    attrs.direction = direction;
    attrs.linear_before_reset = true;
    const std::string name = "direction " + std::to_string(static_cast<int>(direction));
    cases.push_back({name + " lstm",
                     OpKind::Lstm,
                     {x({6, 2, 5}), w({d, 36, 5}), w({d, 36, 9}), w({d, 72}), none(), x({d, 2, 9}),
                      x({d, 2, 9})},
                     attrs,
                     3});
    cases.push_back({name + " lstm plain",
                     OpKind::Lstm,
                     {x({6, 2, 5}), w({d, 36, 5}), w({d, 36, 9})},
                     attrs,
                     1});
    cases.push_back({name + " gru",
                     OpKind::Gru,
                     {x({6, 2, 5}), w({d, 27, 5}), w({d, 27, 9}), w({d, 54}), none(), x({d, 2, 9})},
                     attrs,
                     2});
  }
  return cases;
}

struct Family {
  const char* name;
  std::vector<Case> (*cases)();
};

const Family kFamilies[] = {
    {"Unary", unary_cases},         {"Binary", binary_cases},
    {"Conv", conv_cases},           {"MatMul", matmul_cases},
    {"Gemm", gemm_cases},           {"Einsum", einsum_cases},
    {"Pool", pool_cases},           {"Reduce", reduce_cases},
    {"Movement", movement_cases},   {"Normalisation", normalisation_cases},
    {"Resize", resize_cases},       {"BlockRearrangement", block_cases},
    {"Attention", attention_cases}, {"Recurrent", recurrent_cases},
};

class FastKernels : public testing::TestWithParam<Family> {};

TEST_P(FastKernels, EqualTheReference) {
  for (const Case& c : GetParam().cases()) check(c);
}

INSTANTIATE_TEST_SUITE_P(Families, FastKernels, testing::ValuesIn(kFamilies),
                         [](const auto& tested) { return std::string(tested.param.name); });

// check() fails where a case finds no fast kernel, so that each row of the table is shown to serve.
TEST(FastKernelTable, EveryRowHasACase) {
  std::set<OpKind> shown = {OpKind::Quantize, OpKind::Dequantize};  // quantize_kernels_test.cpp
  for (const Family& family : kFamilies)
    for (const Case& c : family.cases()) {
      if (c.fast) shown.insert(c.kind);
      EXPECT_TRUE(has_fast_kernel(c.kind)) << c.name;
    }
  for (const OpDef* def : all_ops())
    EXPECT_EQ(has_fast_kernel(def->kind), shown.contains(def->kind)) << def->name;
}

}  // namespace
}  // namespace ec
