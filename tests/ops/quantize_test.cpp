#include <gtest/gtest.h>

#include <limits>

#include "ops/kernel.h"
#include "ops/op_case.h"

namespace ec::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Quantize, PerTensor) {
  const Value x = f32({8}, {0, 1, 3, -1, 1000, -1000, kNan, kInf});
  const Value scale = scalar(DType::F32, 2);
  // Halves go to even: 0.5 -> 0, 1.5 -> 2, -0.5 -> 0.
  expect_case({OpKind::Quantize,
               {x, scale, scalar(DType::U8, 128)},
               {u8({8}, {128, 128, 130, 128, 255, 0, 0, 255})},
               QuantizeAttrs{}});
  expect_case({OpKind::Quantize,
               {x, scale, scalar(DType::I8, -3)},
               {i8({8}, {-3, -3, -1, -3, 127, -128, -128, 127})},
               QuantizeAttrs{.dtype = DType::I8}});
  expect_case(
      {OpKind::Quantize, {x, scale}, {u8({8}, {0, 0, 2, 0, 255, 0, 0, 255})}, QuantizeAttrs{}});
  expect_case({OpKind::Quantize,
               {i32({2}, {2147483647.0, 7}), scale},
               {tensor(DType::U16, {2}, {65535, 4})},
               QuantizeAttrs{.dtype = DType::U16}});
}

TEST(Quantize, NarrowTypes) {
  const Value x = f32({4}, {-20, -3, 2, 20});
  const Value scale = scalar(DType::F32, 1);
  const auto expect = [&](DType dtype, std::vector<double> y) {
    expect_case(
        {OpKind::Quantize, {x, scale}, {tensor(dtype, {4}, y)}, QuantizeAttrs{.dtype = dtype}});
  };
  expect(DType::I4, {-8, -3, 2, 7});
  expect(DType::U4, {0, 0, 2, 15});
  expect(DType::I2, {-2, -2, 1, 1});
  expect(DType::U2, {0, 0, 2, 3});
  expect(DType::I16, {-20, -3, 2, 20});
  expect(DType::F4E2M1, {-6, -3, 2, 6});
  expect(DType::F8E4M3FN, {-20, -3, 2, 20});
}

TEST(Quantize, SmallFloatsOutOfRange) {
  const Value x = f32({2}, {1000, -1000});
  const Value scale = scalar(DType::F32, 1);
  expect_case({OpKind::Quantize,
               {x, scale},
               {tensor(DType::F8E4M3FN, {2}, {448, -448})},
               QuantizeAttrs{.dtype = DType::F8E4M3FN}});
  expect_case({OpKind::Quantize,
               {x, scale},
               {tensor(DType::F8E4M3FN, {2}, {kNan, kNan})},
               QuantizeAttrs{.dtype = DType::F8E4M3FN, .saturate = false}});
}

TEST(Quantize, PerAxisAndBlocks) {
  const Value x = f32({2, 3}, {2, 4, 6, 2, 4, 6});
  expect_case({OpKind::Quantize,
               {x, f32({2}, {1, 2}), i8({2}, {0, 10})},
               {i8({2, 3}, {2, 4, 6, 11, 12, 13})},
               QuantizeAttrs{.axis = 0, .dtype = DType::I8}});
  expect_case({OpKind::Quantize,
               {x, f32({3}, {1, 2, 3})},
               {i8({2, 3}, {2, 2, 2, 2, 2, 2})},
               QuantizeAttrs{.axis = -1, .dtype = DType::I8}});
  // Three columns in blocks of two: the last block is short.
  expect_case({OpKind::Quantize,
               {x, f32({2, 2}, {1, 2, 0.5, 6}), u8({2, 2}, {0, 1, 2, 3})},
               {u8({2, 3}, {2, 4, 4, 6, 10, 4})},
               QuantizeAttrs{.axis = 1, .block_size = 2}});
  expect_case({OpKind::Quantize,
               {x, f32({1, 3}, {1, 2, 3})},
               {u8({2, 3}, {2, 2, 2, 2, 2, 2})},
               QuantizeAttrs{.axis = 0, .block_size = 2}});
}

