// Calls whose arguments fit their types and mean nothing: each is refused, or a right graph. Most
// were found by tests/fuzz/op; built with sanitizers, more of them show.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontend/torch/aten/operators.h"
#include "frontend/torch/functional/functionalizer.h"

namespace ec::torch {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

class HostileCalls : public testing::Test {
 protected:
  ec::Tensor* input(std::vector<int64_t> sizes, DType dtype = DType::F32) {
    return graph_.add_input("x", TensorType(dtype, Shape::of(sizes)));
  }
  Result<std::vector<TorchValue>> call(std::string_view name, std::vector<TorchValue> args,
                                       const NamedValues& kwargs = {}) {
    MadeConstants made;
    auto results = torch::call({&graph_, {}, nullptr, &made}, name, args, kwargs);
    if (results.ok()) {
      EXPECT_TRUE(verify(graph_).empty()) << name;
    } else {
      EXPECT_NE(results.error().code(), Code::Internal) << name;
    }
    return results;
  }
  void survives(std::string_view name, std::vector<TorchValue> args) {
    static_cast<void>(call(name, std::move(args)).ok());
  }
  bool refuses(std::string_view name, std::vector<TorchValue> args,
               const NamedValues& kwargs = {}) {
    return !call(name, std::move(args), kwargs).ok();
  }

  ec::Graph graph_;
};

TEST_F(HostileCalls, ScalarsHaveNoDimensions) {
  ec::Tensor* scalar = input({});
  EXPECT_TRUE(refuses("aten::slice", {scalar, 0, 0, 5}));
  EXPECT_TRUE(refuses("aten::stride.int", {scalar, 0}));
  EXPECT_TRUE(refuses("aten::diag_embed", {scalar}));
  EXPECT_TRUE(
      refuses("aten::tensordot", {scalar, scalar, TorchValue::ints({0}), TorchValue::ints({0})}));
  EXPECT_TRUE(refuses("aten::scaled_dot_product_attention", {scalar, scalar, scalar},
                      {{"is_causal", TorchValue(true)}}));
  EXPECT_TRUE(refuses("aten::max_unpool2d", {scalar, scalar, TorchValue::ints({2, 2})}));
  ec::Tensor* zeros = graph_.add_scalar("", DType::F32, 0);
  survives("quantized_decomposed::dequantize_per_channel",
           {input({}, DType::I8), zeros, zeros, 0, -128, 127, 1});
}

TEST_F(HostileCalls, OperandsMayBeMissing) {
  EXPECT_TRUE(refuses("quantized_decomposed::dequantize_per_channel",
                      {input({2, 3}, DType::I8), input({3}), TorchValue(), 1, -128, 127, 1}));
}

TEST_F(HostileCalls, IntegersAreNotQuantised) {
  EXPECT_TRUE(refuses("aten::quantize_per_tensor", {input({2, 3}, DType::I32), 0.5, 0, 13}));
}

TEST_F(HostileCalls, NumbersAtTheEndsOfTheirRange) {
  ec::Tensor* x = input({3, 5});
  for (const int64_t offset : {kLeast, kMost, kMost - 1}) {
    survives("aten::diagonal", {x, offset});
    survives("aten::diagonal_scatter", {x, input({0}), offset});
    EXPECT_TRUE(refuses("aten::diag_embed", {x, offset}));
    EXPECT_TRUE(call("aten::roll", {x, offset, 0}).ok());
    EXPECT_TRUE(refuses("aten::conv2d.padding",
                        {input({1, 2, 8, 8}), input({2, 2, 3, 3}), TorchValue(),
                         TorchValue::ints({1, 1}), "same", TorchValue::ints({offset, 1})}));
    survives("aten::as_strided", {x, TorchValue::ints({3, 5}), TorchValue::ints({offset, 1})});
    survives("aten::im2col",
             {input({1, 2, 8, 8}), TorchValue::ints({3, 3}), TorchValue::ints({offset, 1}),
              TorchValue::ints({0, 0}), TorchValue::ints({1, 1})});
    survives("aten::slice_scatter", {x, x, 0, 0, kMost, offset});
    EXPECT_TRUE(refuses("aten::max_unpool2d", {input({1, 2, 2}), input({1, 2, 2}, DType::I64),
                                               TorchValue::ints({offset, 4})}));
  }
  EXPECT_TRUE(refuses("aten::diagonal", {x, 0, 1, 1}));
  EXPECT_TRUE(refuses("aten::Int", {1e300}));
  EXPECT_TRUE(refuses("aten::Int", {std::nan("")}));
  survives("aten::upsample_nearest2d.vec",
           {input({1, 2, 8, 8}), TorchValue(), TorchValue::list({1e300, 1e300})});
  survives("quantized_decomposed::quantize_per_tensor", {x, 0.5, 5, kLeast, 127, 1});
  survives("quantized_decomposed::quantize_per_tensor", {x, 0.5, 5, kLeast, kMost, 1});
  // Bins of a size that times their number is beyond 64 bits.
  survives("aten::adaptive_avg_pool2d",
           {input({1, 1, int64_t{1} << 40, 1}, DType::I8), TorchValue::ints({7, 1})});
}

TEST_F(HostileCalls, OneCallIsBounded) {
  EXPECT_TRUE(
      refuses("aten::adaptive_avg_pool1d", {input({1, 1, 65537}), TorchValue::ints({65536})}) ||
      graph_.operation_id_bound() < 300'000);
  // Lists of numbers are one constant.
  const size_t before = graph_.operation_id_bound();
  const std::vector<TorchValue> numbers(5000, TorchValue(7));
  const auto made = call("aten::tensor", {TorchValue::list(numbers)});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(graph_.operation_id_bound(), before);
  EXPECT_EQ(made->front().tensor()->type().text(), "i64[5000]");
  EXPECT_EQ(made->front().tensor()->values<int64_t>()[4999], 7);
}

TEST_F(HostileCalls, ConstantsAreCounted) {
  MadeConstants made{0, 1000};
  const CallSite site{&graph_, {}, nullptr, &made};
  EXPECT_TRUE(torch::call(site, "aten::arange", std::vector<TorchValue>{100}).ok());
  EXPECT_EQ(made.bytes, 800u);
  const auto second = torch::call(site, "aten::arange", std::vector<TorchValue>{100});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), Code::TooLarge);
}

