// Small ML Programs built in memory for tests: one function, operations in order.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "formats/coreml/model.h"
#include "frontend/coreml/coreml.h"
#include "ops/kernel.h"

namespace ec::mil::testing {

using coreml::DataType;
using coreml::ValueType;

template <class T>
coreml::Value numbers(DataType type, const std::vector<T>& values, std::vector<int64_t> dims) {
  coreml::Value value;
  value.type = ValueType::tensor(type, std::move(dims));
  value.data = Blob::copy_of(std::span<const T>(values));
  return value;
}
inline coreml::Value floats(const std::vector<float>& values, std::vector<int64_t> dims) {
  return numbers(DataType::Float32, values, std::move(dims));
}
inline coreml::Value floats(const std::vector<float>& values) {
  return floats(values, {static_cast<int64_t>(values.size())});
}
inline coreml::Value number(float value) { return floats({value}, {}); }
inline coreml::Value ints(const std::vector<int32_t>& values) {
  return numbers(DataType::Int32, values, {static_cast<int64_t>(values.size())});
}
inline coreml::Value integer(int32_t value) {
  return numbers(DataType::Int32, std::vector<int32_t>{value}, {});
}
inline coreml::Value flags(const std::vector<uint8_t>& values) {
  return numbers(DataType::Bool, values, {static_cast<int64_t>(values.size())});
}
inline coreml::Value flag(bool value) {
  return numbers(DataType::Bool, std::vector<uint8_t>{value ? uint8_t{1} : uint8_t{0}}, {});
}
inline coreml::Value text(std::string value) {
  coreml::Value made;
  made.type = ValueType::tensor(DataType::String);
  made.strings.push_back(std::move(value));
  return made;
}

// A parameter: values by name, or one stored value.
struct Parameter {
  std::vector<coreml::Binding> bindings;

  Parameter(const char* name) : bindings{{name, nullptr}} {}  // NOLINT: converts
  Parameter(const std::vector<std::string>& names) {          // NOLINT: converts
    for (const std::string& name : names) bindings.push_back({name, nullptr});
  }
  Parameter(coreml::Value value)  // NOLINT: converts
      : bindings{{"", std::make_shared<coreml::Value>(std::move(value))}} {}
};
using Parameters = std::vector<std::pair<std::string, Parameter>>;

inline coreml::Operation operation(std::string type, const Parameters& parameters,
                                   std::vector<coreml::NamedType> outputs) {
  coreml::Operation op;
  op.type = std::move(type);
  for (const auto& [name, parameter] : parameters) op.inputs.emplace_back(name, parameter.bindings);
  std::sort(op.inputs.begin(), op.inputs.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  op.outputs = std::move(outputs);
  return op;
}

class ProgramBuilder {
 public:
  explicit ProgramBuilder(int opset = 8) {
    function_.opset = "CoreML" + std::to_string(opset);
    model_.specification_version = opset + 1;
  }
  ProgramBuilder& input(std::string name, std::vector<int64_t> dims,
                        DataType type = DataType::Float32) {
    function_.inputs.push_back({std::move(name), ValueType::tensor(type, std::move(dims))});
    return *this;
  }
  ProgramBuilder& op(std::string type, const Parameters& parameters, std::string output,
                     std::vector<int64_t> dims, DataType dtype = DataType::Float32) {
    return op(operation(std::move(type), parameters,
                        {{std::move(output), ValueType::tensor(dtype, std::move(dims))}}));
  }
  ProgramBuilder& op(coreml::Operation operation) {
    function_.block.operations.push_back(std::move(operation));
    return *this;
  }
  coreml::Model finish(std::vector<std::string> outputs) {
    function_.block.outputs = std::move(outputs);
    model_.program.emplace();
    model_.program->functions["main"] = std::move(function_);
    return std::move(model_);
  }

 private:
  coreml::Model model_;
  coreml::Function function_;
};

inline std::unique_ptr<Graph> import(const coreml::Model& model) {
  DiagnosticSink sink;
  auto graph = import_coreml(model, "test", 1 << 20, {}, sink);
  for (const Diagnostic& d : sink.diagnostics()) ADD_FAILURE() << format_diagnostic(d);
  if (!graph.ok()) return nullptr;
  for (const Diagnostic& d : verify(**graph)) ADD_FAILURE() << d.message;
  return std::move(*graph);
}

// The first problem of a program that is refused.
inline Diagnostic refusal(const coreml::Model& model) {
  DiagnosticSink sink;
  const auto graph = import_coreml(model, "test", 1 << 20, {}, sink);
  EXPECT_FALSE(graph.ok());
  return sink.diagnostics().empty() ? Diagnostic() : sink.diagnostics().front();
}

inline Value value(const std::vector<float>& values, std::vector<int64_t> shape) {
  return Value(DType::F32, std::move(shape), Blob::copy_of(std::span<const float>(values)));
}

// The outputs of a program on float inputs.
inline std::vector<Value> run(const coreml::Model& model, const std::vector<Value>& inputs) {
  const auto graph = import(model);
  if (graph == nullptr) return {};
  auto outputs = interpret(*graph, inputs);
  if (outputs.ok()) return std::move(*outputs);
  ADD_FAILURE() << outputs.error().message();
  return {};
}

inline void expect_floats(const std::vector<Value>& outputs, const std::vector<float>& wanted,
                          size_t i = 0) {
  ASSERT_LT(i, outputs.size());
  const auto got = outputs[i].as<float>();
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t k = 0; k < wanted.size(); ++k) EXPECT_NEAR(got[k], wanted[k], 1e-5f) << k;
}

}  // namespace ec::mil::testing
