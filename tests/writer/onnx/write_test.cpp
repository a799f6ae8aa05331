// Graphs that ONNX cannot say in one node each: written, read back, and compared by running both.
#include "writer/onnx/onnx.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "frontend/onnx/onnx.h"
#include "ops/kernel.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

class OnnxWriter : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              (std::string("onnx_writer_") +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Tensor* constant(const std::string& name, std::vector<int64_t> shape) {
    std::vector<float> values(static_cast<size_t>(count_elements(shape)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = next();
    return graph_->add_constant<float>(name, Shape::of(shape), std::span<const float>(values));
  }
  Tensor* input(const std::string& name, std::vector<int64_t> shape) {
    return graph_->add_input(name, TensorType(DType::F32, Shape::of(shape)));
  }
  Tensor* add(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs = {}) {
    auto result = graph_->add_single(kind, std::move(inputs), std::move(attrs));
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : format_diagnostic(result.error().diagnostic()));
    return result.ok() ? *result : nullptr;
  }
  std::unique_ptr<Graph> rewrite(const OnnxWriteOptions& options = {}) {
    const Status status = write_onnx(*graph_, file(), options);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : format_diagnostic(status.error().diagnostic()));
    DiagnosticSink sink;
    auto graph = onnx_frontend().import_file(file(), {}, sink);
    EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : format_diagnostic(graph.error().diagnostic()));
    return graph.ok() ? std::move(*graph) : nullptr;
  }
  // Writes, reads back, runs both on the same random inputs.
  void expect_same() {
    const std::unique_ptr<Graph> copy = rewrite();
    ASSERT_NE(copy, nullptr);
    EXPECT_TRUE(verify(*copy).empty());
    EXPECT_EQ(copy->output_names(), graph_->output_names());
    std::vector<Value> values;
    for (const Tensor* tensor : graph_->inputs()) {
      std::vector<float> elements(static_cast<size_t>(*tensor->type().num_elements()));
      for (float& v : elements) v = next();
      values.push_back(
          Value::of<float>(tensor->shape()->sizes(), std::span<const float>(elements)));
    }
    const auto want = interpret(*graph_, values), got = interpret(*copy, values);
    ASSERT_TRUE(want.ok() && got.ok());
    ASSERT_EQ(want->size(), got->size());
    for (size_t i = 0; i < want->size(); ++i) {
      ASSERT_EQ((*want)[i].shape, (*got)[i].shape);
      const auto a = (*want)[i].as<float>(), b = (*got)[i].as<float>();
      for (size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-5f * (1 + std::abs(a[k])));
    }
  }
  fs::path file() const { return folder_ / "model.onnx"; }
  float next() {
    seed_ = seed_ * 1664525u + 1013904223u;
    return static_cast<float>(seed_ >> 8) / static_cast<float>(1 << 23) - 1.0f;
  }

  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  fs::path folder_;
  uint32_t seed_ = 1;
};

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(OnnxWriter, ConvWithResidualAndActivation) {
  for (const Activation activation :
       {Activation::Relu, Activation::Relu6, Activation::Clip, Activation::LeakyRelu,
        Activation::Sigmoid, Activation::Tanh, Activation::Silu, Activation::HardSwish,
        Activation::HardSigmoid, Activation::Gelu, Activation::GeluTanh}) {
    SCOPED_TRACE(static_cast<int>(activation));
    graph_ = std::make_unique<Graph>();
    ConvAttrs attrs;
    attrs.pads = {1, 1, 1, 1};
    attrs.activation = activation;
    attrs.act_alpha = activation == Activation::Clip ? -0.5f : 0.2f;
    attrs.act_beta = 0.5f;
    graph_->add_output("y", add(OpKind::Conv,
                                {input("x", {1, 2, 5, 5}), constant("w", {3, 2, 3, 3}),
                                 constant("b", {3}), input("r", {1, 3, 5, 5})},
                                attrs));
    expect_same();
  }
}

TEST_F(OnnxWriter, ChannelsLast) {
  ConvAttrs conv;
  conv.layout = Layout::ChannelsLast;
  conv.activation = Activation::Relu;
  conv.strides = {2, 2};
  Tensor* x = add(OpKind::Conv, {input("x", {1, 6, 7, 2}), constant("w", {4, 3, 3, 2})}, conv);
  PoolAttrs pool;
  pool.kernel = {2, 2};
  pool.layout = Layout::ChannelsLast;
  x = add(OpKind::MaxPool, {x}, pool);
  DepthToSpaceAttrs block;
  block.block = 2;
  block.layout = Layout::ChannelsLast;
  x = add(OpKind::DepthToSpace, {x}, block);
  GlobalPoolAttrs global;
  global.layout = Layout::ChannelsLast;
  graph_->add_output("y", add(OpKind::GlobalAvgPool, {x}, global));
  expect_same();
}

