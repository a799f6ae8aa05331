// Files that our writers made from a legal model, with something in them changed: sizes, axes,
// operands, types and counts that fit nearly everything else in the file. Most of them get past the
// reader, which files of any nodes seldom do.
#include "driver/compilation.h"
#include "fuzz/flat_mutator.h"
#include "fuzz/op/generate.h"
#include "fuzz/wire_mutator.h"
#include "ops/op_def.h"
#include "writer/onnx/onnx.h"

namespace ec::fuzz {
namespace {

std::string bytes_of(const std::vector<Blob>& parts) {
  const Blob whole = Blob::joined(parts);
  return {reinterpret_cast<const char*>(whole.bytes().data()), whole.size()};
}

// Empty where the writer refuses the model.
std::string written_onnx(const Graph& graph) {
  const Result<OnnxFiles> files = encode_onnx(graph, "x.data");
  return files.ok() ? bytes_of(files->model) : std::string();
}

std::string written_tflite(const Graph& graph) {
  const ModelRef ref("fuzz", std::shared_ptr<const Graph>(&graph, [](const Graph*) {}));
  DiagnosticSink sink;
  Result<Compilation> c = Compilation::create(default_registry(), Verb::Compile, {&ref, 1},
                                              {{"target", std::string("tflite")}}, sink);
  if (!c.ok() || !c->run("emit").ok()) return {};
  return bytes_of(c->models().front().emitted->files.front().parts);
}

}  // namespace

bool generate_damaged(RandomSource& random, const GenerateOptions& options, Model& model) {
  GenerateOptions legal = options;
  legal.level = Level::Legal;
  const Model source = generate(random.next(), legal);
  const bool flat = random.chance(40);
  std::string file = flat ? written_tflite(*source.graph) : written_onnx(*source.graph);
  if (file.empty()) return false;
  std::string what;
  for (int64_t i = random.chance(70) ? 1 : 2; i > 0 && !file.empty(); --i)
    file = flat ? FlatMutator(random.next()).mutate(file, what)
                : WireMutator(random.next()).change_meaning(file, what);
  model.files = {{"", std::move(file)}};
  model.file_name = flat ? "fuzz.tflite" : "fuzz.onnx";
  model.file_subject =
      (flat ? "tflite from " : "onnx from ") + std::string(op_name(source.subject));
  return true;
}

}  // namespace ec::fuzz
