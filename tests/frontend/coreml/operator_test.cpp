// Operators in small programs: what parameters mean, and what stands in for those that are absent.
#include "frontend/coreml/program_builder.h"

namespace ec::mil::testing {
namespace {

// The outputs of one operator with one input x and one result y.
std::vector<Value> one(const std::string& type, Parameters parameters, const Value& x,
                       std::vector<int64_t> dims, int opset = 8) {
  parameters.emplace_back("x", "x");
  return run(ProgramBuilder(opset)
                 .input("x", x.shape)
                 .op(type, parameters, "y", std::move(dims))
                 .finish({"y"}),
             {x});
}

TEST(CoremlOperators, Activations) {
  const Value x = value({-2, -0.5f, 0.5f, 3}, {4});
  expect_floats(one("thresholded_relu", {{"alpha", number(0.5f)}}, x, {4}), {0, 0, 0.5f, 3});
  expect_floats(one("clamped_relu", {{"alpha", number(0.1f)}, {"beta", number(2)}}, x, {4}),
                {-0.2f, -0.05f, 0.5f, 2});
  expect_floats(one("linear_activation", {{"alpha", number(2)}, {"beta", number(1)}}, x, {4}),
                {-3, 0, 2, 7});
  expect_floats(one("sigmoid_hard", {{"alpha", number(0.5f)}, {"beta", number(0.5f)}}, x, {4}),
                {0, 0.25f, 0.75f, 1});
  expect_floats(one("clip", {{"alpha", number(-1)}, {"beta", number(1)}}, x, {4}),
                {-1, -0.5f, 0.5f, 1});
}

TEST(CoremlOperators, EpsilonsAreAdded) {
  const Value x = value({1, 3}, {2});
  expect_floats(one("inverse", {{"epsilon", number(1)}}, x, {2}), {0.5f, 0.25f});
  expect_floats(one("rsqrt", {{"epsilon", number(1)}}, x, {2}), {0.70710678f, 0.5f});
  // The default of inverse is no small number.
  expect_floats(one("inverse", {}, value({0}, {1}), {1}), {1e4f});
}

TEST(CoremlOperators, ConvolutionPads) {
  const Value x = value({1, 2, 3, 4, 5}, {1, 1, 5});
  const auto conv = [&](Parameters parameters, int64_t size) {
    parameters.emplace_back("weight", floats({1, 10}, {1, 1, 2}));
    return one("conv", parameters, x, {1, 1, size});
  };
  expect_floats(conv({}, 4), {21, 32, 43, 54});
  expect_floats(conv({{"pad_type", text("same")}}, 5), {21, 32, 43, 54, 5});
  expect_floats(conv({{"pad_type", text("same_lower")}}, 5), {10, 21, 32, 43, 54});
  expect_floats(conv({{"pad_type", text("custom")}, {"pad", ints({0, 2})}}, 6),
                {21, 32, 43, 54, 5, 0});
  // Pads count only where they are asked for.
  expect_floats(conv({{"pad_type", text("valid")}, {"pad", ints({1, 1})}}, 4), {21, 32, 43, 54});
}

TEST(CoremlOperators, TransposedConvolutionOfAGivenSize) {
  const Value x = value({1, 2}, {1, 1, 2});
  const auto conv = [&](Parameters parameters, int64_t size) {
    parameters.emplace_back("weight", floats({1, 2, 3}, {1, 1, 3}));
    parameters.emplace_back("strides", ints({2}));
    return one("conv_transpose", parameters, x, {1, 1, size});
  };
  expect_floats(conv({}, 5), {1, 2, 5, 4, 6});
  expect_floats(conv({{"output_shape", ints({1, 1, 6})}}, 6), {1, 2, 5, 4, 6, 0});
  expect_floats(conv({{"pad_type", text("custom")}, {"pad", ints({1, 0})}}, 4), {2, 5, 4, 6});
  expect_floats(conv({{"pad_type", text("same")}}, 4), {1, 2, 5, 4});
}

TEST(CoremlOperators, AveragesCountPadsUnlessTheyAreExcluded) {
  const Value x = value({2, 4}, {1, 1, 2});
  const auto pool = [&](bool exclude) {
    return one("avg_pool",
               {{"kernel_sizes", ints({2})},
                {"pad_type", text("custom")},
                {"pad", ints({1, 1})},
                {"exclude_padding_from_average", flag(exclude)}},
               x, {1, 1, 3});
  };
  expect_floats(pool(false), {1, 3, 2});
  expect_floats(pool(true), {2, 3, 4});
}

TEST(CoremlOperators, LinearTakesWeightsByRows) {
  expect_floats(
      one("linear", {{"weight", floats({1, 2, 3, 4}, {2, 2})}, {"bias", floats({10, 20})}},
          value({1, 1}, {1, 2}), {1, 2}),
      {13, 27});
}

TEST(CoremlOperators, NormalisationOverOtherAxesThanTheLast) {
  const Value x = value({1, 10, 3, 30}, {2, 2});
  const auto y = one("layer_norm", {{"axes", ints({0})}, {"epsilon", number(0)}}, x, {2, 2});
  expect_floats(y, {-1, -1, 1, 1});
}

TEST(CoremlOperators, ReductionsDropDimensionsUnlessTheyAreKept) {
  const Value x = value({1, 2, 3, 4}, {2, 2});
  expect_floats(one("reduce_sum", {{"axes", ints({-1})}}, x, {2}), {3, 7});
  expect_floats(one("reduce_sum", {{"axes", ints({-1})}, {"keep_dims", flag(true)}}, x, {2, 1}),
                {3, 7});
  expect_floats(one("reduce_max", {}, x, {}), {4});
}

TEST(CoremlOperators, ZerosOfShapesByOperatorSet) {
  const Value x = value({0, 1, 2, 3, 4, 5}, {1, 2, 3});
  // The sizes of x from the front where there are as many; from iOS 17 on from the end.
  expect_floats(one("reshape", {{"shape", ints({0, 0, -1})}}, x, {1, 2, 3}, 5), {0, 1, 2, 3, 4, 5});
  expect_floats(one("reshape", {{"shape", ints({-1, 0})}}, x, {2, 3}, 7), {0, 1, 2, 3, 4, 5});
  expect_floats(one("reshape", {{"shape", ints({0, 0, 0, 0})}}, x, {1, 1, 2, 3}, 7),
                {0, 1, 2, 3, 4, 5});
}

TEST(CoremlOperators, SlicesWithMasks) {
  const Value x = value({0, 1, 2, 3, 4, 5}, {2, 3});
  expect_floats(one("slice_by_index",
                    {{"begin", ints({1, 0})},
                     {"end", ints({0, 0})},
                     {"end_mask", flags({0, 1})},
                     {"squeeze_mask", flags({1, 0})}},
                    x, {3}),
                {3, 4, 5});
  expect_floats(one("slice_by_index",
                    {{"begin", ints({0, 0})},
                     {"end", ints({0, 0})},
                     {"stride", ints({1, -1})},
                     {"begin_mask", flags({1, 1})},
                     {"end_mask", flags({1, 1})}},
                    x, {2, 3}),
                {2, 1, 0, 5, 4, 3});
  expect_floats(one("slice_by_size", {{"begin", ints({1, 1})}, {"size", ints({1, -1})}}, x, {1, 2}),
                {4, 5});
}

TEST(CoremlOperators, UpdatesOfSlices) {
  const auto update = [](Parameters parameters, const std::vector<float>& values,
                         std::vector<int64_t> dims) {
    parameters.insert(parameters.end(), {{"x", "x"}, {"update", floats(values, std::move(dims))}});
    return run(ProgramBuilder()
                   .input("x", {2, 3})
                   .op("slice_update", parameters, "y", {2, 3})
                   .finish({"y"}),
               {value({0, 1, 2, 3, 4, 5}, {2, 3})});
  };
  expect_floats(update({{"begin", ints({-1, 1})}, {"end", ints({2, 3})}}, {7, 8}, {1, 2}),
                {0, 1, 2, 3, 7, 8});
  expect_floats(update({{"begin", ints({0, 0})}, {"end", ints({2, 3})}, {"stride", ints({1, 2})}},
                       {6, 7, 8, 9}, {2, 2}),
                {6, 1, 7, 8, 4, 9});
}

TEST(CoremlOperators, PadsOfTheLastDimensions) {
  const Value x = value({1, 2}, {1, 2});
  expect_floats(one("pad", {{"pad", ints({1, 2})}, {"constant_val", number(9)}}, x, {1, 5}),
                {9, 1, 2, 9, 9});
  expect_floats(one("pad", {{"pad", ints({1, 0})}, {"mode", text("replicate")}}, x, {1, 3}),
                {1, 1, 2});
}

TEST(CoremlOperators, ScattersAddUnlessTheySayOtherwise) {
  const auto scatter = [](Parameters parameters) {
    parameters.insert(parameters.end(), {{"data", "x"},
                                         {"indices", ints({0, 0})},
                                         {"updates", floats({1, 2, 3, 4}, {2, 2})},
                                         {"axis", integer(1)}});
    return run(
        ProgramBuilder().input("x", {2, 3}).op("scatter", parameters, "y", {2, 3}).finish({"y"}),
        {value({0, 1, 2, 3, 4, 5}, {2, 3})});
  };
  expect_floats(scatter({}), {3, 1, 2, 10, 4, 5});
  expect_floats(scatter({{"mode", text("sub")}}), {-3, 1, 2, -4, 4, 5});
  expect_floats(scatter({{"mode", text("update")}}), {2, 1, 2, 4, 4, 5});
}

TEST(CoremlOperators, GathersWithBatchDimensions) {
  const auto model =
      ProgramBuilder()
          .input("x", {2, 3, 2})
          .op("gather",
              {{"x", "x"},
               {"indices", numbers(DataType::Int32, std::vector<int32_t>{1, 0}, {2, 1})},
               {"axis", integer(2)},
               {"batch_dims", integer(1)}},
              "y", {2, 3, 1})
          .finish({"y"});
  expect_floats(run(model, {value({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {2, 3, 2})}),
                {1, 3, 5, 6, 8, 10});
}

TEST(CoremlOperators, SamplingModesOfResizes) {
  const Value x = value({0, 10}, {1, 1, 1, 2});
  const auto resize = [&](const char* mode, int32_t width) {
    return one("resize_bilinear",
               {{"target_size_height", integer(1)},
                {"target_size_width", integer(width)},
                {"sampling_mode", text(mode)}},
               x, {1, 1, 1, width});
  };
  expect_floats(resize("DEFAULT", 5), {0, 4, 8, 10, 10});
  expect_floats(resize("STRICT_ALIGN_CORNERS", 5), {0, 2.5f, 5, 7.5f, 10});
  expect_floats(resize("ALIGN_CORNERS", 1), {5});
  expect_floats(resize("STRICT_ALIGN_CORNERS", 1), {0});
  expect_floats(resize("UNALIGN_CORNERS", 5), {0, 1, 5, 9, 10});
  expect_floats(resize("OFFSET_CORNERS", 5), {1, 3, 5, 7, 9});
}

TEST(CoremlOperators, CropsOfBoxesByOperatorSet) {
  const Value x = value({0, 1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 3, 3});
  const Parameters common = {{"target_height", integer(2)},
                             {"target_width", integer(2)},
                             {"sampling_mode", text("ALIGN_CORNERS")}};
  Parameters old = common, newer = common;
  old.emplace_back("roi", floats({0, 0, 2, 1}, {1, 1, 4, 1, 1}));
  newer.emplace_back("boxes", floats({0, 0, 2, 1}, {1, 4}));
  newer.emplace_back("box_indices", ints({0}));
  expect_floats(one("crop_resize", old, x, {1, 1, 1, 2, 2}, 6), {0, 1, 6, 7});
  expect_floats(one("crop_resize", newer, x, {1, 1, 2, 2}, 7), {0, 1, 6, 7});
}

TEST(CoremlOperators, GatesOfRecurrentLayers) {
  // One unit. The gates of lstm are i, f, o, z; those of gru r, o, z.
  const auto lstm = ProgramBuilder()
                        .input("x", {2, 1, 1})
                        .op(operation("lstm",
                                      {{"x", "x"},
                                       {"initial_h", floats({0}, {1, 1})},
                                       {"initial_c", floats({1}, {1, 1})},
                                       {"weight_ih", floats({0, 0, 0, 1}, {4, 1})},
                                       {"weight_hh", floats({0, 0, 0, 0}, {4, 1})},
                                       {"bias", floats({100, 0, 100, 0})},
                                       {"activation", text("linear")},
                                       {"cell_activation", text("linear")}},
                                      {{"y", ValueType::tensor(DataType::Float32, {1, 1, 1})},
                                       {"h", ValueType::tensor(DataType::Float32, {1, 1})},
                                       {"c", ValueType::tensor(DataType::Float32, {1, 1})}}))
                        .finish({"y", "c"});
  // c1 = 0.5 * 1 + 2 = 2.5, c2 = 0.5 * 2.5 + 3 = 4.25
  const auto outputs = run(lstm, {value({2, 3}, {2, 1, 1})});
  expect_floats(outputs, {4.25f});
  expect_floats(outputs, {4.25f}, 1);
  const auto gru = [](bool reset_after) {
    return ProgramBuilder()
        .input("x", {1, 1, 1})
        .op(operation("gru",
                      {{"x", "x"},
                       {"initial_h", floats({2}, {1, 1})},
                       {"weight_ih", floats({0, 1, 0}, {3, 1})},
                       {"weight_hh", floats({0, 3, 0}, {3, 1})},
                       {"bias", floats({0, 8, -100})},
                       {"reset_after", flag(reset_after)},
                       {"activation", text("linear")}},
                      {{"y", ValueType::tensor(DataType::Float32, {1, 1, 1})},
                       {"h", ValueType::tensor(DataType::Float32, {1, 1})}}))
        .finish({"h"});
  };
  // r = 0.5, z = 0: h = x + 3 * (0.5 * 2) + 8, or x + 0.5 * (3 * 2 + 8)
  expect_floats(run(gru(false), {value({1}, {1, 1, 1})}), {12});
  expect_floats(run(gru(true), {value({1}, {1, 1, 1})}), {8});
}

TEST(CoremlOperators, SuppressionPadsItsResults) {
  const auto model = ProgramBuilder(7)
                         .input("boxes", {1, 4, 3})
                         .op(operation("non_maximum_suppression",
                                       {{"boxes", "boxes"},
                                        {"scores", floats({0.5f, 0.9f, 0.8f}, {1, 1, 3})},
                                        {"iou_threshold", number(0.5f)},
                                        {"max_boxes", integer(3)}},
                                       {{"b", ValueType::tensor(DataType::Float32, {1, 4, 3})},
                                        {"s", ValueType::tensor(DataType::Float32, {1, 1, 3})},
                                        {"i", ValueType::tensor(DataType::Int32, {1, 3})}}))
                         .finish({"s", "i"});
  // The third box is the second again, with a lower score.
  const auto outputs = run(model, {value({1, 9, 9, 1, 9, 9, 2, 2, 2, 2, 2, 2}, {1, 4, 3})});
  expect_floats(outputs, {0.9f, 0.5f, 0});
  ASSERT_EQ(outputs.size(), 2u);
  const auto indices = outputs[1].as<int32_t>();
  EXPECT_EQ(std::vector<int32_t>(indices.begin(), indices.end()), (std::vector<int32_t>{1, 0, -1}));
}

TEST(CoremlOperators, RefusesWhatDoesNotFitItsDeclaration) {
  const Value x = value({1, 2}, {2});
  const Diagnostic shape =
      refusal(ProgramBuilder().input("x", {2}).op("relu", {{"x", "x"}}, "y", {3}).finish({"y"}));
  EXPECT_EQ(shape.code, Code::ShapeMismatch);
  EXPECT_EQ(shape.op_type, "relu");
  const Diagnostic type = refusal(ProgramBuilder()
                                      .input("x", {2})
                                      .op("relu", {{"x", "x"}}, "y", {2}, DataType::Float16)
                                      .finish({"y"}));
  EXPECT_EQ(type.code, Code::TypeMismatch);
}

TEST(CoremlOperators, RefusesParametersThatAreNotKnown) {
  const Diagnostic unknown = refusal(ProgramBuilder()
                                         .input("x", {2})
                                         .op("relu", {{"x", "x"}, {"slope", number(1)}}, "y", {2})
                                         .finish({"y"}));
  EXPECT_EQ(unknown.code, Code::UnsupportedOpForm);
  EXPECT_NE(unknown.message.find("'slope'"), std::string::npos);
  const Diagnostic missing =
      refusal(ProgramBuilder().input("x", {2}).op("elu", {{"x", "x"}}, "y", {2}).finish({"y"}));
  EXPECT_EQ(missing.code, Code::BadArity);
}

TEST(CoremlOperators, NamesAllThatAreMissingAtOnce) {
  const auto model = ProgramBuilder()
                         .input("x", {2})
                         .op("nonsense", {{"x", "x"}}, "a", {2})
                         .op("relu", {{"x", "a"}}, "b", {2})
                         .op("absurdity", {{"x", "b"}}, "c", {2})
                         .op("nonsense", {{"x", "c"}}, "d", {2})
                         .finish({"d"});
  DiagnosticSink sink;
  EXPECT_FALSE(import_coreml(model, "test", 1000, {}, sink).ok());
  ASSERT_EQ(sink.diagnostics().size(), 2u);
  EXPECT_EQ(sink.diagnostics()[0].op_type, "nonsense");
  EXPECT_EQ(sink.diagnostics()[0].notes,
            std::vector<std::string>{"1 more operations of this kind"});
  EXPECT_EQ(sink.diagnostics()[1].op_type, "absurdity");
  // Those who only look see the whole program.
  KeptOperations kept(KeptOperations::Scope::Unsupported);
  ImportOptions options;
  options.kept = &kept;
  DiagnosticSink quiet;
  const auto graph = import_coreml(model, "test", 1000, options, quiet);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ((*graph)->num_operations(), 4u);
  EXPECT_EQ(kept.operations().size(), 3u);
}

}  // namespace
}  // namespace ec::mil::testing