TEST(Quantize, HalvesAwayFromZero) {
  expect_case({OpKind::Quantize,
               {f32({4}, {1, 3, -1, -3}), scalar(DType::F32, 2), scalar(DType::I8, 1)},
               {i8({4}, {2, 3, 0, -1})},
               QuantizeAttrs{.dtype = DType::I8, .rounding = Rounding::HalfAway}});
}

// A graph of one op whose tensors carry parameters; returns the result's elements.
Result<Value> run_with_parameters(OpKind kind, const Value& x, std::optional<QuantParams> from,
                                  std::optional<QuantParams> to, Attrs attrs) {
  Graph graph;
  TensorType type = x.type();
  type.quant = std::move(from);
  Tensor* input = graph.add_input("x", std::move(type));
  EC_TRY(Tensor * y, graph.add_single(kind, {input}, std::move(attrs)));
  graph.set_quant(y, std::move(to));
  graph.add_output("y", y);
  EC_TRY(auto results, interpret(graph, std::span(&x, 1)));
  return results[0];
}

TEST(Quantize, ParametersOfTheTensors) {
  const QuantParams half{{0.5f}, {-3}}, axis{{1.0f, 2.0f}, {0, 1}, 0};
  const QuantizeAttrs i8_away{.dtype = DType::I8, .rounding = Rounding::HalfAway};
  auto q =
      run_with_parameters(OpKind::Quantize, f32({4}, {0.25, -0.25, 100, -1}), {}, half, i8_away);
  ASSERT_TRUE(q.ok());
  expect_equal(*q, i8({4}, {-2, -4, 127, -5}));
  q = run_with_parameters(OpKind::Quantize, f32({2, 2}, {1, 2, 3, 4}), {}, axis, i8_away);
  ASSERT_TRUE(q.ok());
  expect_equal(*q, i8({2, 2}, {1, 2, 3, 3}));
  // Requantisation: (q + 3) / 2 in fixed point; ties away from zero on both sides.
  q = run_with_parameters(OpKind::Quantize, i8({4}, {0, -4, 127, -128}), half,
                          QuantParams{{1.0f}, {10}}, i8_away);
  ASSERT_TRUE(q.ok());
  expect_equal(*q, i8({4}, {12, 10, 75, -52}));
  q = run_with_parameters(OpKind::Dequantize, i8({2}, {0, -4}), half, {}, DequantizeAttrs{});
  ASSERT_TRUE(q.ok());
  expect_equal(*q, f32({2}, {1.5, -0.5}));
  EXPECT_FALSE(run_with_parameters(OpKind::Quantize, f32({1}, {1}), {}, {}, i8_away).ok());
  EXPECT_FALSE(
      run_with_parameters(OpKind::Dequantize, i8({1}, {1}), {}, {}, DequantizeAttrs{}).ok());
}

TEST(Dequantize, Granularities) {
  expect_case({OpKind::Dequantize,
               {u8({3}, {0, 128, 255}), scalar(DType::F32, 0.5), scalar(DType::U8, 128)},
               {f32({3}, {-64, 0, 63.5})},
               DequantizeAttrs{}});
  expect_case({OpKind::Dequantize,
               {i8({2, 2}, {1, 2, 3, 4}), f32({2}, {2, 10}), i8({2}, {1, 0})},
               {f32({2, 2}, {0, 20, 4, 40})},
               DequantizeAttrs{.axis = 1}});
  expect_case({OpKind::Dequantize,
               {tensor(DType::I4, {1, 4}, {-8, 7, 1, -1}), f32({1, 2}, {1, 10})},
               {f32({1, 4}, {-8, 7, 10, -10})},
               DequantizeAttrs{.axis = 1, .block_size = 2}});
  expect_case({OpKind::Dequantize,
               {i32({2}, {-2147483648.0, 16777217}), scalar(DType::F32, 1)},
               {f32({2}, {-2147483648.0, 16777216})},
               DequantizeAttrs{}});
  expect_case({OpKind::Dequantize,
               {tensor(DType::F8E5M2, {2}, {1.5, -2}), tensor(DType::F16, {}, {2})},
               {tensor(DType::F16, {2}, {3, -4})},
               DequantizeAttrs{.dtype = DType::F16}});
  expect_case({OpKind::Dequantize,
               {tensor(DType::F4E2M1, {2}, {6, -0.5}), tensor(DType::F8E8M0, {}, {4})},
               {f32({2}, {24, -2})},
               DequantizeAttrs{}});
}

