// Optimises models, writes each as .ecir and .onnx, reads both back and runs them on the same
// random values: what we write must be what we read.
//
//   written_again [--expect N] [--slow] FILE_OR_FOLDER...
//
// Prints one line per model that does not come back, and the counts. Models that are refused, or
// that the format cannot express, are counted and are no fault. Models with many operations are not
// run, only compared as graphs, unless --slow is given. Exit code 1: a fault, or less than N
// models.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "driver/compilation.h"
#include "ir/text.h"
#include "ops/convert.h"
#include "ops/kernel.h"
#include "runtime/fill.h"
#include "support/strings.h"

namespace {

namespace fs = std::filesystem;
using ec::Graph;
using ec::Result;
using ec::Value;

constexpr size_t kMostOps = 300;
constexpr size_t kMostWeights = size_t{4} << 20;

Result<ec::Compilation> walk(ec::Verb verb, const ec::ModelRef& model, const ec::Options& options,
                             std::string_view last, ec::DiagnosticSink& sink) {
  EC_TRY(ec::Compilation run, ec::Compilation::create(ec::default_registry(), verb,
                                                      std::span(&model, 1), options, sink));
  EC_CHECK_OK(run.run(last));
  return run;
}

// Values for all inputs; sizes that are open are 2.
Result<std::vector<Value>> random_inputs(const Graph& graph) {
  std::vector<Value> values;
  for (const ec::Tensor* input : graph.inputs()) {
    std::vector<int64_t> shape;
    if (input->shape())
      for (const ec::Dim& dim : *input->shape()) shape.push_back(dim.is_static() ? dim.size() : 2);
    EC_TRY(Value value, ec::make_value(input->dtype(), shape, ec::Fill::Random, values.size()));
    values.push_back(std::move(value));
  }
  return values;
}

std::string compare(const Result<std::vector<Value>>& got, const Result<std::vector<Value>>& want) {
  if (!want.ok()) return got.ok() ? "runs, which the graph before does not" : "";
  if (!got.ok()) return "does not run: " + got.error().message();
  if (got->size() != want->size()) return "has another number of outputs";
  for (size_t i = 0; i < got->size(); ++i) {
    const Value &a = (*got)[i], &b = (*want)[i];
    if (a.dtype != b.dtype || a.shape != b.shape)
      return "output " + std::to_string(i) + " is " + a.type().text() + " and was " +
             b.type().text();
    if (a.data.size() == b.data.size() &&
        (a.data.empty() ||
         std::memcmp(a.data.bytes().data(), b.data.bytes().data(), a.data.size()) == 0))
      continue;
    // Other operations may stand for the same one: results differ in the last bits at most.
    const double step = a.dtype == ec::DType::F16 || a.dtype == ec::DType::BF16 ? 1e-2 : 1e-4;
    std::vector<double> x(static_cast<size_t>(a.view().count())), y(x.size());
    ec::load<double>(a.view(), x);
    ec::load<double>(b.view(), y);
    for (size_t k = 0; k < x.size(); ++k) {
      const bool same = x[k] == y[k] || (std::isnan(x[k]) && std::isnan(y[k])) ||
                        std::abs(x[k] - y[k]) <= step / 10 + step * std::abs(y[k]);
      if (!same)
        return "output " + std::to_string(i) + ", element " + std::to_string(k) + " is " +
               ec::format_double(x[k]) + " and was " + ec::format_double(y[k]);
    }
  }
  return {};
}

bool draws_random_numbers(const Graph& graph) {
  return ec::print(graph, ec::ConstantText::Elide).find("random") != std::string::npos;
}

class Check {
 public:
  explicit Check(bool slow) : slow_(slow) {}

  void model(const fs::path& path) {
    for (const std::string form : {".ecir", ".onnx"}) {
      std::string fault = written_again(path, form);
      if (fault.empty()) continue;
      ++faults_;
      std::printf("%s as %s: %s\n", path.c_str(), form.c_str(), fault.c_str());
    }
  }

  int finish(long expected) const {
    for (const auto& [what, count] : counts_) std::printf("%6ld %s\n", count, what.c_str());
    std::printf("%6ld faults\n", faults_);
    const auto done = counts_.find("came back");
    return faults_ > 0 || (done == counts_.end() ? 0 : done->second) < expected;
  }

 private:
  std::string written_again(const fs::path& path, const std::string& form) {
    ec::DiagnosticSink sink, again;
    ec::Options options;
    options.set("output", std::string("again") + form);
    auto run = walk(ec::Verb::Optimize, path, options, "emit", sink);
    if (!run.ok()) {
      ++counts_[run.error().code() == ec::Code::ExportFailed ? "cannot be expressed as " + form
                                                             : "refused"];
      return {};
    }
    const ec::CompiledModel& model = run->models().front();
    const ec::Blob bytes = ec::Blob::joined(model.emitted->files.front().parts);
    auto read = walk(ec::Verb::Inspect, ec::ModelRef("again" + form, bytes), {}, "import", again);
    if (!read.ok()) return ec::format_diagnostic(read.error().diagnostic());
    const Graph &before = *model.graph, &after = *read->models().front().graph;
    if (form == ".ecir" && !(after == before)) return "the graph is another";
    ++counts_["came back"];
    if (!slow_ && (before.num_operations() > kMostOps || bytes.size() > kMostWeights)) return {};
    if (draws_random_numbers(before)) return {};
    const auto inputs = random_inputs(before);
    if (!inputs.ok()) return {};
    ++counts_["ran"];
    return compare(ec::interpret(after, *inputs), ec::interpret(before, *inputs));
  }

  bool slow_;
  std::map<std::string, long> counts_;
  long faults_ = 0;
};

bool is_model(const fs::path& path) {
  static constexpr std::string_view kEndings[] = {".onnx", ".tflite", ".pt", ".pt2", ".ecir"};
  return std::find(std::begin(kEndings), std::end(kEndings), path.extension().string()) !=
         std::end(kEndings);
}

}  // namespace

int main(int argc, char** argv) {
  long expected = 0;
  bool slow = false;
  std::vector<fs::path> models;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--expect" && i + 1 < argc) {
      expected = std::strtol(argv[++i], nullptr, 10);
    } else if (argument == "--slow") {
      slow = true;
    } else if (fs::is_directory(argument)) {
      for (const auto& entry : fs::recursive_directory_iterator(argument))
        if (entry.is_regular_file() && is_model(entry.path())) models.push_back(entry.path());
    } else {
      models.emplace_back(argument);
    }
  }
  std::sort(models.begin(), models.end());
  Check check(slow);
  for (const fs::path& model : models) check.model(model);
  return check.finish(expected);
}
