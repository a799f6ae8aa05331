// Programs that no converter writes: refused in the user's words, or read as what they say.
#include <gtest/gtest.h>

#include <ctime>

#include "frontend/coreml/nested.h"
#include "program_builder.h"

namespace ec::mil::testing {
namespace {

coreml::Value wide(const std::vector<int64_t>& values) {
  return numbers(DataType::Int64, values, {static_cast<int64_t>(values.size())});
}
coreml::Value bytes(DataType type, const std::vector<uint8_t>& values, std::vector<int64_t> dims) {
  return numbers(type, values, std::move(dims));
}

// A result whose shape the program does not state.
coreml::NamedType any_shape(std::string name, DataType type = DataType::Float32) {
  coreml::NamedType named{std::move(name), ValueType::tensor(type)};
  named.type.variadic = true;
  return named;
}

// A program of one operation on x; all of its other operands are stored.
coreml::Model one(const std::string& type, Parameters parameters, std::vector<int64_t> dims,
                  DataType dtype = DataType::Float32) {
  ProgramBuilder program;
  program.input("x", std::move(dims), dtype);
  program.op(operation(type, parameters, {any_shape("y")}));
  return program.finish({"y"});
}

TEST(CoremlHostile, InterleavedNumbersHaveNoAxis) {
  const Parameter values(std::vector<std::string>{"x", "x"});
  const auto model =
      one("concat", {{"values", values}, {"axis", integer(0)}, {"interleave", flag(true)}}, {});
  EXPECT_EQ(refusal(model).code, Code::BadValue);
}

TEST(CoremlHostile, OneNumberHasNoListOfScales) {
  ProgramBuilder program;
  program.op(operation("constexpr_affine_dequantize",
                       {{"quantized_data", bytes(DataType::Int8, {1}, {})},
                        {"zero_point", bytes(DataType::UInt8, {1}, {1})},
                        {"scale", floats({1})},
                        {"axis", integer(0)}},
                       {any_shape("y")}));
  EXPECT_EQ(refusal(program.finish({"y"})).code, Code::ShapeMismatch);
}

TEST(CoremlHostile, AxesAreNamedOnce) {
  EXPECT_EQ(refusal(one("transpose", {{"x", "x"}, {"perm", ints({0, 0})}}, {2, 2})).code,
            Code::BadValue);
  EXPECT_EQ(refusal(one("expand_dims", {{"x", "x"}, {"axes", ints({0, -4})}}, {2, 2})).code,
            Code::BadValue);
}

TEST(CoremlHostile, NumbersNearTheBorders) {
  constexpr int64_t kMost = INT64_MAX, kLeast = INT64_MIN;
  // One element behind the last one: as numpy does, nothing is there.
  const auto slice = one(
      "slice_by_index",
      {{"x", "x"}, {"begin", wide({kMost})}, {"end", wide({kMost})}, {"squeeze_mask", flags({1})}},
      {4});
  refusal(slice);
  EXPECT_EQ(
      refusal(one("crop",
                  {{"x", "x"}, {"crop_height", wide({0, kLeast})}, {"crop_width", ints({0, 0})}},
                  {1, 1, 4, 4}))
          .code,
      Code::BadValue);
  const auto update = one("slice_update",
                          {{"x", "x"},
                           {"update", floats({9})},
                           {"begin", ints({1})},
                           {"end", ints({4})},
                           {"stride", wide({kMost})}},
                          {4});
  expect_floats(run(update, {value({1, 2, 3, 4}, {4})}), {1, 9, 3, 4});
  const auto weight = floats({1}, {1, 1, 1});
  EXPECT_EQ(
      refusal(one("conv_transpose",
                  {{"x", "x"}, {"weight", weight}, {"output_shape", wide({kLeast})}}, {1, 1, 4}))
          .code,
      Code::BadValue);
  EXPECT_EQ(refusal(one("conv",
                        {{"x", "x"},
                         {"weight", weight},
                         {"pad_type", text("custom")},
                         {"pad", wide({kLeast, kMost})}},
                        {1, 1, 4}))
                .code,
            Code::BadValue);
  EXPECT_EQ(refusal(one("upsample_bilinear", {{"x", "x"}, {"scale_factor_height", number(9e5f)}},
                        {1, 1, int64_t{1} << 44, 1}))
                .code,
            Code::TooLarge);
}

TEST(CoremlHostile, AttentionNeedsThreeDimensionsOfEveryOperand) {
  for (const std::string name : {"query", "key", "value"}) {
    Parameters parameters;
    for (const std::string operand : {"query", "key", "value"})
      parameters.emplace_back(operand,
                              operand == name ? Parameter(floats({1, 2})) : Parameter("x"));
    EXPECT_EQ(refusal(one("scaled_dot_product_attention", parameters, {1, 2, 2})).code,
              Code::ShapeMismatch);
  }
}

// --- compressed weights
// ---------------------------------------------------------------------------

TEST(CoremlHostile, TablesOfNoWeights) {
  ProgramBuilder program;
  program.op(operation(
      "constexpr_lut_to_dense",
      {{"indices", bytes(DataType::UInt8, {}, {2, 0})}, {"lut", floats({1, 2}, {1, 1, 2, 1})}},
      {any_shape("y")}));
  EXPECT_NE(import(program.finish({"y"})), nullptr);
  ProgramBuilder widthless;
  widthless.op(
      operation("constexpr_lut_to_dense",
                {{"indices", bytes(DataType::UInt8, {0, 1}, {2})}, {"lut", floats({}, {1, 2, 0})}},
                {any_shape("y")}));
  EXPECT_EQ(refusal(widthless.finish({"y"})).code, Code::ShapeMismatch);
}

TEST(CoremlHostile, MasksAndIndicesAreSmallIntegers) {
  ProgramBuilder masked;
  masked.op(operation("constexpr_sparse_to_dense",
                      {{"nonzero_data", floats({1, 2})}, {"mask", floats({1, 1})}},
                      {any_shape("y")}));
  EXPECT_EQ(refusal(masked.finish({"y"})).code, Code::TypeMismatch);
  ProgramBuilder table;
  table.op(operation("constexpr_lut_to_dense",
                     {{"indices", ints({0, 1})}, {"lut", floats({1, 2}, {1, 2, 1})}},
                     {any_shape("y")}));
  EXPECT_EQ(refusal(table.finish({"y"})).code, Code::TypeMismatch);
}

// --- state and blocks
// -----------------------------------------------------------------------------

coreml::NamedType state(std::string name, std::vector<int64_t> dims) {
  coreml::NamedType made{std::move(name), {}};
  made.type.kind = ValueType::Kind::State;
  made.type.nested = {ValueType::tensor(DataType::Float32, std::move(dims))};
  return made;
}

TEST(CoremlHostile, StatesKeepTheirRank) {
  ProgramBuilder program;
  program.input("x", {2, coreml::kUnknownSize, 2});
  program.op(operation("coreml_update_state", {{"state", "s"}, {"value", "x"}}, {any_shape("y")}));
  coreml::Model model = program.finish({"y"});
  model.program->functions["main"].inputs.push_back(state("s", {2, 2}));
  EXPECT_EQ(refusal(model).code, Code::TypeMismatch);
}

// Names are cut; a million comparisons of them would be too slow.
TEST(CoremlHostile, StatesWhoseNamesAreCutAlike) {
  ProgramBuilder program;
  program.input("x", {2});
  coreml::Model model = program.finish({"x"});
  auto& inputs = model.program->functions["main"].inputs;
  for (int i = 0; i < 4000; ++i)
    inputs.push_back(state(std::string(1030, 's') + std::to_string(i), {1}));
  const auto begin = std::clock();
  EXPECT_NE(import(model), nullptr);
  EXPECT_LT(std::clock() - begin, 10 * CLOCKS_PER_SEC);
}

// What the branch built for the state stays where the branch itself is refused.
TEST(CoremlHostile, RefusedBranchesMayHaveAssignedAState) {
  coreml::Block then;
  then.operations.push_back(operation("sin", {{"x", "x"}}, {any_shape("t")}));
  then.operations.push_back(operation("write_state", {{"input", "s"}, {"data", "t"}}, {}));
  then.outputs = {"t", "t"};
  coreml::Operation cond = operation("cond", {{"pred", flag(true)}}, {any_shape("c")});
  cond.blocks = {then, then};
  ProgramBuilder program;
  program.input("x", {2, 2});
  program.op(std::move(cond));
  program.op(operation("read_state", {{"input", "s"}}, {any_shape("r")}));
  program.op(operation("cos", {{"x", "r"}}, {any_shape("y")}));
  coreml::Model model = program.finish({"y"});
  model.program->functions["main"].inputs.push_back(state("s", {2, 2}));
  EXPECT_EQ(refusal(model).code, Code::BadArity);
}

TEST(CoremlHostile, NamesOfABlockEndWithIt) {
  coreml::Block inner;
  inner.inputs = {any_shape("i")};
  inner.operations.push_back(operation("sin", {{"x", "i"}}, {any_shape("a")}));
  inner.outputs = {"a"};
  coreml::Block outer;
  outer.operations.push_back(operation("cond", {{"pred", "p"}}, {any_shape("b")}));
  outer.operations.back().blocks = {inner, inner};
  outer.operations.push_back(operation("add", {{"x", "a"}, {"y", "b"}}, {any_shape("c")}));
  outer.outputs = {"c", "i"};
  EXPECT_EQ(free_names({&outer}), (std::vector<std::string>{"p", "a", "i"}));
  EXPECT_EQ(free_names({&inner, &outer}), (std::vector<std::string>{"p", "a", "i"}));
}

}  // namespace
}  // namespace ec::mil::testing
