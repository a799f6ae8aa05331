// Every limitation of the device: legal neighbours map, illegal graphs are named with what was
// found and what to do.
#include <gtest/gtest.h>

#include <functional>

#include "backend/coral/partition.h"
#include "model_builder.h"

namespace ec::coral {
namespace {

using testing::ModelBuilder;
using namespace tflite;
using Op = BuiltinOperator;
using Type = TensorType;
using Shape = std::vector<int32_t>;

struct Case {
  const char* name;
  Status status;
  const char* words;  // part of the reason
  std::function<void(ModelBuilder&)> build;
  Rules rules = {};
};

// One operator from x to y, with constants behind x.
template <class... Constants>
void unary(ModelBuilder& m, Op code, Shape in, Shape out, Constants... constants) {
  std::vector<int32_t> inputs = {m.tensor("x", std::move(in))};
  (inputs.push_back(constants), ...);
  m.op(code, inputs, {m.tensor("y", std::move(out))});
}

void binary(ModelBuilder& m, Op code, Shape a, Shape b, Shape out) {
  const int32_t left = m.tensor("a", std::move(a)), right = m.tensor("b", std::move(b));
  m.op(code, {left, right}, {m.tensor("y", std::move(out))});
}

void conv(ModelBuilder& m, int32_t dilation_w, int32_t dilation_h, bool constant_weights = true,
          bool constant_bias = true, int32_t batch = 1) {
  const Shape shape = {4, 3, 3, 2};
  const int32_t x = m.tensor("x", {batch, 8, 8, 2});
  const int32_t w = constant_weights ? m.constant("w", shape) : m.tensor("w", shape);
  const int32_t b = constant_bias ? m.constant("b", {4}, Type::INT32) : m.tensor("b", {4});
  const auto options = CreateConv2DOptions(m.fbb(), Padding::SAME, 1, 1,
                                           ActivationFunctionType::NONE, dilation_w, dilation_h);
  m.op(Op::CONV_2D, {x, w, b}, {m.tensor("y", {batch, 8, 8, 4})}, BuiltinOptions::Conv2DOptions,
       options);
}

void depthwise(ModelBuilder& m, int32_t dilation_w, int32_t dilation_h, bool constant = true) {
  const Shape shape = {1, 3, 3, 4};
  const int32_t x = m.tensor("x", {1, 8, 8, 4});
  const int32_t w = constant ? m.constant("w", shape) : m.tensor("w", shape);
  const auto options = CreateDepthwiseConv2DOptions(
      m.fbb(), Padding::SAME, 1, 1, 1, ActivationFunctionType::RELU, dilation_w, dilation_h);
  m.op(Op::DEPTHWISE_CONV_2D, {x, w, -1}, {m.tensor("y", {1, 8, 8, 4})},
       BuiltinOptions::DepthwiseConv2DOptions, options);
}

void dense(
    ModelBuilder& m, int32_t rows, bool constant = true,
    FullyConnectedOptionsWeightsFormat format = FullyConnectedOptionsWeightsFormat::DEFAULT) {
  const int32_t x = m.tensor("x", {rows, 4});
  const int32_t w = constant ? m.constant("w", {8, 4}) : m.tensor("w", {8, 4});
  m.op(Op::FULLY_CONNECTED, {x, w, -1}, {m.tensor("y", {rows, 8})},
       BuiltinOptions::FullyConnectedOptions,
       CreateFullyConnectedOptions(m.fbb(), ActivationFunctionType::NONE, format));
}

void pool(ModelBuilder& m, Op code, ActivationFunctionType activation) {
  const int32_t x = m.tensor("x", {1, 8, 8, 4});
  m.op(code, {x}, {m.tensor("y", {1, 4, 4, 4})}, BuiltinOptions::Pool2DOptions,
       CreatePool2DOptions(m.fbb(), Padding::VALID, 2, 2, 2, 2, activation));
}

void concat(ModelBuilder& m, std::vector<int32_t> inputs, int32_t channels,
            ActivationFunctionType activation = ActivationFunctionType::NONE) {
  m.op(Op::CONCATENATION, inputs, {m.tensor("y", {1, 8, 8, channels})},
       BuiltinOptions::ConcatenationOptions, CreateConcatenationOptions(m.fbb(), 3, activation));
}

void strided(ModelBuilder& m, std::vector<int32_t> strides, int32_t ellipsis = 0,
             int32_t new_axis = 0) {
  const int32_t x = m.tensor("x", {1, 8, 8, 4}), begin = m.integers("begin", {0, 0, 0, 0}),
                end = m.integers("end", {1, 8, 8, 4}), step = m.integers("step", strides);
  m.op(Op::STRIDED_SLICE, {x, begin, end, step}, {m.tensor("y", {1, 8, 8, 4})},
       BuiltinOptions::StridedSliceOptions,
       CreateStridedSliceOptions(m.fbb(), 0, 0, ellipsis, new_axis, 0));
}

void unsupported(ModelBuilder& m, Op code) { unary(m, code, {1, 4, 4, 4}, {1, 4, 4, 4}); }

const Case kLegal[] = {
    {"conv", Status::Mapped, "", [](auto& m) { conv(m, 1, 1); }},
    {"conv_dilated", Status::Mapped, "", [](auto& m) { conv(m, 2, 2); }},
    {"depthwise_dilated", Status::Mapped, "", [](auto& m) { depthwise(m, 2, 2); }},
    {"dense_without_bias", Status::Mapped, "", [](auto& m) { dense(m, 1); }},
    {"average_pool", Status::Mapped, "",
     [](auto& m) { pool(m, Op::AVERAGE_POOL_2D, ActivationFunctionType::NONE); }},
    {"concat", Status::Mapped, "",
     [](auto& m) {
       concat(m, {m.tensor("a", {1, 8, 8, 2}), m.tensor("b", {1, 8, 8, 2})}, 4);
     }},
    {"concat_zeros", Status::Mapped, "",
     [](auto& m) {
       concat(m, {m.tensor("a", {1, 8, 8, 2}), m.constant("z", {1, 8, 8, 2})}, 4);
     }},
    {"mean_of_image", Status::Mapped, "",
     [](auto& m) {
       unary(m, Op::MEAN, {1, 8, 8, 3}, {1, 3}, m.integers("axes", {1, 2}));
     }},
    {"mean_of_channels", Status::Mapped, "",
     [](auto& m) {
       unary(m, Op::MEAN, {1, 8, 8, 8}, {1, 8, 8}, m.integers("axes", {-1}));
     }},
    {"pad", Status::Mapped, "",
     [](auto& m) {
       unary(m, Op::PAD, {1, 8, 8, 3}, {1, 10, 10, 3}, m.integers("p", {0, 0, 1, 1, 1, 1, 0, 0}));
     }},
    {"prelu", Status::Mapped, "",
     [](auto& m) {
       unary(m, Op::PRELU, {1, 8, 8, 3}, {1, 8, 8, 3}, m.constant("s", {1, 1, 3}));
     }},
    {"softmax", Status::Mapped, "",
     [](auto& m) {
       unary(m, Op::SOFTMAX, {1, 1001}, {1, 1001});
     }},
    {"softmax_seen", Status::Mapped, "",
     [](auto& m) {
       unary(m, Op::SOFTMAX, {1, 16384}, {1, 16384});
     }},
    {"resize_twice", Status::Mapped, "",
     [](auto& m) {
       unary(m, Op::RESIZE_BILINEAR, {1, 6, 6, 4}, {1, 12, 12, 4}, m.integers("s", {12, 12}));
     }},
    {"strided_slice", Status::Mapped, "",
     [](auto& m) {
       strided(m, {1, 1, 1, 1});
     }},
    {"tile_seen", Status::Mapped, "",
     [](auto& m) {
       unary(m, Op::TILE, {1, 1, 1, 8}, {1, 4, 4, 8}, m.integers("n", {1, 4, 4, 1}));
     }},
    {"types_may_change", Status::Mapped, "",
     [](auto& m) {
       m.op(Op::QUANTIZE, {m.tensor("x", {1, 4}, Type::UINT8)}, {m.tensor("y", {1, 4})});
     }},
    {"rank_5_of_ones", Status::Mapped, "",
     [](auto& m) {
       unary(m, Op::TANH, {1, 1, 4, 4, 4}, {1, 1, 4, 4, 4});
     }},
};

const Case kIllegal[] = {
    {"conv_dilation", Status::Limited, "2x3", [](auto& m) { conv(m, 3, 2); }},
    {"conv_weights", Status::NotConstant, "'w'", [](auto& m) { conv(m, 1, 1, false); }},
    {"conv_bias", Status::NotConstant, "'b'", [](auto& m) { conv(m, 1, 1, true, false); }},
    {"conv_batch", Status::Rank, "2x8x8x2", [](auto& m) { conv(m, 1, 1, true, true, 2); }},
    {"depthwise_dilation", Status::Limited, "2x1", [](auto& m) { depthwise(m, 1, 2); }},
    {"depthwise_weights", Status::NotConstant, "'w'", [](auto& m) { depthwise(m, 1, 1, false); }},
    {"depthwise_old", Status::Limited, "runtime 12", [](auto& m) { depthwise(m, 2, 2); }, {12}},
    {"dense_rows", Status::Limited, "4x8", [](auto& m) { dense(m, 4); }},
    {"dense_weights", Status::NotConstant, "'w'", [](auto& m) { dense(m, 1, false); }},
    {"dense_shuffled", Status::Limited, "shuffled",
     [](auto& m) { dense(m, 1, true, FullyConnectedOptionsWeightsFormat::SHUFFLED4x16INT8); }},
    {"average_pool_relu", Status::Limited, "activation",
     [](auto& m) { pool(m, Op::AVERAGE_POOL_2D, ActivationFunctionType::RELU); }},
    {"max_pool_relu6", Status::Limited, "activation",
     [](auto& m) { pool(m, Op::MAX_POOL_2D, ActivationFunctionType::RELU6); }},
    {"concat_relu", Status::Limited, "activation",
     [](auto& m) {
       concat(m, {m.tensor("a", {1, 8, 8, 2}), m.tensor("b", {1, 8, 8, 2})}, 4,
              ActivationFunctionType::RELU);
     }},
    {"concat_constant_of_three", Status::Limited, "one of 3",
     [](auto& m) {
       concat(m,
              {m.tensor("a", {1, 8, 8, 2}), m.tensor("b", {1, 8, 8, 2}),
               m.constant("z", {1, 8, 8, 2})},
              6);
     }},
    {"concat_constant", Status::Limited, "not all zero",
     [](auto& m) {
       concat(m, {m.tensor("a", {1, 8, 8, 2}), m.constant("c", {1, 8, 8, 2}, Type::INT8, {7})}, 4);
     }},
    {"mean_batch", Status::Limited, "batch",
     [](auto& m) {
       unary(m, Op::MEAN, {1, 8, 8, 4}, {8, 8, 4}, m.integers("axes", {0}));
     }},
    {"mean_channels", Status::Limited, "6 channels",
     [](auto& m) {
       unary(m, Op::MEAN, {1, 8, 8, 6}, {1, 8, 8}, m.integers("axes", {3}));
     }},
    {"mean_channels_old",
     Status::Limited,
     "runtime 12",
     [](auto& m) {
       unary(m, Op::MEAN, {1, 8, 8, 8}, {1, 8, 8}, m.integers("axes", {3}));
     },
     {12}},
    {"sum_batch", Status::Limited, "batch",
     [](auto& m) {
       unary(m, Op::SUM, {1, 8, 8, 4}, {8, 8, 4}, m.integers("axes", {0}));
     }},
    {"reduce_max_batch", Status::Limited, "batch",
     [](auto& m) {
       unary(m, Op::REDUCE_MAX, {1, 8, 8, 4}, {8, 8, 4}, m.integers("axes", {-4}));
     }},
    {"reduce_min_batch", Status::Limited, "batch",
     [](auto& m) {
       unary(m, Op::REDUCE_MIN, {1, 8, 8, 4}, {8, 8, 4}, m.integers("axes", {0}));
     }},
    {"reduce_max_old",
     Status::NotSupported,
     "runtime 14",
     [](auto& m) {
       unary(m, Op::REDUCE_MAX, {1, 8, 8, 4}, {1, 4}, m.integers("axes", {1, 2}));
     },
     {13}},
    {"pad_batch", Status::Limited, "batch",
     [](auto& m) {
       unary(m, Op::PAD, {1, 8, 8, 3}, {1, 8, 8, 3}, m.integers("p", {1, 0, 0, 0, 0, 0, 0, 0}));
     }},
    {"pad_channels_old",
     Status::Limited,
     "runtime 12",
     [](auto& m) {
       unary(m, Op::PAD, {1, 8, 8, 3}, {1, 8, 8, 4}, m.integers("p", {0, 0, 0, 0, 0, 0, 0, 1}));
     },
     {12}},
    {"prelu_full", Status::Limited, "8x8x3",
     [](auto& m) {
       unary(m, Op::PRELU, {1, 8, 8, 3}, {1, 8, 8, 3}, m.constant("s", {8, 8, 3}));
     }},
    {"softmax_rows", Status::Limited, "4x10",
     [](auto& m) {
       unary(m, Op::SOFTMAX, {4, 10}, {4, 10});
     }},
    {"softmax_large", Status::Limited, "20000",
     [](auto& m) {
       unary(m, Op::SOFTMAX, {1, 20000}, {1, 20000});
     }},
    {"softmax_published",
     Status::Limited,
     "16384",
     [](auto& m) {
       unary(m, Op::SOFTMAX, {1, 16384}, {1, 16384});
     },
     {14, Evidence::Published}},
    {"resize_large", Status::Limited, "33x33 to 513x513",
     [](auto& m) {
       unary(m, Op::RESIZE_BILINEAR, {1, 33, 33, 4}, {1, 513, 513, 4}, m.integers("s", {513, 513}));
     }},
    {"resize_nearest_large", Status::Limited, "1x1 to 33x33",
     [](auto& m) {
       unary(m, Op::RESIZE_NEAREST_NEIGHBOR, {1, 1, 1, 4}, {1, 33, 33, 4},
             m.integers("s", {33, 33}));
     }},
    {"strided_slice_step", Status::Limited, "stride of 2",
     [](auto& m) {
       strided(m, {1, 2, 2, 1});
     }},
    {"strided_slice_ellipsis", Status::Limited, "ellipsis",
     [](auto& m) {
       strided(m, {1, 1, 1, 1}, 2);
     }},
    {"strided_slice_new_axis", Status::Limited, "adds a dimension",
     [](auto& m) {
       strided(m, {1, 1, 1, 1}, 0, 1);
     }},
    {"tile_published",
     Status::NotSupported,
     "no TILE",
     [](auto& m) {
       unary(m, Op::TILE, {1, 1, 1, 8}, {1, 4, 4, 8}, m.integers("n", {1, 4, 4, 1}));
     },
     {14, Evidence::Published}},
    {"transpose_old",
     Status::NotSupported,
     "runtime 14",
     [](auto& m) {
       unary(m, Op::TRANSPOSE, {1, 4, 4, 4}, {1, 4, 4, 4}, m.integers("p", {0, 2, 1, 3}));
     },
     {13}},
    {"pack_batch", Status::Limited, "batch",
     [](auto& m) {
       m.op(Op::PACK, {m.tensor("a", {4, 4, 4})}, {m.tensor("y", {1, 4, 4, 4})},
            BuiltinOptions::PackOptions, CreatePackOptions(m.fbb(), 1, 0));
     }},
    {"split_batch", Status::Limited, "batch",
     [](auto& m) {
       const int32_t axis = m.integers("axis", {0}), x = m.tensor("x", {1, 4, 4, 4});
       m.op(Op::SPLIT, {axis, x}, {m.tensor("y", {1, 4, 4, 4})}, BuiltinOptions::SplitOptions,
            CreateSplitOptions(m.fbb(), 1));
     }},
    {"squeeze_inner_old",
     Status::Limited,
     "inner",
     [](auto& m) {
       unary(m, Op::SQUEEZE, {1, 4, 1, 4}, {1, 4, 4});
     },
     {12}},
    {"quantize_old",
     Status::NotSupported,
     "runtime 13",
     [](auto& m) {
       unary(m, Op::QUANTIZE, {1, 4}, {1, 4});
     },
     {12}},
    {"float_add", Status::DataType, "float32",
     [](auto& m) {
       const int32_t a = m.tensor("a", {1, 4}, Type::FLOAT32);
       m.op(Op::ADD, {a, a}, {m.tensor("y", {1, 4}, Type::FLOAT32)});
     }},
    {"int32_mul", Status::DataType, "int32",
     [](auto& m) {
       const int32_t a = m.tensor("a", {1, 4}, Type::INT32);
       m.op(Op::MUL, {a, a}, {m.tensor("y", {1, 4}, Type::INT32)});
     }},
    {"int16_add", Status::DataType, "int16",
     [](auto& m) {
       const int32_t a = m.tensor("a", {1, 4}, Type::INT16);
       m.op(Op::ADD, {a, a}, {m.tensor("y", {1, 4}, Type::INT16)});
     }},
    {"float_quantize", Status::DataType, "float32",
     [](auto& m) {
       m.op(Op::QUANTIZE, {m.tensor("x", {1, 4}, Type::FLOAT32)}, {m.tensor("y", {1, 4})});
     }},
    {"batch_of_images", Status::Rank, "4x8x8x3",
     [](auto& m) {
       binary(m, Op::ADD, {4, 8, 8, 3}, {4, 8, 8, 3}, {4, 8, 8, 3});
     }},
    {"video", Status::Rank, "1x2x8x8x3",
     [](auto& m) {
       unary(m, Op::TANH, {1, 2, 8, 8, 3}, {1, 2, 8, 8, 3});
     }},
    {"arg_max", Status::NotSupported, "no ARG_MAX", [](auto& m) { unsupported(m, Op::ARG_MAX); }},
    {"cast", Status::NotSupported, "no CAST", [](auto& m) { unsupported(m, Op::CAST); }},
    {"div", Status::NotSupported, "no DIV", [](auto& m) { unsupported(m, Op::DIV); }},
    {"elu", Status::NotSupported, "no ELU", [](auto& m) { unsupported(m, Op::ELU); }},
    {"hard_swish", Status::NotSupported, "no HARD_SWISH",
     [](auto& m) { unsupported(m, Op::HARD_SWISH); }},
    {"leaky_relu", Status::NotSupported, "no LEAKY_RELU",
     [](auto& m) { unsupported(m, Op::LEAKY_RELU); }},
    {"batch_matmul", Status::NotSupported, "no BATCH_MATMUL",
     [](auto& m) {
       binary(m, Op::BATCH_MATMUL, {1, 4, 4}, {1, 4, 4}, {1, 4, 4});
     }},
    {"gather", Status::NotSupported, "no GATHER",
     [](auto& m) {
       unary(m, Op::GATHER, {1, 4, 4, 4}, {1, 4, 4, 4}, m.integers("i", {0}));
     }},
    {"dequantize", Status::NotSupported, "no DEQUANTIZE",
     [](auto& m) {
       m.op(Op::DEQUANTIZE, {m.tensor("x", {1, 4})}, {m.tensor("y", {1, 4}, Type::FLOAT32)});
     }},
    {"custom", Status::NotSupported, "no my_op",
     [](auto& m) {
       m.custom("my_op", {m.tensor("x", {1, 4})}, {m.tensor("y", {1, 4})});
     }},
};

std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

class CoralLegal : public ::testing::TestWithParam<Case> {};
TEST_P(CoralLegal, Maps) {
  ModelBuilder m;
  GetParam().build(m);
  Result<ModelFile> file = m.finish();
  ASSERT_TRUE(file.ok()) << file.error().diagnostic().message;
  const Partition p = partition(*file, GetParam().rules);
  ASSERT_EQ(p.operators.size(), 1u);
  EXPECT_EQ(status_text(p.operators[0].verdict.status), status_text(Status::Mapped))
      << p.operators[0].verdict.reason;
}
INSTANTIATE_TEST_SUITE_P(Rules, CoralLegal, ::testing::ValuesIn(kLegal), case_name);

class CoralIllegal : public ::testing::TestWithParam<Case> {};
TEST_P(CoralIllegal, IsNamedWithLimitValueAndFix) {
  ModelBuilder m;
  GetParam().build(m);
  Result<ModelFile> file = m.finish();
  ASSERT_TRUE(file.ok()) << file.error().diagnostic().message;
  const Partition p = partition(*file, GetParam().rules);
  ASSERT_EQ(p.operators.size(), 1u);
  const Verdict& verdict = p.operators[0].verdict;
  EXPECT_EQ(status_text(verdict.status), status_text(GetParam().status)) << verdict.reason;
  EXPECT_NE(verdict.reason.find(GetParam().words), std::string::npos) << verdict.reason;
  EXPECT_FALSE(verdict.fix.empty());
  EXPECT_EQ(p.operators[0].node, "y");
  EXPECT_EQ(p.mapped, 0u);
}
INSTANTIATE_TEST_SUITE_P(Rules, CoralIllegal, ::testing::ValuesIn(kIllegal), case_name);

TEST(CoralRules, ThereAreFiftyIllegalGraphs) { EXPECT_GE(std::size(kIllegal), 50u); }

}  // namespace
}  // namespace ec::coral