// The mark of writing may stand behind any name.
TEST_F(HostileCalls, OnlyTensorsAreWritten) {
  Functionalizer functional;
  const TorchValue x = Functionalizer::adopt({input({2, 3}), false, {}, {}});
  const CallSite site{&graph_, {}, nullptr};
  for (const char* name : {"aten::len_", "aten::size_", "aten::dim_", "prim::device_"}) {
    const auto results = functional.call(site, name, std::vector<TorchValue>{x});
    ASSERT_FALSE(results.ok()) << name;
    EXPECT_EQ(results.error().code(), Code::UnsupportedOp) << name;
  }
  // A squeeze that has nothing to do leaves the tensor what it is.
  ASSERT_TRUE(functional.call(site, "aten::squeeze_", std::vector<TorchValue>{x}).ok());
  EXPECT_TRUE(functional.call(site, "aten::add_", std::vector<TorchValue>{x, 1}).ok());
}

TEST_F(HostileCalls, ViewsOfViewsEnd) {
  Functionalizer functional;
  TorchValue x = Functionalizer::adopt({input({2, 3}), false, {}, {}});
  for (int i = 0; i < 2000; ++i) {
    auto results = functional.call({&graph_, {}, nullptr}, "aten::t", std::vector<TorchValue>{x});
    if (!results.ok()) {
      EXPECT_EQ(results.error().code(), Code::TooDeep);
      return;
    }
    x = results->front();
  }
  FAIL() << "no limit";
}

}  // namespace
}  // namespace ec::torch
