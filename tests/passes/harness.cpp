#include "passes/harness.h"

#include <cmath>
#include <map>
#include <random>
#include <stdexcept>

#include "driver/registry.h"
#include "ir/text.h"
#include "ops/convert.h"
#include "ops/kernel.h"
#include "ops/op_def.h"

namespace ec::test {
namespace {

std::vector<double> random_elements(DType dtype, size_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<double> values(count);
  if (is_float(dtype)) {
    std::uniform_real_distribution<double> real(-2.0, 2.0);
    for (double& value : values) value = real(engine);
  } else {
    std::uniform_int_distribution<int> whole(0, dtype == DType::Bool ? 1 : 3);
    for (double& value : values) value = whole(engine);
  }
  return values;
}

Blob random_blob(DType dtype, const std::vector<int64_t>& sizes, uint32_t seed) {
  const auto count = static_cast<size_t>(count_elements(sizes));
  Buffer buffer = Buffer::allocate(count * element_size(dtype));
  store<double>(MutableView{dtype, sizes, buffer.data(), nullptr},
                random_elements(dtype, count, seed));
  return std::move(buffer).to_blob();
}

void randomise_weights(Graph& graph) {
  uint32_t seed = 100;
  for (Tensor* tensor : graph.tensors())
    if (tensor->is_constant() && tensor->name().starts_with("w") && is_float(tensor->dtype()))
      graph.set_constant_data(tensor, tensor->type(),
                              random_blob(tensor->dtype(), tensor->shape()->sizes(), seed++));
  for (const Operation* op : graph.topological())
    for (const auto& body : op->bodies()) randomise_weights(*body);
}

std::vector<Value> random_inputs(const Graph& graph, int64_t open_size) {
  std::map<std::string, int64_t> symbols;
  std::vector<Value> inputs;
  uint32_t seed = 1;
  for (const Tensor* input : graph.inputs()) {
    std::vector<int64_t> sizes;
    for (const Dim& dim : *input->shape()) {
      if (dim.is_static()) {
        sizes.push_back(dim.size());
        continue;
      }
      const auto [it, fresh] = symbols.emplace(dim.text(), open_size);
      if (fresh) ++open_size;
      sizes.push_back(it->second);
    }
    Blob data = random_blob(input->dtype(), sizes, seed++);
    inputs.emplace_back(input->dtype(), std::move(sizes), std::move(data));
  }
  return inputs;
}

void expect_equal(const Value& got, const Value& expected, double tolerance,
                  const std::string& name) {
  ASSERT_EQ(got.dtype, expected.dtype) << name;
  ASSERT_EQ(got.shape, expected.shape) << name;
  std::vector<double> a(static_cast<size_t>(got.view().count())), b(a.size());
  load<double>(got.view(), a);
  load<double>(expected.view(), b);
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    ASSERT_LE(std::abs(a[i] - b[i]), tolerance * (1 + std::abs(b[i])))
        << name << " element " << i << ": " << a[i] << " instead of " << b[i];
  }
}

}  // namespace

std::unique_ptr<Graph> graph_from(std::string_view text) {
  auto parsed = parse(text);
  if (!parsed.ok()) {
    ADD_FAILURE() << format_diagnostic(parsed.error().diagnostic());
    return std::make_unique<Graph>();
  }
  randomise_weights(**parsed);
  return std::move(parsed).value();
}

int count_kind(const Graph& graph, OpKind kind) {
  int count = 0;
  for (const Operation* op : graph.topological()) {
    count += op->kind() == kind ? 1 : 0;
    for (const auto& body : op->bodies()) count += count_kind(*body, kind);
  }
  return count;
}

int Outcome::count(OpKind kind) const { return count_kind(*after, kind); }

const Operation& Outcome::only(OpKind kind) const {
  const Operation* found = nullptr;
  for (const Operation* op : after->topological()) {
    if (op->kind() != kind) continue;
    EXPECT_EQ(found, nullptr) << "several operations of the kind\n" << text();
    found = op;
  }
  EXPECT_NE(found, nullptr) << "no operation of the kind\n" << text();
  if (found == nullptr) throw std::runtime_error("no such operation");
  return *found;
}

namespace {

std::string kinds_of(const Graph& graph) {
  std::string text;
  for (const Operation* op : graph.topological()) {
    text += (text.empty() ? "" : " ") + std::string(op->def().name);
    for (const auto& body : op->bodies()) text += " {" + kinds_of(*body) + "}";
  }
  return text;
}

}  // namespace

std::string Outcome::kinds() const { return kinds_of(*after); }

Outcome expect_kinds(std::string_view text, std::string_view pipeline, std::string_view expected,
                     RunOptions options) {
  Outcome outcome = optimise(text, pipeline, options);
  EXPECT_EQ(outcome.kinds(), expected) << outcome.text();
  return outcome;
}

Outcome expect_text(std::string_view text, std::string_view pipeline, std::string_view expected,
                    RunOptions options) {
  Outcome outcome = optimise(text, pipeline, options);
  const std::string whole = outcome.text();
  EXPECT_EQ(whole.substr(whole.find('\n') + 1), expected);
  return outcome;
}

std::string Outcome::text() const { return print(*after, ConstantText::Elide); }

Outcome optimise(std::unique_ptr<Graph> graph, std::string_view pipeline, RunOptions options) {
  Outcome outcome;
  outcome.before = graph->clone();
  outcome.after = std::move(graph);
  DiagnosticSink sink;
  PassContext context;
  context.sink = &sink;
  PassManagerOptions manager_options;
  manager_options.verify = true;
  auto report = PassManager(manager_options, default_registry().passes())
                    .run(*outcome.after, pipeline, context);
  if (!report.ok()) {
    ADD_FAILURE() << format_diagnostic(report.error().diagnostic()) << "\n" << outcome.text();
    return outcome;
  }
  for (const Diagnostic& diagnostic : sink.diagnostics())
    ADD_FAILURE() << format_diagnostic(diagnostic);
  outcome.report = std::move(report).value();
  if (options.compare) expect_same_results(*outcome.before, *outcome.after, options);
  return outcome;
}

Outcome optimise(std::string_view text, std::string_view pipeline, RunOptions options) {
  return optimise(graph_from(text), pipeline, options);
}

void expect_same_results(const Graph& before, const Graph& after, RunOptions options) {
  const std::vector<Value> inputs = random_inputs(before, options.open_size);
  auto expected = interpret(before, inputs);
  ASSERT_TRUE(expected.ok()) << format_diagnostic(expected.error().diagnostic());
  auto got = interpret(after, inputs);
  ASSERT_TRUE(got.ok()) << format_diagnostic(got.error().diagnostic()) << "\n"
                        << print(after, ConstantText::Elide);
  ASSERT_EQ(before.output_names(), after.output_names());
  ASSERT_EQ(got->size(), expected->size());
  for (size_t i = 0; i < got->size(); ++i)
    expect_equal((*got)[i], (*expected)[i], options.tolerance, before.output_names()[i]);
}

}  // namespace ec::test
