// Weights that are stored in fewer bits.
#include "frontend/coreml/constant.h"
#include "frontend/coreml/expand.h"
#include "frontend/coreml/program_builder.h"

namespace ec::mil::testing {
namespace {

Blob bytes(const std::vector<uint8_t>& values) {
  return Blob::copy_of(std::span<const uint8_t>(values));
}
std::vector<int> ints_of(const Blob& blob) {
  std::vector<int> values;
  for (const std::byte b : blob.bytes()) values.push_back(static_cast<int8_t>(b));
  return values;
}

coreml::Value packed(DataType type, const std::vector<uint8_t>& data, std::vector<int64_t> dims) {
  coreml::Value value;
  value.type = ValueType::tensor(type, std::move(dims));
  value.data = bytes(data);
  return value;
}

// The sum of x (of the weights' shape, all ones) and a compressed weight.
std::vector<Value> weight(const std::string& type, const Parameters& parameters,
                          std::vector<int64_t> dims, int opset = 8) {
  int64_t count = 1;
  for (const int64_t size : dims) count *= size;
  return run(ProgramBuilder(opset)
                 .input("x", dims)
                 .op(type, parameters, "w", dims)
                 .op("add", {{"x", "x"}, {"y", "w"}}, "y", dims)
                 .finish({"y"}),
             {value(std::vector<float>(static_cast<size_t>(count), 0.0f), dims)});
}

TEST(CoremlWeights, BitsAreUnpackedFromTheLowestOn) {
  EXPECT_EQ(ints_of(unpack_bits(bytes({0b11100100}), 2, false, 4)), (std::vector<int>{0, 1, 2, 3}));
  // Elements of three bits straddle bytes.
  EXPECT_EQ(ints_of(unpack_bits(bytes({0b10'001'000, 0b1'100'011'0}), 3, false, 5)),
            (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(ints_of(unpack_bits(bytes({0x8F}), 4, true, 2)), (std::vector<int>{-1, -8}));
  EXPECT_TRUE(unpack_bits(bytes({0}), 4, false, 3).empty());
}

TEST(CoremlWeights, AffineByChannel) {
  expect_floats(weight("constexpr_affine_dequantize",
                       {{"quantized_data", packed(DataType::UInt8, {1, 2, 3, 4}, {2, 2})},
                        {"zero_point", packed(DataType::UInt8, {1, 2}, {2})},
                        {"scale", floats({1, 10})},
                        {"axis", integer(0)}},
                       {2, 2}),
                {0, 1, 10, 20});
}

TEST(CoremlWeights, AffineWithFloatZeroPoint) {
  expect_floats(weight("constexpr_affine_dequantize",
                       {{"quantized_data", packed(DataType::UInt8, {1, 2}, {2})},
                        {"zero_point", number(0.5f)},
                        {"scale", number(2)},
                        {"axis", integer(0)}},
                       {2}),
                {1, 3});
}

TEST(CoremlWeights, BlocksAlongOneAndTwoAxes) {
  const coreml::Value data = packed(DataType::Int4, {0x21, 0x43, 0x65, 0x87}, {2, 4});
  expect_floats(weight("constexpr_blockwise_shift_scale",
                       {{"data", data}, {"scale", floats({1, 10, 100, 1000}, {2, 2})}}, {2, 4}),
                {1, 2, 30, 40, 500, 600, 7000, -8000});
  expect_floats(weight("constexpr_blockwise_shift_scale",
                       {{"data", data}, {"scale", floats({1, 10}, {1, 2})}}, {2, 4}),
                {1, 2, 30, 40, 5, 6, 70, -80});
  const coreml::Value square =
      packed(DataType::Int8, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {4, 4});
  expect_floats(weight("constexpr_blockwise_shift_scale",
                       {{"data", square}, {"scale", floats({1, 2, 3, 4}, {2, 2})}}, {4, 4}),
                {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4});
}

TEST(CoremlWeights, TablesByOperatorSet) {
  const coreml::Value table = floats({5, 6, 7, 8});
  expect_floats(weight("constexpr_lut_to_dense",
                       {{"indices", packed(DataType::UInt8, {0b11100100}, {1})},
                        {"lut", table},
                        {"shape", numbers(DataType::UInt32, std::vector<uint32_t>{2, 2}, {2})}},
                       {2, 2}, 6),
                {5, 6, 7, 8});
  // One table for each row.
  expect_floats(weight("constexpr_lut_to_dense",
                       {{"indices", packed(DataType::UInt1, {0b0110}, {2, 2})},
                        {"lut", floats({5, 6, 7, 8}, {2, 1, 2, 1})}},
                       {2, 2}),
                {5, 6, 8, 7});
  // Vectors of two along the first dimension.
  expect_floats(weight("constexpr_lut_to_dense",
                       {{"indices", packed(DataType::UInt1, {0b10}, {1, 2})},
                        {"lut", floats({5, 6, 7, 8}, {1, 1, 2, 2})},
                        {"vector_axis", integer(0)}},
                       {2, 2}),
                {5, 7, 6, 8});
}

TEST(CoremlWeights, MasksByOperatorSet) {
  expect_floats(weight("constexpr_sparse_to_dense",
                       {{"nonzero_data", floats({5, 6})},
                        {"mask", packed(DataType::UInt8, {0b1010}, {1})},
                        {"shape", numbers(DataType::UInt32, std::vector<uint32_t>{2, 2}, {2})}},
                       {2, 2}, 6),
                {0, 5, 0, 6});
  expect_floats(weight("constexpr_sparse_to_dense",
                       {{"nonzero_data", floats({5, 6})},
                        {"mask", packed(DataType::UInt1, {0b1010}, {2, 2})}},
                       {2, 2}),
                {0, 5, 0, 6});
}

TEST(CoremlWeights, RefusesTablesAndMasksThatDoNotFit) {
  const auto refused = [](const std::string& type, const Parameters& parameters) {
    return refusal(
               ProgramBuilder().input("x", {2, 2}).op(type, parameters, "w", {2, 2}).finish({"w"}))
        .code;
  };
  EXPECT_EQ(
      refused("constexpr_lut_to_dense", {{"indices", packed(DataType::UInt8, {0, 1, 2, 3}, {2, 2})},
                                         {"lut", floats({5, 6}, {1, 1, 2, 1})}}),
      Code::BadTensorData);
  EXPECT_EQ(
      refused("constexpr_sparse_to_dense", {{"nonzero_data", floats({5, 6, 7})},
                                            {"mask", packed(DataType::UInt1, {0b1010}, {2, 2})}}),
      Code::ShapeMismatch);
}

TEST(CoremlWeights, ASmallFileCannotAskForMuchMemory) {
  const auto model = ProgramBuilder(6)
                         .input("x", {1})
                         .op("constexpr_lut_to_dense",
                             {{"indices", packed(DataType::UInt8, {0}, {1})},
                              {"lut", floats({5, 6})},
                              {"shape", numbers(DataType::UInt32,
                                                std::vector<uint32_t>{1u << 20, 1u << 12}, {2})}},
                             "w", {1 << 20, 1 << 12})
                         .finish({"w"});
  DiagnosticSink sink;
  EXPECT_FALSE(import_coreml(model, "test", 1000, {}, sink).ok());
  ASSERT_FALSE(sink.diagnostics().empty());
  EXPECT_EQ(sink.diagnostics()[0].code, Code::TooLarge);
}

}  // namespace
}  // namespace ec::mil::testing