// ONNX Runtime refuses bounds with dimensions, which passes may give them.
TEST_F(OnnxWriter, BoundsOfClipHaveNoDimensions) {
  graph_->add_output("y", add(OpKind::Clip, {input("x", {1, 2, 3, 3}),
                                             constant("low", {1, 1, 1, 1}), input("high", {1})}));
  expect_same();
  const std::unique_ptr<Graph> copy = rewrite();
  const Operation* clip = copy->outputs()[0]->producer();
  ASSERT_EQ(clip->kind(), OpKind::Clip);
  EXPECT_EQ(clip->input(1)->shape()->rank(), 0u);
  EXPECT_EQ(clip->input(2)->shape()->rank(), 0u);
}

TEST_F(OnnxWriter, MatMulForms) {
  MatMulAttrs attrs;
  attrs.transpose_b = true;
  attrs.alpha = 0.5f;
  attrs.activation = Activation::Silu;
  graph_->add_output(
      "two",
      add(OpKind::MatMul, {input("a", {3, 4}), constant("b", {5, 4}), constant("c", {5})}, attrs));
  attrs.transpose_a = true;
  graph_->add_output(
      "three", add(OpKind::MatMul,
                   {input("d", {2, 4, 3}), constant("e", {2, 5, 4}), constant("f", {5})}, attrs));
  expect_same();
}

TEST_F(OnnxWriter, OpsThatOnnxLacks) {
  Tensor* x = input("x", {2, 3});
  Tensor* positive = add(OpKind::Exp, {x});
  graph_->add_output("rsqrt", add(OpKind::Rsqrt, {positive}));
  SiluAttrs silu;
  silu.alpha = 1.7f;
  graph_->add_output("silu", add(OpKind::Silu, {x}, silu));
  Tensor* shape = graph_->add_ints("shape", std::vector<int64_t>{2, 2});
  graph_->add_output("filled",
                     add(OpKind::Fill, {shape, graph_->add_scalar("v", DType::F32, 2.5)}));
  Tensor* total = add(OpKind::ReduceSum, {x}, ReduceAttrs{false, false});
  graph_->add_output("spread", add(OpKind::Fill, {shape, total}));
  expect_same();
}

TEST_F(OnnxWriter, OutputsThatAreInputsConstantsOrTheSame) {
  Tensor* x = input("x", {2});
  Tensor* y = add(OpKind::Relu, {x});
  graph_->add_output("first", y);
  graph_->add_output("second", y);
  graph_->add_output("passed", x);
  graph_->add_output("fixed", constant("c", {2}));
  expect_same();
}

TEST_F(OnnxWriter, NamesOfTheInterfaceWinOverInnerNames) {
  Tensor* x = input("x", {2});
  OpSpec spec;
  spec.output_names = {"y"};
  Tensor* inner = (*graph_->add(OpKind::Neg, {x}, std::move(spec)))->output();
  graph_->add_output("y", add(OpKind::Relu, {inner}));
  expect_same();
}

TEST_F(OnnxWriter, BodiesReadTheNamesAroundThem) {
  Tensor* x = input("x", {2});
  Tensor* zero = graph_->add_scalar("zero", DType::F32, 0);
  Tensor* condition =
      add(OpKind::Greater, {add(OpKind::ReduceSum, {x}, ReduceAttrs{false, false}), zero});
  std::vector<std::unique_ptr<Graph>> bodies;
  for (const OpKind kind : {OpKind::Neg, OpKind::Identity}) {
    // The same names inside as outside: the writer tells them apart.
    auto body = std::make_unique<Graph>("branch");
    Tensor* captured = body->add_input("x", x->type());
    body->add_output("y", *body->add_single(kind, {captured}));
    bodies.push_back(std::move(body));
  }
  OpSpec spec;
  spec.bodies = std::move(bodies);
  auto op = graph_->add(OpKind::If, {condition, x}, std::move(spec));
  ASSERT_TRUE(op.ok()) << format_diagnostic(op.error().diagnostic());
  graph_->add_output("y", (*op)->output());
  expect_same();
}

