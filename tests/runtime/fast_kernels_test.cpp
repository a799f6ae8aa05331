// Every form that has a fast kernel, against the reference kernel, on each instruction set and with
// one and several threads.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "ops/kernel.h"
#include "runtime/executor.h"

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
inline In ints(std::vector<int64_t> values) {
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

void check_all(const std::vector<Case>& cases) {
  for (const Case& c : cases) check(c);
}

TEST(FastKernels, Unary) {
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
  check_all(cases);
}

TEST(FastKernels, Binary) {
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
  check_all(cases);
}

}  // namespace
}  // namespace ec
