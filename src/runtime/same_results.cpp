#include "runtime/same_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/convert.h"
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

bool has_open_sizes(const Graph& graph) {
  return std::any_of(graph.inputs().begin(), graph.inputs().end(),
                     [](const Tensor* input) { return !input->type().is_static(); });
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

Result<std::vector<Value>> run_one(const Graph& graph, const std::vector<Value>& inputs) {
  Result<std::unique_ptr<Session>> session = Session::create(graph.clone(), {});
  if (!session) return cannot_run(std::move(session).error());
  if ((*session)->inputs().size() != inputs.size())
    return self_check_failed("the file has another number of inputs than the graph");
  std::vector<NamedValue> named;
  for (size_t i = 0; i < inputs.size(); ++i)
    named.push_back({(*session)->inputs()[i].name, inputs[i]});
  Result<std::vector<Value>> results = (*session)->run(named);
  if (!results) return cannot_run(std::move(results).error());
  return results;
}

}  // namespace

Error self_check_failed(std::string message) {
  return Error(Code::SelfCheckFailed, std::move(message))
      .hint("this is a fault of the compiler: please report it with the model");
}

Result<SelfCheck> check_same_results(const Graph& expected,
                                     std::span<const std::unique_ptr<Graph>> written) {
  SelfCheck check;
  if (has_open_sizes(expected)) {
    check.reason = "sizes of the inputs are open";
    return check;
  }
  Result<std::unique_ptr<Session>> ours = Session::create(expected.clone(), {});
  if (!ours) {
    check.reason = reason_of(ours.error());
    return check;
  }
  Result<std::vector<NamedValue>> inputs = (*ours)->random_inputs(kSeed);
  if (!inputs) {
    check.reason = reason_of(inputs.error());
    return check;
  }
  Result<std::vector<Value>> wanted = (*ours)->run(*inputs);
  if (!wanted) {
    check.reason = reason_of(wanted.error());
    return check;
  }
  ours->reset();
  std::vector<Value> values;
  for (const NamedValue& input : *inputs) values.push_back(input.value);
  for (const std::unique_ptr<Graph>& graph : written) {
    Result<std::vector<Value>> results = run_one(*graph, values);
    if (!results && is_limit(results.error().code())) {
      check.reason = reason_of(results.error());
      return check;
    }
    if (!results) return std::move(results).error();
    values = std::move(*results);
  }
  if (values.size() != wanted->size())
    return self_check_failed("the file has another number of outputs than the graph");
  for (size_t i = 0; i < wanted->size(); ++i) {
    // A graph may give one large value under thousands of names.
    constexpr uint64_t kWorkPerElement = 16;  // both are read as doubles
    spend_work(kWorkPerElement * static_cast<uint64_t>((*wanted)[i].view().count()));
    if (Status within = check_budget(); !within.ok()) {
      check.reason = reason_of(std::move(within).error());
      return check;
    }
    EC_CHECK_OK(compare((*wanted)[i], values[i], expected.output_names()[i], check));
  }
  check.ran = true;
  return check;
}

}  // namespace ec
