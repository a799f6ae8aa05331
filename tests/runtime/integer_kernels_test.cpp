// Fast kernels on signed and unsigned bytes, against the reference kernels: every bit is the same,
// on each instruction set and with one and several threads.
#include <gtest/gtest.h>

#include <random>

#include "ops/attrs.h"
#include "runtime/session.h"

namespace ec {
namespace {

struct Numbers {
  DType dtype;
  int32_t input_zero, weight_zero, output_zero;
  bool per_channel = false;
};

const Numbers kNumbers[] = {
    {DType::I8, 3, 0, -7},  {DType::I8, -128, 0, -128, true}, {DType::U8, 128, 128, 128},
    {DType::U8, 0, 117, 0}, {DType::U8, 131, 255, 60},        {DType::U8, 255, 0, 255},
};

class Builder {
 public:
  explicit Builder(const Numbers& numbers) : numbers_(numbers) {}

  Tensor* input(const std::string& name, std::vector<int64_t> shape, float scale = 0.0231f) {
    return graph_->add_input(name, typed(std::move(shape), scale, numbers_.input_zero));
  }
  Tensor* weights(std::vector<int64_t> shape) {
    TensorType type = typed(shape, 0.0043f, numbers_.weight_zero);
    if (numbers_.per_channel) {
      type.quant->axis = 0;
      type.quant->scales.clear();
      for (int64_t c = 0; c < shape[0]; ++c)
        type.quant->scales.push_back(0.002f + 0.0001f * static_cast<float>(c));
      type.quant->zero_points.assign(static_cast<size_t>(shape[0]), 0);
    }
    std::vector<uint8_t> bytes(static_cast<size_t>(*type.num_elements()));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(engine_() % 255 + 1);
    return graph_->add_constant("w", std::move(type),
                                Blob::copy_of(std::span<const uint8_t>(bytes)));
  }
  Tensor* bias(int64_t channels) {
    std::vector<int32_t> values(static_cast<size_t>(channels));
    for (int32_t& value : values) value = static_cast<int32_t>(engine_() % 4000) - 2000;
    TensorType type(DType::I32, Shape{channels});
    type.quant = QuantParams{{0.0001f}, {0}, -1};
    return graph_->add_constant("b", std::move(type),
                                Blob::copy_of(std::span<const int32_t>(values)));
  }
  void output(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs) {
    const auto y = graph_->add_single(kind, std::move(inputs), std::move(attrs));
    ASSERT_TRUE(y.ok()) << y.error().message();
    graph_->set_quant(*y, QuantParams{{0.0517f}, {numbers_.output_zero}, -1});
    graph_->add_output("y", *y);
  }
  // With the parameters of the operand.
  void output_as_input(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs) {
    const QuantParams params = *inputs[0]->type().quant;
    const auto y = graph_->add_single(kind, std::move(inputs), std::move(attrs));
    ASSERT_TRUE(y.ok()) << y.error().message();
    graph_->set_quant(*y, params);
    graph_->add_output("y", *y);
  }
  // Runs the graph on all kernels; the reference decides.
  void expect_equal_bits() const {
    SessionOptions options;
    options.reference = true;
    const Value wanted = run(options);
    options.reference = false;
    for (const kernels::Isa isa : {kernels::Isa::Generic, kernels::Isa::Avx2, kernels::Isa::Avx512})
      for (const int threads : {1, 3}) {
        if (!kernels::isa_available(isa)) continue;
        options.threads = threads;
        options.isa = isa;
        const Value got = run(options);
        EXPECT_TRUE(got.data == wanted.data)
            << kernels::isa_name(isa) << ", " << threads << " threads, zero points "
            << numbers_.input_zero << " " << numbers_.weight_zero << " " << numbers_.output_zero;
      }
  }

 private:
  TensorType typed(std::vector<int64_t> shape, float scale, int32_t zero) const {
    TensorType type(numbers_.dtype, Shape::of(shape));
    type.quant = QuantParams{{scale}, {zero}, -1};
    return type;
  }
  Value run(const SessionOptions& options) const {
    auto session = Session::create(graph_->clone(), options);
    EXPECT_TRUE(session.ok()) << session.error().message();
    const auto inputs = (*session)->random_inputs(11);
    const auto results = (*session)->run(*inputs);
    EXPECT_TRUE(results.ok()) << results.error().message();
    for (const OpTiming& step : (*session)->timings()) {
      EXPECT_EQ(step.fast, !options.reference);
    }
    return results->front();
  }

