#include "runtime/same_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/open_sizes.h"
#include "ops/convert.h"
#include "ops/infer.h"
#include "runtime/executor.h"
#include "runtime/session.h"
#include "support/budget.h"

namespace ec {
namespace {

// The same kernels on the same values: only their order within sums may differ, and with it the
// last step of floats of 16 bits.
double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return 2e-3;
    case DType::BF16:
      return 1.6e-2;
    default:
      return 1e-4;
  }
}
constexpr uint64_t kSeed = 1;

// A limit that was reached tells nothing about the file.
bool is_limit(Code code) { return is_stop(code) || code == Code::OutOfMemory; }

Error cannot_run(Error error) {
  if (is_limit(error.code())) return error;
  return self_check_failed("the file cannot be run: " + error.message());
}

// Why the model was not run to its end.
std::string reason_of(const Error& error) {
  if (!is_limit(error.code())) return error.message();
  const Diagnostic& d = error.diagnostic();
  return fmt::format("left unfinished{}: {}{}", d.node.empty() ? "" : " at '" + d.node + "'",
                     d.message, d.hint.empty() ? "" : "; " + d.hint);
}

Status compare(const Value& expected, const Value& actual, const std::string& name,
               SelfCheck& check) {
  if (expected.dtype != actual.dtype || expected.shape != actual.shape)
    return self_check_failed(fmt::format("output '{}' is {} in the file and {} in the graph", name,
                                         actual.type().text(), expected.type().text()));
  if (!is_float(expected.dtype)) {
    if (!(expected.data == actual.data))
      return self_check_failed(
          fmt::format("output '{}' has other integers than the graph gives", name));
    return {};
  }
  double largest = 0, error = 0;
  const ConstView ours = expected.view(), theirs = actual.view();
  // Piece by piece: as doubles the results take up to eight times their memory.
  constexpr int64_t kPiece = 1 << 14;
  for (int64_t begin = 0; begin < ours.count(); begin += kPiece) {
    const int64_t size = std::min(kPiece, ours.count() - begin);
    const size_t offset = static_cast<size_t>(begin) * element_size(ours.dtype);
    const std::span<const int64_t> shape(&size, 1);
    const Reader<double> a({ours.dtype, shape, ours.data + offset, ours.quant}),
        b({theirs.dtype, shape, theirs.data + offset, theirs.quant});
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;
      if (a[i] == b[i]) continue;  // infinities too
      error = std::max(error, std::isfinite(a[i] - b[i]) ? std::abs(a[i] - b[i]) : HUGE_VAL);
      if (std::isfinite(a[i])) largest = std::max(largest, std::abs(a[i]));
    }
  }
  if (error == 0) return {};
  const double relative = largest > 0 ? error / largest : HUGE_VAL;
  check.largest_error = std::max(check.largest_error, relative);
  if (!(relative <= tolerance_of(expected.dtype)))
    return self_check_failed(
        fmt::format("output '{}' differs by {:.1e} of its largest value", name, relative));
  return {};
}

using Runs = std::vector<std::vector<Value>>;

// What a run keeps for the next one shows in the runs behind it.
size_t count_runs(const Graph& graph) {
  constexpr size_t kRunsWithState = 3;
  return std::ranges::any_of(graph.topological(),
                             [](const Operation* op) { return op->kind() == OpKind::WriteState; })
             ? kRunsWithState
             : 1;
}

// One session for all runs, in their order; values become the results.
Status run_all(const Graph& graph, Runs& values) {
  EC_CHECK_OK(check_run_work(graph));
  Result<std::unique_ptr<Session>> session = Session::create(graph.clone(), {});
  if (!session) return cannot_run(std::move(session).error());
  for (std::vector<Value>& inputs : values) {
    if ((*session)->inputs().size() != inputs.size())
      return self_check_failed("the file has another number of inputs than the graph");
    std::vector<NamedValue> named;
    for (size_t i = 0; i < inputs.size(); ++i)
      named.push_back({(*session)->inputs()[i].name, std::move(inputs[i])});
    Result<std::vector<Value>> results = (*session)->run(named);
    if (!results) return cannot_run(std::move(results).error());
    inputs = std::move(*results);
  }
  return {};
}

// The graph's own runs on made-up inputs: these, and what they give.
Status run_expected(const Graph& graph, Runs& inputs, Runs& wanted) {
  EC_CHECK_OK(check_run_work(graph));
  EC_TRY(const std::unique_ptr<Session> session, Session::create(graph.clone(), {}));
  const size_t runs = count_runs(graph);
  for (size_t r = 0; r < runs; ++r) {
    EC_TRY(const std::vector<NamedValue> named, session->random_inputs(kSeed + r));
    EC_TRY(std::vector<Value> results, session->run(named));
    wanted.push_back(std::move(results));
    std::vector<Value>& values = inputs.emplace_back();
    for (const NamedValue& input : named) values.push_back(input.value);
  }
  return {};
}

}  // namespace

