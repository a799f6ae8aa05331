// Every row of operators.json is one call with what PyTorch computed for it (gen_operators.py).
// Tensors are inputs of the graph, so that conversions cannot compute with their values.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "frontend/torch/aten/operators.h"
#include "ops/convert.h"
#include "ops/kernel.h"
#include "support/strings.h"

namespace ec::torch {
namespace {

using nlohmann::json;

json load_cases() {
  std::ifstream file(EC_TORCH_OPERATORS);
  return json::parse(file);
}

double number(const json& value) {
  return value.is_string() ? *parse_double(value.get<std::string>()) : value.get<double>();
}

bool is_tensor(const json& value) { return value.is_object() && value.contains("t"); }

Value tensor_value(const json& value) {
  const DType dtype = *dtype_of_scalar_type(value["t"].get<int64_t>());
  const auto shape = value["s"].get<std::vector<int64_t>>();
  std::vector<double> elements;
  for (const json& v : value["v"])
    elements.push_back(v.is_boolean() ? (v.get<bool>() ? 1 : 0) : number(v));
  Buffer bytes = Buffer::allocate(elements.size() * element_size(dtype));
  store<double>(MutableView{dtype, shape, bytes.data(), nullptr}, elements);
  return Value(dtype, shape, std::move(bytes).to_blob());
}

struct Built {
  Graph graph;
  std::vector<Value> inputs;

  TorchValue value(const json& v) {
    if (is_tensor(v) && v.contains("known")) {
      const Value constant = tensor_value(v);
      return graph.add_constant("w", constant.type(), constant.data);
    }
    if (is_tensor(v)) {
      inputs.push_back(tensor_value(v));
      return graph.add_input("x", inputs.back().type());
    }
    if (v.is_null()) return {};
    if (v.is_boolean()) return v.get<bool>();
    if (v.is_number_integer()) return v.get<int64_t>();
    if (v.is_number()) return v.get<double>();
    if (v.is_array()) {
      std::vector<TorchValue> items;
      for (const json& item : v) items.push_back(value(item));
      return TorchValue::list(std::move(items));
    }
    const auto text = v.get<std::string>();
    if (text == "inf" || text == "-inf" || text == "nan") return *parse_double(text);
    return text;
  }
};

void flatten(const TorchValue& value, const CallSite& site, std::vector<Tensor*>& tensors) {
  if (const auto* items = value.items()) {
    for (const TorchValue& item : *items) flatten(item, site, tensors);
  } else if (!value.is_none()) {
    tensors.push_back(as_tensor(site, value)->tensor);
  }
}

void flatten(const json& value, std::vector<Value>& values) {
  if (is_tensor(value)) {
    values.push_back(tensor_value(value));
  } else if (value.is_array()) {
    for (const json& item : value) flatten(item, values);
  } else if (value.is_number_integer()) {
    const int64_t integer = value.get<int64_t>();
    values.push_back(Value::of<int64_t>({}, std::span(&integer, 1)));
  }
}

// Empty when equal up to rounding.
std::string difference(const Value& got, const Value& want) {
  if (got.type() != want.type()) return got.type().text() + ", expected " + want.type().text();
  std::vector<double> a(static_cast<size_t>(count_elements(got.shape))), b(a.size());
  load<double>(got.view(), a);
  load<double>(want.view(), b);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!is_float(got.dtype) || !(std::fabs(a[i] - b[i]) <= 2e-5 * (1 + std::fabs(b[i]))))
      return "element " + std::to_string(i) + " is " + format_double(a[i]) + ", expected " +
             format_double(b[i]);
  }
  return {};
}

std::string run_case(const json& c) {
  Built built;
  std::vector<TorchValue> args;
  for (const json& arg : c["args"]) args.push_back(built.value(arg));
  NamedValues kwargs;
  for (const auto& [name, arg] : c["kwargs"].items()) kwargs.emplace_back(name, built.value(arg));
  const CallSite site{&built.graph, Location("case", c["op"]), nullptr};
  const auto results = call(site, c["op"].get<std::string>(), args, kwargs);
  if (!results.ok()) return results.error().message();
  std::vector<Tensor*> outputs;
  for (const TorchValue& result : *results) flatten(result, site, outputs);
  std::vector<Value> want;
  flatten(c["results"], want);
  // Results for the gradient are not made.
  if (outputs.size() > want.size() || outputs.empty()) return "number of results";
  for (Tensor* output : outputs) built.graph.add_output("y", output);
  const auto got = interpret(built.graph, built.inputs);
  if (!got.ok()) return got.error().message();
  for (size_t i = 0; i < got->size(); ++i)
    if (std::string text = difference((*got)[i], want[i]); !text.empty())
      return "result " + std::to_string(i) + ": " + text;
  return {};
}

TEST(TorchOperators, ComputeWhatPyTorchComputes) {
  const json cases = load_cases();
  ASSERT_GT(cases.size(), 300u);
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string fault = run_case(cases[i]);
    EXPECT_TRUE(fault.empty()) << "case " << i << " " << cases[i]["op"] << ": " << fault;
  }
}

// TorchScript writes no overload names: the same calls find the same operator by their arguments.
TEST(TorchOperators, AreFoundWithoutOverloadNames) {
  json cases = load_cases();
  for (json& c : cases) {
    const auto name = c["op"].get<std::string>();
    c["op"] = name.substr(0, name.find('.'));
    const std::string fault = run_case(c);
    EXPECT_TRUE(fault.empty()) << name << ": " << fault;
  }
}

TEST(TorchOperators, CoverTheCoreSet) { EXPECT_GT(operator_names().size(), 400u); }

// As other formats have it; back ends know the parts.
TEST(TorchOperators, AttentionComesInParts) {
  Graph graph;
  Tensor* x = graph.add_input("x", TensorType(DType::F32, Shape{1, 2, 3, 4}));
  const CallSite site{&graph, Location("attn"), nullptr};
  const std::vector<TorchValue> args = {x, x, x};
  ASSERT_TRUE(call(site, "aten::scaled_dot_product_attention", args).ok());
  std::vector<OpKind> kinds;
  for (const Operation* op : graph.topological()) kinds.push_back(op->kind());
  EXPECT_EQ(kinds, (std::vector{OpKind::MatMul, OpKind::Softmax, OpKind::MatMul}));
}

TEST(TorchOperators, UnknownNamesGetTheNearestOnes) {
  const Error error = unknown_operator("aten::conv2dd");
  EXPECT_EQ(error.code(), Code::UnsupportedOp);
  EXPECT_NE(error.diagnostic().hint.find("aten::conv2d"), std::string::npos);
  EXPECT_FALSE(is_known_operator("aten::conv2dd"));
  EXPECT_TRUE(is_known_operator("aten::conv2d.padding"));
}

}  // namespace
}  // namespace ec::torch