  Numbers numbers_;
  std::mt19937 engine_{5};
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>("case");
};

ConvAttrs conv(std::vector<int64_t> strides, std::vector<int64_t> pads, int64_t groups = 1) {
  ConvAttrs attrs;
  attrs.layout = Layout::ChannelsLast;
  attrs.strides = std::move(strides);
  attrs.pads = std::move(pads);
  attrs.groups = groups;
  attrs.activation = Activation::Relu6;
  return attrs;
}

class IntegerKernels : public ::testing::TestWithParam<Numbers> {};

TEST_P(IntegerKernels, Convolution) {
  for (const int64_t depth : {3, 8, 21})
    for (const int64_t columns : {5, 40}) {
      Builder b(GetParam());
      Tensor* x = b.input("x", {2, 9, 7, depth});
      b.output(OpKind::Conv, {x, b.weights({columns, 3, 3, depth}), b.bias(columns)},
               conv({2, 1}, {1, 1, 1, 0}));
      b.expect_equal_bits();
    }
}

TEST_P(IntegerKernels, OnePixelWindows) {
  Builder b(GetParam());
  Tensor* x = b.input("x", {1, 6, 11, 20});
  b.output(OpKind::Conv, {x, b.weights({33, 1, 1, 20})}, conv({1, 1}, {0, 0, 0, 0}));
  b.expect_equal_bits();
}

TEST_P(IntegerKernels, Depthwise) {
  for (const int64_t channels : {4, 8, 37}) {
    Builder b(GetParam());
    Tensor* x = b.input("x", {2, 8, 9, channels});
    b.output(OpKind::Conv, {x, b.weights({channels, 3, 3, 1}), b.bias(channels)},
             conv({2, 2}, {1, 1, 1, 1}, channels));
    b.expect_equal_bits();
  }
}

TEST_P(IntegerKernels, Layer) {
  Builder b(GetParam());
  Tensor* x = b.input("x", {3, 50});
  b.output(OpKind::Gemm, {x, b.weights({17, 50}), b.bias(17)}, GemmAttrs{.transpose_b = true});
  b.expect_equal_bits();
}

TEST_P(IntegerKernels, Sum) {
  Builder b(GetParam());
  Tensor* x = b.input("x", {1, 5, 5, 13});
  b.output(OpKind::Add, {x, b.input("z", {1, 5, 5, 13}, 0.0317f)}, NoAttrs{});
  b.expect_equal_bits();
}

// The shapes of two operands: alike, one number, one row for all pixels, on either side.
const std::vector<int64_t> kPairs[][2] = {
    {{2, 5, 5, 13}, {2, 5, 5, 13}}, {{2, 5, 5, 13}, {1}},     {{2, 5, 5, 13}, {1, 1, 1, 13}},
    {{13}, {2, 5, 5, 13}},          {{5, 13}, {2, 5, 5, 13}}, {{1, 1, 1, 1}, {2, 5, 5, 13}},
    {{3, 50, 300}, {300}}};

TEST_P(IntegerKernels, SumsAndDifferences) {
  for (const auto& [first, second] : kPairs)
    for (const OpKind kind : {OpKind::Add, OpKind::Sub}) {
      Builder b(GetParam());
      Tensor* x = b.input("x", first);
      b.output(kind, {x, b.input("z", second, 0.0317f)}, NoAttrs{});
      b.expect_equal_bits();
    }
}

// Of signed bytes; those of others are left to the op table's kernel.
TEST(IntegerProducts, OfSignedBytes) {
  for (const Numbers& numbers : kNumbers)
    for (const auto& [first, second] : kPairs) {
      if (numbers.dtype != DType::I8) continue;
      Builder b(numbers);
      Tensor* x = b.input("x", first);
      b.output(OpKind::Mul, {x, b.input("z", second, 0.0317f)}, NoAttrs{});
      b.expect_equal_bits();
    }
}

TEST_P(IntegerKernels, Functions) {
  for (const OpKind kind : {OpKind::Sigmoid, OpKind::Tanh, OpKind::HardSwish, OpKind::Relu}) {
    Builder b(GetParam());
    Tensor* x = b.input("x", {3, 5, 7, 211});
    b.output(kind, {x}, NoAttrs{});
    b.expect_equal_bits();
  }
}

TEST_P(IntegerKernels, LargestOfWindow) {
  for (const int64_t channels : {3, 32, 77}) {
    Builder b(GetParam());
    Tensor* x = b.input("x", {2, 9, 7, channels});
    PoolAttrs attrs;
    attrs.layout = Layout::ChannelsLast;
    attrs.kernel = {3, 2};
    attrs.strides = {2, 1};
    attrs.pads = {1, 0, 1, 1};
    b.output_as_input(OpKind::MaxPool, {x}, attrs);
    b.expect_equal_bits();
  }
}

INSTANTIATE_TEST_SUITE_P(Bytes, IntegerKernels, ::testing::ValuesIn(kNumbers));

}  // namespace
}  // namespace ec
