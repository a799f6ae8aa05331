// Imports models made in memory and runs them by interpretation, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include "frontend/tflite/model_builder.h"
#include "frontend/tflite/tflite.h"
#include "ops/kernel.h"

namespace ec::tflite::testing {

using Floats = std::vector<float>;

struct Imported {
  std::unique_ptr<ec::Graph> graph;
  DiagnosticSink sink;
};

inline std::unique_ptr<Imported> import(const ModelSpec& spec, const ImportOptions& options = {}) {
  auto out = std::make_unique<Imported>();
  auto result = import_tflite(build(spec), "test.tflite", options, out->sink);
  if (result.ok()) {
    out->graph = std::move(*result);
    for (const Diagnostic& d : verify(*out->graph)) ADD_FAILURE() << format_diagnostic(d);
  }
  return out;
}

inline Code error_of(const ModelSpec& spec) {
  const auto imported = import(spec);
  EXPECT_EQ(imported->graph, nullptr);
  if (!imported->sink.has_errors()) return Code{};
  const Error error = imported->sink.first_error();
  EXPECT_FALSE(error.diagnostic().hint.empty()) << error.message();
  return error.code();
}

inline Value floats(std::vector<int64_t> shape, const Floats& values) {
  return Value::of<float>(std::move(shape), std::span<const float>(values));
}

inline Floats run(const ec::Graph& graph, const std::vector<Value>& inputs, size_t output = 0) {
  const auto results = interpret(graph, inputs);
  if (!results.ok()) {
    ADD_FAILURE() << results.error().message();
    return {};
  }
  const auto view = (*results)[output].as<float>();
  return {view.begin(), view.end()};
}

}  // namespace ec::tflite::testing
