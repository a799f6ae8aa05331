// Custom operators whose meaning is published by MediaPipe, and sizes that only a run tells.
#include <flatbuffers/flexbuffers.h>

#include <cmath>
#include <numbers>

#include "frontend/tflite/import_harness.h"

namespace ec::tflite::testing {
namespace {

std::vector<uint8_t> words(const std::vector<int32_t>& list) { return bytes_of<int32_t>(list); }

template <class F>
std::vector<uint8_t> flex(F&& fill) {
  flexbuffers::Builder fbb;
  fbb.Map([&] { fill(fbb); });
  fbb.Finish();
  return fbb.GetBuffer();
}

// One custom operator; tensors without data are its inputs, the last `outputs` its results.
ModelSpec custom_model(std::string code, std::vector<TensorSpec> tensors, size_t outputs,
                       std::vector<uint8_t> options, int32_t version = 1) {
  SubgraphSpec graph;
  OperatorSpec op{.code = BuiltinOperator::CUSTOM,
                  .inputs = {},
                  .outputs = {},
                  .custom_code = std::move(code),
                  .custom_options = std::move(options),
                  .version = version};
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto number = static_cast<int32_t>(i);
    const bool is_output = i + outputs >= tensors.size();
    (is_output ? op.outputs : op.inputs).push_back(number);
    if (is_output)
      graph.outputs.push_back(number);
    else if (tensors[i].data.empty())
      graph.inputs.push_back(number);
  }
  graph.tensors = std::move(tensors);
  graph.operators = {std::move(op)};
  return {.subgraphs = {graph}};
}

TensorSpec tensor(std::string name, std::vector<int32_t> shape, const Floats& data = {}) {
  return {.name = std::move(name), .shape = std::move(shape), .data = bytes_of<float>(data)};
}

TEST(TfliteCustom, TransposedConvolutionWithBias) {
  // Two pixels, a kernel of 3, stride 2: SAME leaves out one element, at the end.
  const auto model = [](std::vector<int32_t> options) {
    return custom_model("Convolution2DTransposeBias",
                        {tensor("x", {1, 1, 2, 1}), tensor("w", {1, 1, 3, 1}, {1, 2, 3}),
                         tensor("b", {1}, {10}), tensor("y", {1, 1, 4, 1})},
                        1, words(options));
  };
  const auto imported = import(model({1, 2, 1}));
  ASSERT_NE(imported->graph, nullptr);
  EXPECT_EQ(run(*imported->graph, {floats({1, 1, 2, 1}, {1, 10})}), (Floats{11, 12, 23, 30}));
  EXPECT_EQ(error_of(model({7, 2, 1})), Code::BadAttribute);
  EXPECT_EQ(error_of(model({1, 0, 1})), Code::BadAttribute);
  EXPECT_EQ(error_of(model({1, 2})), Code::CorruptFile);
}

TEST(TfliteCustom, PoolingWithPlacesAndBack) {
  const std::vector<int32_t> window{2, 2, 2, 2, 2, 0};
  const auto pool = import(custom_model(
      "MaxPoolingWithArgmax2D",
      {tensor("x", {1, 2, 2, 1}), tensor("y", {1, 1, 1, 1}), tensor("at", {1, 1, 1, 1})}, 2,
      words(window)));
  ASSERT_NE(pool->graph, nullptr);
  const Value x = floats({1, 2, 2, 1}, {1, 2, 9, 4});
  EXPECT_EQ(run(*pool->graph, {x}), (Floats{9}));
  EXPECT_EQ(run(*pool->graph, {x}, 1), (Floats{2.1f}));
  const auto unpool = import(custom_model(
      "MaxUnpooling2D",
      {tensor("x", {1, 1, 1, 1}), tensor("at", {1, 1, 1, 1}), tensor("y", {1, 2, 2, 1})}, 1,
      words(window)));
  ASSERT_NE(unpool->graph, nullptr);
  EXPECT_EQ(run(*unpool->graph, {floats({1, 1, 1, 1}, {9}), floats({1, 1, 1, 1}, {2.1f})}),
            (Floats{0, 0, 9, 0}));
}

// x' = 2x + 3y + 4, y' = 5x + 6y + 7; z stays.
const Floats kMatrix{2, 3, 0, 4, 5, 6, 0, 7, 0, 0, 1, 0, 0, 0, 0, 1};

TEST(TfliteCustom, LandmarksAreMoved) {
  const auto v2 = import(custom_model(
      "TransformLandmarks",
      {tensor("x", {1, 2, 3}), tensor("m", {1, 4, 4}, kMatrix), tensor("y", {1, 2, 3})}, 1, {}, 2));
  ASSERT_NE(v2->graph, nullptr);
  EXPECT_EQ(run(*v2->graph, {floats({1, 2, 3}, {1, 1, 9, 0, 2, 8})}),
            (Floats{9, 18, 9, 10, 19, 8}));
  const auto v1 = import(custom_model(
      "TransformLandmarks",
      {tensor("x", {1, 1, 1, 4}), tensor("m", {1, 4, 4}, kMatrix), tensor("y", {1, 1, 1, 4})}, 1,
      flex([](auto& f) {
        f.Int("dimensions", 2);
        f.Float("scale", 10.0f);
      })));
  ASSERT_NE(v1->graph, nullptr);
  EXPECT_EQ(run(*v1->graph, {floats({1, 1, 1, 4}, {1, 1, 0, 2})}), (Floats{45, 81, 46, 82}));
}

TEST(TfliteCustom, MatrixCropsAroundLandmarks) {
  // A square of side 2 around (5, 5), upright: a crop of 4 x 4 pixels twice as wide.
  const auto options = [](bool damaged) {
    return flex([&](auto& f) {
      f.TypedVector("subset_idxs", [&] {
        for (const int i : {0, 1, damaged ? 77 : 2}) f.Int(i);
      });
      f.Int("left_rotation_idx", 0);
      f.Int("right_rotation_idx", 1);
      f.Float("target_rotation_radians", 0.0f);
      f.Int("output_height", 4);
      f.Int("output_width", 4);
      f.Float("scale_x", 2.0f);
      f.Float("scale_y", 2.0f);
    });
  };
  const auto model = [&](bool damaged) {
    return custom_model("Landmarks2TransformMatrix",
                        {tensor("x", {1, 3, 3}), tensor("m", {1, 4, 4})}, 1, options(damaged), 2);
  };
  const auto imported = import(model(false));
  ASSERT_NE(imported->graph, nullptr);
  const Floats m = run(*imported->graph, {floats({1, 3, 3}, {4, 4, 0, 6, 4, 0, 4, 6, 0})});
  EXPECT_EQ(m, (Floats{1, 0, 0, 3, 0, 1, 0, 3, 0, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(error_of(model(true)), Code::BadAttribute);
}

TEST(TfliteCustom, FirstMatrixCountsFromCornerToCorner) {
  const auto options = flex([](auto& f) {
    for (const char* key : {"input_hw", "output_hw"})
      f.TypedVector(key, [&] {
        f.Int(3);
        f.Int(3);
      });
    f.TypedVector("subset", [&] {
      for (const int i : {0, 1, 2}) f.Int(i);
    });
    f.Int("dimensions", 3);
    f.Int("landmarks_range", 8);
    f.Float("bbox_size_multiplier", 1.0f);
    f.Int("left_rotation_idx", 0);
    f.Int("right_rotation_idx", 1);
  });
  const auto imported =
      import(custom_model("Landmarks2TransformMatrix",
                          {tensor("x", {1, 1, 1, 9}), tensor("m", {1, 4, 4})}, 1, options));
  ASSERT_NE(imported->graph, nullptr);
  // The box is the left upper quarter of the range of 8: half of the size, moved by half a pixel.
  const Floats m = run(*imported->graph, {floats({1, 1, 1, 9}, {0, 0, 0, 4, 0, 0, 0, 4, 0})});
  EXPECT_EQ(m, (Floats{.5f, 0, 0, 0, 0, .5f, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}));
}

TEST(TfliteCustom, ImagesAreSampled) {
  const auto model = [](int32_t version, const Floats& matrix) {
    return custom_model(
        "TransformTensorBilinear",
        {tensor("x", {1, 2, 2, 1}), tensor("m", {1, 4, 4}, matrix), tensor("y", {1, 1, 2, 1})}, 1,
        flex([](auto& f) {
          f.Int("output_height", 1);
          f.Int("output_width", 2);
        }),
        version);
  };
  Floats half{.5f, 0, 0, .25f, 0, 1, 0, .5f, 0, 0, 1, 0, 0, 0, 0, 1};
  const auto v1 = import(model(1, half));
  ASSERT_NE(v1->graph, nullptr);
  const Value x = floats({1, 2, 2, 1}, {0, 4, 8, 12});
  EXPECT_EQ(run(*v1->graph, {x}), (Floats{5, 7}));
  half[7] = 0;  // the second version adds half a pixel and takes it away: y is 0
  half[3] = 0.25f;
  const auto v2 = import(model(2, half));
  ASSERT_NE(v2->graph, nullptr);
  EXPECT_EQ(run(*v2->graph, {x}), (Floats{0, 2}));
  half[3] = -9;  // outside of the image
  const auto outside = import(model(2, half));
  ASSERT_NE(outside->graph, nullptr);
  EXPECT_EQ(run(*outside->graph, {x}), (Floats{0, 0}));
}

// The output's size is an input: as it is computed in models with open sizes.
TEST(TfliteCustom, TransposedConvolutionOfComputedSize) {
  for (const Padding padding : {Padding::SAME, Padding::VALID}) {
    SubgraphSpec graph;
    graph.tensors = {{.name = "size", .shape = {4}, .type = TensorType::INT32},
                     tensor("w", {1, 1, 3, 1}, {1, 2, 3}),
                     tensor("x", {1, 1, 2, 1}),
                     tensor("y", {1, 1, 4, 1})};
    graph.inputs = {0, 2};
    graph.outputs = {3};
    graph.operators = {
        {BuiltinOperator::TRANSPOSE_CONV,
         {0, 1, 2},
         {3},
         BuiltinOptions::TransposeConvOptions,
         options([padding](Fbb& fbb) { return CreateTransposeConvOptions(fbb, padding, 2, 1); })}};
    const auto imported = import({.subgraphs = {graph}});
    ASSERT_NE(imported->graph, nullptr);
    const auto given = [&](int32_t width) {
      const std::vector<int32_t> size{1, 1, width, 1};
      return run(*imported->graph, {Value::of<int32_t>({4}, std::span<const int32_t>(size)),
                                    floats({1, 1, 2, 1}, {1, 10})});
    };
    if (padding == Padding::SAME) {
      EXPECT_EQ(given(4), (Floats{1, 2, 13, 20}));
      EXPECT_EQ(given(3), (Floats{2, 13, 20}));
    } else {
      EXPECT_EQ(given(5), (Floats{1, 2, 13, 20, 30}));
      EXPECT_EQ(given(6), (Floats{1, 2, 13, 20, 30, 0}));
    }
  }
}

}  // namespace
}  // namespace ec::tflite::testing