TEST(Quantize, Inference) {
  const Known x = typed(DType::F32, {sym("N"), 6});
  const Known one = typed(DType::F32, {});
  const auto expect_bad = [&](std::vector<Known> inputs, QuantizeAttrs attrs, Code code,
                              std::string_view text) {
    expect_infer_error(OpKind::Quantize, inputs, attrs, code, text);
  };
  expect_types(OpKind::Quantize, {x, one, typed(DType::I8, {})}, QuantizeAttrs{.dtype = DType::I8},
               {"i8[N,6]"});
  expect_types(OpKind::Quantize, {x, typed(DType::F32, {sym("C")})}, QuantizeAttrs{}, {"u8[N,6]"});
  expect_bad({x, typed(DType::F32, {5})}, {}, Code::ShapeMismatch, "axis 1");
  expect_bad({x, typed(DType::F32, {6})}, {.axis = 2}, Code::BadValue, "axis 2");
  expect_bad({x, typed(DType::F32, {1, 6})}, {}, Code::ShapeMismatch, "block size");
  expect_bad({x, typed(DType::F32, {sym("N"), 4})}, {.block_size = 2}, Code::ShapeMismatch,
             "blocks of 2");
  expect_bad({x, one}, {.block_size = -1}, Code::BadValue, "negative");
  expect_bad({x, one, typed(DType::I8, {})}, {}, Code::TypeMismatch, "quantised type");
  expect_bad({x, typed(DType::F32, {6}), typed(DType::U8, {3})}, {}, Code::ShapeMismatch,
             "different shapes");
  expect_bad({x, one}, {.dtype = DType::F32}, Code::TypeMismatch, "not a quantised type");
  expect_bad({typed(DType::U8, {2}), one}, {}, Code::TypeMismatch, "floating point or i32");
  expect_infer_error(OpKind::Dequantize, {x, one}, DequantizeAttrs{}, Code::TypeMismatch,
                     "quantised type");
  expect_infer_error(OpKind::Dequantize, {typed(DType::U8, {2}), one},
                     DequantizeAttrs{.dtype = DType::I8}, Code::TypeMismatch, "floating point");
  expect_infer_error(OpKind::Dequantize, {typed(DType::I32, {}), typed(DType::I32, {})},
                     DequantizeAttrs{}, Code::TypeMismatch, "i32");
}

TEST(DynamicQuantize, Range) {
  expect_case({OpKind::DynamicQuantize,
               {f32({6}, {0, 2, -3, -2.5, 1.34, 0.5})},
               {u8({6}, {153, 255, 0, 26, 221, 179}), scalar(DType::F32, 5.0 / 255),
                scalar(DType::U8, 153)}});
  expect_case({OpKind::DynamicQuantize,
               {f32({2}, {255, 51})},
               {u8({2}, {255, 51}), scalar(DType::F32, 1), scalar(DType::U8, 0)}});
  expect_case({OpKind::DynamicQuantize,
               {f32({1}, {0})},
               {u8({1}, {0}), scalar(DType::F32, 1.0 / 255), scalar(DType::U8, 0)}});
  expect_types(OpKind::DynamicQuantize, {typed(DType::F32, {sym("N")})}, {},
               {"u8[N]", "f32[]", "u8[]"});
}

}  // namespace
}  // namespace ec::test
