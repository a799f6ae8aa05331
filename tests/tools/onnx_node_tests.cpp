// Runs ONNX backend tests (a folder of folders with model.onnx and test_data_set_N/*.pb) through
// the importer and the reference kernels.
//
//   onnx_node_tests [--filter TEXT] [--expect N] [--rewrite FOLDER] FOLDER...
//
// With --rewrite each model is written as ONNX into that folder and the copy is what runs.
// Prints one line per test that does not pass and the counts; with --expect the exit code says
// whether at least N tests passed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/onnx/decode.h"
#include "formats/onnx/tensor_data.h"
#include "frontend/onnx/onnx.h"
#include "ir/graph.h"
#include "ops/convert.h"
#include "ops/kernel.h"
#include "support/input_file.h"
#include "support/strings.h"
#include "writer/onnx/onnx.h"

namespace {

namespace fs = std::filesystem;
using ec::Result;
using ec::Value;

constexpr double kRelative = 1e-3, kAbsolute = 1e-4;

Result<Value> read_tensor(const fs::path& path) {
  EC_TRY(const ec::Blob file, ec::read_file(path));
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()), file.size());
  EC_TRY(const ec::onnx::Tensor tensor, ec::onnx::decode_tensor(bytes));
  EC_TRY(const ec::Blob data, ec::onnx::TensorReader(file, nullptr).read(tensor));
  const auto dtype = ec::dtype_from_name(ec::onnx::find_data_type(tensor.data_type)->element);
  return Value(*dtype, tensor.dims, data.aligned());
}

std::vector<double> as_doubles(const Value& value) {
  std::vector<double> out(static_cast<size_t>(value.view().count()));
  ec::load<double>(value.view(), out);
  return out;
}

// Empty when the values agree.
std::string compare(const Value& got, const Value& want) {
  const auto type_text = [](const Value& v) { return v.type().text(); };
  if (got.dtype != want.dtype || got.shape != want.shape)
    return "got " + type_text(got) + ", expected " + type_text(want);
  if (got.data.size() == want.data.size() &&
      (got.data.size() == 0 ||
       std::memcmp(got.data.bytes().data(), want.data.bytes().data(), got.data.size()) == 0))
    return {};
  const std::vector<double> a = as_doubles(got), b = as_doubles(want);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::abs(a[i] - b[i]) <= kAbsolute + kRelative * std::abs(b[i])) continue;
    return "element " + std::to_string(i) + " of " + type_text(got) + ": got " +
           ec::format_double(a[i]) + ", expected " + ec::format_double(b[i]);
  }
  return {};
}

// Old suites store bfloat16 values as the unsigned integers that have their bits.
void read_as(Value& value, ec::DType dtype) {
  if (value.dtype == ec::DType::U16 && dtype == ec::DType::BF16) value.dtype = dtype;
}

struct Outcome {
  enum Kind { Pass, Wrong, ImportError, RunError, Skipped, Rewrite } kind = Pass;
  std::string reason;
};

Outcome run_data_set(const ec::Graph& graph, const fs::path& folder) {
  std::vector<Value> inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const fs::path file = folder / ("input_" + std::to_string(i) + ".pb");
    Result<Value> value = read_tensor(file);
    if (!value.ok()) return {Outcome::Skipped, ec::format_diagnostic(value.error().diagnostic())};
    read_as(*value, graph.inputs()[i]->dtype());
    inputs.push_back(std::move(*value));
  }
  Result<std::vector<Value>> outputs = ec::interpret(graph, inputs);
  if (!outputs.ok())
    return {Outcome::RunError, ec::format_diagnostic(outputs.error().diagnostic())};
  for (size_t i = 0; i < outputs->size(); ++i) {
    const fs::path file = folder / ("output_" + std::to_string(i) + ".pb");
    Result<Value> want = read_tensor(file);
    if (!want.ok()) return {Outcome::Skipped, ec::format_diagnostic(want.error().diagnostic())};
    read_as(*want, (*outputs)[i].dtype);
    const std::string difference = compare((*outputs)[i], *want);
    if (!difference.empty())
      return {Outcome::Wrong, "output " + std::to_string(i) + ": " + difference};
  }
  return {};
}

// Writes the graph as ONNX and reads it back.
Result<std::unique_ptr<ec::Graph>> rewritten(const ec::Graph& graph, const fs::path& file) {
  EC_CHECK_OK(ec::write_onnx(graph, file));
  ec::DiagnosticSink sink;
  return ec::onnx_frontend().import_file(file, {}, sink);
}

Outcome run_test(const fs::path& folder, const fs::path& rewrite) {
  ec::DiagnosticSink sink;
  Result<std::unique_ptr<ec::Graph>> graph =
      ec::onnx_frontend().import_file(folder / "model.onnx", {}, sink);
  if (!graph.ok()) {
    std::string text = ec::format_diagnostic(graph.error().diagnostic());
    const bool no_tensors = graph.error().code() == ec::Code::UnsupportedType;
    return {no_tensors ? Outcome::Skipped : Outcome::ImportError, std::move(text)};
  }
  const auto faults = ec::verify(**graph);
  if (!faults.empty()) return {Outcome::ImportError, ec::format_diagnostic(faults[0])};
  if (!rewrite.empty()) {
    graph = rewritten(**graph, rewrite / (folder.filename().string() + ".onnx"));
    if (!graph.ok()) return {Outcome::Rewrite, ec::format_diagnostic(graph.error().diagnostic())};
  }
  for (int set = 0;; ++set) {
    const fs::path data = folder / ("test_data_set_" + std::to_string(set));
    if (!fs::is_directory(data)) break;
    Outcome outcome = run_data_set(**graph, data);
    if (outcome.kind != Outcome::Pass) return outcome;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::string filter;
  fs::path rewrite;
  long expected = 0;
  std::vector<fs::path> roots;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--filter" && i + 1 < argc)
      filter = argv[++i];
    else if (argument == "--expect" && i + 1 < argc)
      expected = std::strtol(argv[++i], nullptr, 10);
    else if (argument == "--rewrite" && i + 1 < argc)
      rewrite = argv[++i];
    else
      roots.emplace_back(argument);
  }
  constexpr const char* kNames[] = {"PASS", "WRONG", "IMPORT", "RUN", "SKIP", "REWRITE"};
  std::map<std::string, int> counts;
  long passed = 0;
  for (const fs::path& root : roots) {
    std::vector<fs::path> tests;
    if (fs::exists(root / "model.onnx")) {
      tests.push_back(root);
    } else {
      for (const auto& entry : fs::directory_iterator(root))
        if (fs::exists(entry.path() / "model.onnx")) tests.push_back(entry.path());
    }
    std::sort(tests.begin(), tests.end());
    for (const fs::path& test : tests) {
      const std::string name = test.filename().string();
      if (name.find(filter) == std::string::npos) continue;
      const Outcome outcome = run_test(test, rewrite);
      ++counts[kNames[outcome.kind]];
      if (outcome.kind == Outcome::Pass) {
        ++passed;
        continue;
      }
      std::string reason = outcome.reason;
      std::replace(reason.begin(), reason.end(), '\n', ' ');
      std::printf("%s %s: %s\n", kNames[outcome.kind], name.c_str(), reason.c_str());
      std::fflush(stdout);
    }
  }
  for (const auto& [name, count] : counts) std::printf("%s %d\n", name.c_str(), count);
  return passed >= expected ? 0 : 1;
}