TEST_F(OnnxWriter, LargeWeightsGoToASecondFile) {
  Tensor* x = input("x", {64});
  Tensor* sum = add(OpKind::Add, {x, constant("a", {64, 64})});
  graph_->add_output("y", add(OpKind::Mul, {sum, constant("b", {64, 64})}));
  OnnxWriteOptions options;
  options.inline_limit = 1000;
  const auto copy = rewrite(options);
  ASSERT_NE(copy, nullptr);
  EXPECT_LT(fs::file_size(file()), 1000u);
  EXPECT_EQ(fs::file_size(folder_ / "model.onnx.data"), 2u * 64 * 64 * 4);
  EXPECT_EQ(copy->find_tensor("b")->raw_data(), graph_->find_tensor("b")->raw_data());
}

TEST_F(OnnxWriter, TheSameGraphGivesTheSameBytes) {
  graph_->add_output("y",
                     add(OpKind::Silu, {add(OpKind::Add, {input("x", {3}), constant("c", {3})})}));
  ASSERT_NE(rewrite(), nullptr);
  const std::string first = bytes_of(file());
  ASSERT_TRUE(write_onnx(*graph_->clone(), file()).ok());
  EXPECT_EQ(bytes_of(file()), first);
}

TEST_F(OnnxWriter, MetadataAndOpenDimensionsAreKept) {
  graph_->metadata()["onnx.metadata.labels"] = "cat,dog";
  graph_->metadata()["onnx.doc"] = "a test";
  Tensor* x = graph_->add_input("x", TensorType(DType::F32, Shape{Dim::symbol("batch"), 3}));
  graph_->add_output("y", add(OpKind::Relu, {x}));
  const auto copy = rewrite();
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->metadata().at("onnx.metadata.labels"), "cat,dog");
  EXPECT_EQ(copy->metadata().at("onnx.doc"), "a test");
  EXPECT_EQ(copy->inputs()[0]->type(), x->type());
}

TEST_F(OnnxWriter, WhatCannotBeSaidIsAnError) {
  // An integer convolution has no plain ONNX node.
  Tensor* x = graph_->add_input("x", TensorType(DType::I32, Shape{1, 1, 3, 3}));
  const std::vector<int32_t> ones(1, 1);
  Tensor* w = graph_->add_constant<int32_t>("w", Shape{1, 1, 1, 1}, std::span<const int32_t>(ones));
  auto y = graph_->add_single(OpKind::Conv, {x, w}, ConvAttrs{});
  if (!y.ok()) GTEST_SKIP() << "the op itself refuses integers";
  graph_->add_output("y", *y);
  const Status status = write_onnx(*graph_, file());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::ExportFailed);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(OnnxWriter, NothingIsLeftWhenTheFolderIsMissing) {
  graph_->add_output("y", add(OpKind::Relu, {input("x", {1})}));
  const Status status = write_onnx(*graph_, folder_ / "nowhere" / "model.onnx");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::OutputUnwritable);
}

// The attribute for this order came with version 28, which runtimes of today do not load.
TEST_F(OnnxWriter, ColumnRowOrderIsWrittenWithOldOperators) {
  for (const Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast}) {
    graph_ = std::make_unique<Graph>();
    const bool last = layout == Layout::ChannelsLast;
    Tensor* x = last ? input("x", {2, 4, 6, 3}) : input("x", {2, 3, 4, 6});
    SpaceToDepthAttrs attrs;
    attrs.block = 2;
    attrs.order = DepthOrder::Crd;
    attrs.layout = layout;
    graph_->add_output("y", add(OpKind::SpaceToDepth, {x}, attrs));
    EXPECT_EQ(needed_onnx_opset(*graph_), 21);
    expect_same();
  }
}

TEST_F(OnnxWriter, TheLowestOpsetThatHasEverythingIsDeclared) {
  Tensor* x = input("x", {2, 4});
  graph_->add_output("y", add(OpKind::Relu, {x}));
  EXPECT_EQ(needed_onnx_opset(*graph_), 21);
  graph_->add_output("z", add(OpKind::RmsNorm, {x, constant("s", {4})}, LayerNormAttrs{}));
  EXPECT_EQ(needed_onnx_opset(*graph_), 23);
}

}  // namespace
}  // namespace ec