Error self_check_failed(std::string message) {
  return Error(Code::SelfCheckFailed, std::move(message))
      .hint("this is a fault of the compiler: please report it with the model");
}

namespace {

using InputShapes = std::map<std::string, std::vector<int64_t>>;

// Both with fixed sizes.
Result<SelfCheck> check_fixed(const Graph& expected,
                              std::span<const std::unique_ptr<Graph>> written) {
  SelfCheck check;
  Runs values, wanted;
  if (Status ran = run_expected(expected, values, wanted); !ran.ok()) {
    check.reason = reason_of(std::move(ran).error());
    return check;
  }
  for (const std::unique_ptr<Graph>& graph : written) {
    Status ran = run_all(*graph, values);
    if (ran.ok()) continue;
    Error error = std::move(ran).error();
    if (!is_limit(error.code())) return error;
    check.reason = reason_of(std::move(error));
    return check;
  }
  for (size_t r = 0; r < wanted.size(); ++r) {
    if (values[r].size() != wanted[r].size())
      return self_check_failed("the file has another number of outputs than the graph");
    for (size_t i = 0; i < wanted[r].size(); ++i) {
      // A graph may give one large value under thousands of names.
      constexpr uint64_t kWorkPerElement = 16;  // both are read as doubles
      spend_work(kWorkPerElement * static_cast<uint64_t>(wanted[r][i].view().count()));
      if (Status within = check_budget(); !within.ok()) {
        check.reason = reason_of(std::move(within).error());
        return check;
      }
      EC_CHECK_OK(compare(wanted[r][i], values[r][i], expected.output_names()[i], check));
    }
  }
  check.ran = true;
  return check;
}

// Shapes of all inputs; nothing where one stays open.
std::optional<std::vector<std::vector<int64_t>>> all_shapes(const Graph& graph,
                                                            const InputShapes& shapes) {
  std::vector<std::vector<int64_t>> all;
  for (const Tensor* input : graph.inputs()) {
    const auto found = shapes.find(input->name());
    if (found == shapes.end() && !input->type().is_static()) return std::nullopt;
    all.push_back(found != shapes.end() ? found->second : input->shape()->sizes());
  }
  return all;
}

// A copy with these shapes for the inputs: what is open would be counted as endless work.
Result<std::unique_ptr<Graph>> fixed_copy(const Graph& graph,
                                          const std::vector<std::vector<int64_t>>& shapes) {
  std::unique_ptr<Graph> fixed = graph.clone();
  if (!has_open_inputs(graph) || shapes.size() != graph.inputs().size()) return fixed;
  for (size_t i = 0; i < shapes.size(); ++i) {
    TensorType type = fixed->inputs()[i]->type();
    type.shape = Shape::of(shapes[i]);
    fixed->set_type(fixed->inputs()[i], std::move(type));
  }
  DiagnosticSink sink;
  infer_graph(*fixed, sink);
  if (sink.has_errors()) return sink.first_error();
  return fixed;
}

Result<SelfCheck> check_at(const Graph& expected, std::span<const std::unique_ptr<Graph>> written,
                           const InputShapes& shapes) {
  SelfCheck check;
  const auto all = all_shapes(expected, shapes);
  if (!all) {
    check.reason = "sizes of the inputs are open";
    return check;
  }
  EC_TRY(const std::unique_ptr<Graph> wanted, fixed_copy(expected, *all));
  std::vector<std::unique_ptr<Graph>> graphs;
  for (const std::unique_ptr<Graph>& graph : written) {
    Result<std::unique_ptr<Graph>> fixed = fixed_copy(*graph, *all);
    if (!fixed) return cannot_run(std::move(fixed).error());
    graphs.push_back(std::move(*fixed));
  }
  return check_fixed(*wanted, graphs);
}

std::string text_of(const InputShapes& shapes) {
  std::string text;
  for (const auto& [name, shape] : shapes)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", name, fmt::join(shape, "x"));
  return text;
}

}  // namespace

Result<SelfCheck> check_same_results(const Graph& expected,
                                     std::span<const std::unique_ptr<Graph>> written,
                                     std::span<const InputShapes> shapes) {
  if (!has_open_inputs(expected)) return check_fixed(expected, written);
  SelfCheck check;
  if (shapes.empty()) check.reason = "sizes of the inputs are open";
  for (const InputShapes& sizes : shapes) {
    Result<SelfCheck> run = check_at(expected, written, sizes);
    if (!run) return std::move(run).error().note("with " + text_of(sizes));
    check.largest_error = std::max(check.largest_error, run->largest_error);
    check.reason = run->reason;
    if (!run->ran) break;
    check.shapes.push_back(text_of(sizes));
  }
  // A size that took too much leaves the others proved.
  check.ran = !check.shapes.empty();
  return check;
}

}  // namespace ec
