// Operators that only TFLite Micro has: its signal library with state inside the operators, filters
// over time in 8 bits, softmax to 16 bits. Integers are those of TFLite Micro.
#include <flatbuffers/flexbuffers.h>

#include "frontend/tflite/import_harness.h"

namespace ec::tflite::testing {
namespace {

template <class F>
ModelSpec signal_model(std::string code, std::vector<TensorSpec> tensors, size_t outputs,
                       F&& fill) {
  flexbuffers::Builder fbb;
  fbb.Map([&] { fill(fbb); });
  fbb.Finish();
  OperatorSpec op{.code = BuiltinOperator::CUSTOM,
                  .inputs = {},
                  .outputs = {},
                  .custom_code = std::move(code),
                  .custom_options = fbb.GetBuffer()};
  SubgraphSpec graph;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool is_output = i + outputs >= tensors.size();
    (is_output ? op.outputs : op.inputs).push_back(static_cast<int32_t>(i));
    (is_output ? graph.outputs : graph.inputs).push_back(static_cast<int32_t>(i));
  }
  graph.tensors = std::move(tensors);
  graph.operators = {std::move(op)};
  return {.subgraphs = {graph}};
}

template <class T>
std::vector<T> first_result(const ModelSpec& spec, const std::vector<Value>& inputs) {
  const auto imported = import(spec);
  if (imported->graph == nullptr) return {};
  const auto results = interpret(*imported->graph, inputs);
  if (!results.ok()) {
    ADD_FAILURE() << results.error().message();
    return {};
  }
  const auto view = (*results)[0].as<T>();
  return {view.begin(), view.end()};
}

Value i16(const std::vector<int16_t>& values, std::vector<int64_t> shape) {
  return Value::of<int16_t>(std::move(shape), std::span<const int16_t>(values));
}

TensorSpec typed(std::string name, std::vector<int32_t> shape, TensorType type) {
  return {.name = std::move(name), .shape = std::move(shape), .type = type};
}

TEST(TfliteSignal, FramesStartWithZeros) {
  const auto model = [](int64_t size, int64_t step) {
    return signal_model(
        "SignalFramer",
        {typed("x", {1, 4}, TensorType::INT16), typed("y", {1, 2, 3}, TensorType::INT16),
         typed("v", {}, TensorType::BOOL)},
        2, [&](auto& f) {
          f.Int("frame_size", size);
          f.Int("frame_step", step);
          f.Bool("prefill", true);
        });
  };
  EXPECT_EQ(first_result<int16_t>(model(3, 2), {i16({1, 2, 3, 4}, {1, 4})}),
            (std::vector<int16_t>{0, 1, 2, 2, 3, 4}));
  EXPECT_EQ(error_of(model(3, 0)), Code::BadAttribute);
  EXPECT_EQ(error_of(model(3, 4)), Code::BadAttribute);
  EXPECT_EQ(error_of(model(1 << 30, 1)), Code::BadAttribute);
  EXPECT_EQ(error_of(model(4, 3)), Code::ShapeMismatch);
}

TEST(TfliteSignal, OptionsAreChecked) {
  const auto model = [](const char* key, int64_t value) {
    return signal_model("SignalRfft",
                        {typed("x", {8}, TensorType::INT16), typed("y", {10}, TensorType::INT16)},
                        1, [&](auto& f) { f.Int(key, value); });
  };
  EXPECT_EQ(first_result<int16_t>(
                model("fft_length", 8),
                {i16({-30000, -21980, 1878, -18427, -22894, -11523, 15686, -1268}, {8})}),
            (std::vector<int16_t>{-11064, 0, -296, 4166, -8805, 1725, -1480, 714, 2232, 0}));
  EXPECT_EQ(error_of(model("length", 8)), Code::BadAttribute);
  EXPECT_EQ(error_of(model("fft_length", -2)), Code::BadAttribute);
  EXPECT_EQ(error_of(model("fft_length", 7)), Code::BadValue);
  EXPECT_EQ(error_of(model("fft_length", 4)), Code::ShapeMismatch);
  ModelSpec damaged = model("fft_length", 8);
  damaged.subgraphs[0].operators[0].custom_options = {1, 2, 3};
  EXPECT_EQ(error_of(damaged), Code::CorruptFile);
  ModelSpec arity = model("fft_length", 8);
  arity.subgraphs[0].operators[0].inputs = {0, 0};
  EXPECT_EQ(error_of(arity), Code::BadArity);
}

TEST(TfliteSignal, FilterOverTimeIn8Bits) {
  SubgraphSpec graph;
  const auto i8 = [](std::string name, std::vector<int32_t> shape, std::vector<int8_t> data,
                     float scale, int64_t zero) {
    return TensorSpec{.name = std::move(name),
                      .shape = std::move(shape),
                      .type = TensorType::INT8,
                      .data = bytes_of<int8_t>(data),
                      .scales = {scale},
                      .zero_points = {zero}};
  };
  graph.tensors = {i8("x", {1, 3}, {}, 0.5f, -3),
                   i8("w", {2, 3}, {1, 2, 3, -4, 5, -6}, 0.25f, 0),
                   i8("t", {2, 2}, {3, -7, 9, 11}, 0.5f, 0),
                   {.name = "b",
                    .shape = {2},
                    .type = TensorType::INT32,
                    .data = bytes_of<int32_t>({40, -50}),
                    .scales = {0.25f},
                    .zero_points = {0}},
                   i8("s", {1, 4}, {}, 0.5f, 7),
                   i8("y", {1, 2}, {}, 2.0f, 5)};
  graph.tensors[4].is_variable = true;
  graph.inputs = {0};
  graph.outputs = {5};
  graph.operators = {{BuiltinOperator::SVDF,
                      {0, 1, 2, 3, 4},
                      {5},
                      BuiltinOptions::SVDFOptions,
                      options([](Fbb& fbb) {
                        return CreateSVDFOptions(fbb, 1, ActivationFunctionType::RELU, false);
                      })}};
  const std::vector<int8_t> x{10, -20, 127};
  EXPECT_EQ(first_result<int8_t>({.subgraphs = {graph}},
                                 {Value::of<int8_t>({1, 3}, std::span<const int8_t>(x))}),
            (std::vector<int8_t>{-71, -128}));
}

TEST(TfliteSignal, SoftmaxTo16Bits) {
  SubgraphSpec graph;
  graph.tensors = {{.name = "x",
                    .shape = {1, 4},
                    .type = TensorType::INT8,
                    .scales = {0.125f},
                    .zero_points = {3}},
                   {.name = "y",
                    .shape = {1, 4},
                    .type = TensorType::INT16,
                    .scales = {1.0f / 65536},
                    .zero_points = {-32768}}};
  graph.inputs = {0};
  graph.outputs = {1};
  graph.operators = {
      {BuiltinOperator::SOFTMAX, {0}, {1}, BuiltinOptions::SoftmaxOptions, options([](Fbb& fbb) {
         return CreateSoftmaxOptions(fbb, 1.0f);
       })}};
  const std::vector<int8_t> x{10, -20, 12, 0};
  EXPECT_EQ(first_result<int16_t>({.subgraphs = {graph}},
                                  {Value::of<int8_t>({1, 4}, std::span<const int8_t>(x))}),
            (std::vector<int16_t>{-7504, -32174, -328, -25530}));
}

}  // namespace
}  // namespace ec::tflite::testing
