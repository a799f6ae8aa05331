// What the border refuses and normalises, and that kernels are called with their results allocated
// or not at all.
#include "ops/border.h"

#include <gtest/gtest.h>

#include "ops/kernel.h"
#include "support/checked.h"

namespace ec {
namespace {

TensorType f32(std::vector<int64_t> shape) { return TensorType(DType::F32, Shape::of(shape)); }

// The attributes of the operation once its graph is complete, or the error.
Result<Attrs> added(OpKind kind, std::vector<TensorType> types, Attrs attrs, size_t outputs = 1) {
  Graph graph;
  std::vector<Tensor*> inputs;
  for (TensorType& type : types) inputs.push_back(graph.add_input("", std::move(type)));
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.num_outputs = outputs;
  EC_TRY(const Operation* op, graph.add(kind, inputs, std::move(spec)));
  normalise_attributes(graph);
  return op->attrs();
}

Code refusal(OpKind kind, std::vector<TensorType> types, Attrs attrs = {}, size_t outputs = 1) {
  const auto result = added(kind, std::move(types), std::move(attrs), outputs);
  EXPECT_FALSE(result.ok()) << op_name(kind);
  return result.ok() ? Code::Internal : result.error().code();
}

TEST(Border, RulesNameOperandsAndAttributesThatExist) {
  EXPECT_EQ(unresolved_rules(), std::vector<std::string>{});
}

TEST(Border, AxesAndPermutationsCountFromTheFront) {
  const auto perm = added(OpKind::Transpose, {f32({2, 3, 4})}, TransposeAttrs{.perm = {-1, 0, -2}});
  ASSERT_TRUE(perm.ok());
  EXPECT_EQ(perm->as<TransposeAttrs>().perm, (std::vector<int64_t>{2, 0, 1}));
  const auto axis = added(OpKind::Softmax, {f32({2, 3})}, AxisAttrs{.axis = -1});
  ASSERT_TRUE(axis.ok());
  EXPECT_EQ(axis->as<AxisAttrs>().axis, 1);
  // A permutation tells the rank by itself; an axis has to wait for it.
  const auto open = added(OpKind::Transpose, {TensorType(DType::F32)}, TransposeAttrs{{-1, -2}});
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(open->as<TransposeAttrs>().perm, (std::vector<int64_t>{1, 0}));
  const auto waiting = added(OpKind::Softmax, {TensorType(DType::F32)}, AxisAttrs{.axis = -1});
  ASSERT_TRUE(waiting.ok());
  EXPECT_EQ(waiting->as<AxisAttrs>().axis, -1);
}

ConvAttrs conv(std::vector<int64_t> strides, std::vector<int64_t> pads = {}, int64_t groups = 1) {
  ConvAttrs attrs;
  attrs.strides = std::move(strides);
  attrs.pads = std::move(pads);
  attrs.groups = groups;
  return attrs;
}

TEST(Border, RefusesByRule) {
  const TensorType image = f32({1, 4, 8, 8}), filters = f32({4, 4, 3, 3});
  EXPECT_EQ(refusal(OpKind::Transpose, {f32({2, 3})}, TransposeAttrs{{0, 0}}), Code::BadValue);
  EXPECT_EQ(refusal(OpKind::Transpose, {f32({2, 3})}, TransposeAttrs{{0, -3}}), Code::BadValue);
  EXPECT_EQ(refusal(OpKind::Transpose, {TensorType(DType::F32)}, TransposeAttrs{{0, 2}}),
            Code::BadValue);
  EXPECT_EQ(refusal(OpKind::Softmax, {f32({2})}, AxisAttrs{.axis = 1}), Code::BadValue);
  EXPECT_EQ(refusal(OpKind::Softmax, {TensorType(DType::F32)}, AxisAttrs{.axis = INT64_MIN}),
            Code::BadValue);
  EXPECT_EQ(refusal(OpKind::Conv, {f32({4, 8}), filters}, conv({})), Code::ShapeMismatch);
  EXPECT_EQ(refusal(OpKind::Conv, {image, filters}, conv({0, 1})), Code::BadValue);
  EXPECT_EQ(refusal(OpKind::Conv, {image, filters}, conv({1})), Code::BadValue);
  EXPECT_EQ(refusal(OpKind::Conv, {image, filters}, conv({}, {}, 0)), Code::BadValue);
  // The window is wrong whatever the sizes turn out to be.
  EXPECT_EQ(refusal(OpKind::Conv, {TensorType(DType::F32), TensorType(DType::F32)},
                    conv({}, {-1, 0, 0, 0})),
            Code::BadValue);
  EXPECT_EQ(refusal(OpKind::TopK, {f32({4}), f32({1})}, TopKAttrs{}, 2), Code::TypeMismatch);
  EXPECT_EQ(refusal(OpKind::TopK, {f32({4}), TensorType(DType::I64, Shape{2})}, TopKAttrs{}, 2),
            Code::ShapeMismatch);
}

TEST(Border, RefusesSizesThatCannotBeCountedWith) {
  const int64_t big = int64_t{1} << 40;
  EXPECT_EQ(refusal(OpKind::Relu, {f32({big, big})}), Code::TooLarge);
  // An empty tensor takes no memory, but its strides would not fit.
  EXPECT_EQ(refusal(OpKind::Relu, {f32({0, big, big})}), Code::TooLarge);
  EXPECT_EQ(refusal(OpKind::Relu, {f32(std::vector<int64_t>(65, 1))}), Code::ShapeMismatch);
  EXPECT_EQ(refusal(OpKind::Add, {f32({big, 1}), f32({1, big})}), Code::OutOfMemory);
  EXPECT_FALSE(checked_extent(std::vector<int64_t>{2, -1}, 4));
  EXPECT_EQ(checked_extent(std::vector<int64_t>{2, 0, 3}, 4), 24);
}

Result<std::vector<Value>> run_open(OpKind kind, Attrs attrs, const std::vector<Value>& inputs) {
  Graph graph;
  std::vector<Tensor*> tensors;
  for (const Value& value : inputs) tensors.push_back(graph.add_input("", TensorType(value.dtype)));
  OpSpec spec;
  spec.attrs = std::move(attrs);
  EC_TRY(const Operation* op, graph.add(kind, tensors, std::move(spec)));
  graph.add_output("y", op->output());
  return interpret(graph, inputs);
}

Value floats(std::vector<int64_t> shape, std::vector<float> values) {
  return Value::of<float>(std::move(shape), std::span<const float>(values));
}
Value ints(std::vector<int64_t> values) {
  return Value::of<int64_t>({static_cast<int64_t>(values.size())},
                            std::span<const int64_t>(values));
}

TEST(Border, KernelsSeeAxesFromTheFrontWhenOnlyTheRunTellsTheRank) {
  const auto y = run_open(OpKind::Concat, AxisAttrs{.axis = -1},
                          {floats({2, 1}, {1, 2}), floats({2, 1}, {3, 4})});
  ASSERT_TRUE(y.ok()) << y.error().message();
  EXPECT_EQ((*y)[0].shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ((*y)[0].as<float>()[1], 3.0f);
}

TEST(Border, ChecksAgainWhenTheRunTellsTheShapes) {
  const auto axis = run_open(OpKind::Softmax, AxisAttrs{.axis = -2}, {floats({2}, {1, 2})});
  ASSERT_FALSE(axis.ok());
  EXPECT_EQ(axis.error().code(), Code::BadValue);
  const auto repeats = run_open(OpKind::Tile, {}, {floats({2}, {1, 2}), ints({-1})});
  ASSERT_FALSE(repeats.ok());
  EXPECT_EQ(repeats.error().code(), Code::BadValue);
}

TEST(RunKernel, IsNotCalledWithoutTheSizesOfItsResult) {
  // Too many sizes for a shape: inference leaves the result open.
  const auto y = run_open(OpKind::Col2Im, Col2ImAttrs{},
                          {floats({1, 1, 1}, {1}), ints(std::vector<int64_t>(65, 1)),
                           ints(std::vector<int64_t>(65, 1))});
  ASSERT_FALSE(y.ok());
  EXPECT_EQ(y.error().code(), Code::ExecutionFailed);
}

}  // namespace
}  // namespace ec
