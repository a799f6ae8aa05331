// Graphs in text form through a strategy, with noise as samples.
#pragma once

#include "backend/coral/integer_rules.h"
#include "backend/tflite/integer_rules.h"
#include "driver/registry.h"
#include "passes/harness.h"
#include "quantize/strategy/ptq.h"
#include "support/random.h"

namespace ec::quantize {

inline std::vector<std::vector<Value>> noise(const Graph& graph, size_t count) {
  std::vector<std::vector<Value>> samples;
  RandomState random(5);
  for (size_t i = 0; i < count; ++i) {
    std::vector<Value> sample;
    for (const Tensor* input : graph.inputs()) {
      std::vector<float> values(static_cast<size_t>(*input->type().num_elements()));
      for (float& value : values) value = static_cast<float>(random.uniform() * 4 - 2);
      sample.push_back(Value::of<float>(input->shape()->sizes(), std::span<const float>(values)));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

inline const Strategy& strategy(std::string_view name) {
  return **default_registry().find_strategy(name);
}

struct Quantized {
  std::unique_ptr<Graph> source;
  QuantizeResult result;
  DiagnosticSink sink;

  const Graph& graph() const { return *result.graph; }
  int count(OpKind kind) const { return test::count_kind(graph(), kind); }
  const TensorType& type(std::string_view tensor) const {
    const Tensor* found = graph().find_tensor(tensor);
    EXPECT_NE(found, nullptr) << tensor;
    return found->type();
  }
};

// Ranges as seen, no method that changes numbers.
inline QuantizeRequest plain_request() {
  QuantizeRequest request;
  request.target = &tflite_spec();
  request.method = "minmax";
  request.methods = {Switch::Off, Switch::Off, Switch::Off, Switch::Off, Switch::Off};
  return request;
}

inline Quantized quantize_text(std::unique_ptr<Graph> graph, QuantizeRequest request,
                               std::string_view name = "ptq") {
  Quantized q;
  q.source = std::move(graph);
  std::vector<ModelInput> inputs;
  for (const Tensor* input : q.source->inputs()) inputs.push_back({input->name(), input->type()});
  auto samples = samples_in_memory(noise(*q.source, 24), inputs);
  EXPECT_TRUE(samples.ok());
  request.samples = samples->get();
  Result<QuantizeResult> result = strategy(name).run(*q.source, request, q.sink);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message());
  if (result.ok()) {
    q.result = std::move(*result);
    for (const Diagnostic& fault : verify(*q.result.graph)) ADD_FAILURE() << fault.message;
  }
  return q;
}

}  // namespace ec::quantize
