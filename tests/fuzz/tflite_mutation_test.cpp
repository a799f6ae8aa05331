// Thousands of damaged TFLite and Edge TPU files, the same ones on every run: each must import, or
// be refused with a diagnostic; no crash, no hang, and no more memory than five times the file plus
// 64 MB (constants may be unpacked). EC_MUTATIONS sets the number.
#include <flatbuffers/flexbuffers.h>
#include <gtest/gtest.h>

#include "formats/edgetpu/executable.h"
#include "formats/edgetpu/package.h"
#include "formats/tflite/model_file.h"
#include "frontend/tflite/model_builder.h"
#include "frontend/tflite/tflite.h"
#include "fuzz/flat_mutator.h"
#include "fuzz/mutation_cases.h"
#include "ir/graph.h"

namespace ec::tflite::testing {
namespace {

std::string text_of_blob(const Blob& blob) {
  return {reinterpret_cast<const char*>(blob.bytes().data()), blob.size()};
}

// A chain with convolution, pooling, reshape, a matrix and a subgraph.
ModelSpec network() {
  SubgraphSpec graph;
  const auto ints = [](std::string name, const std::vector<int32_t>& values) {
    return TensorSpec{.name = std::move(name),
                      .shape = {static_cast<int32_t>(values.size())},
                      .type = TensorType::INT32,
                      .data = bytes_of(values)};
  };
  graph.tensors = {{.name = "x", .shape = {1, 8, 8, 2}, .signature = {-1, 8, 8, 2}},
                   {.name = "w", .shape = {3, 3, 3, 2}, .data = std::vector<uint8_t>(216, 1)},
                   {.name = "b", .shape = {3}, .data = bytes_of<float>({1, 2, 3})},
                   {.name = "c", .shape = {1, 8, 8, 3}},
                   {.name = "p", .shape = {1, 4, 4, 3}},
                   ints("shape", {-1, 48}),
                   {.name = "r", .shape = {1, 48}},
                   {.name = "m", .shape = {4, 48}, .data = std::vector<uint8_t>(768, 2)},
                   {.name = "f", .shape = {1, 4}},
                   {.name = "t", .shape = {}, .type = TensorType::BOOL, .data = {1}},
                   {.name = "y", .shape = {1, 4}},
                   ints("axis", {1}),
                   {.name = "best", .shape = {1}, .type = TensorType::INT32}};
  graph.inputs = {0};
  graph.outputs = {10, 12};
  graph.operators = {
      {BuiltinOperator::CONV_2D,
       {0, 1, 2},
       {3},
       BuiltinOptions::Conv2DOptions,
       options([](Fbb& fbb) {
         return CreateConv2DOptions(fbb, Padding::SAME, 1, 1, ActivationFunctionType::RELU);
       })},
      {BuiltinOperator::MAX_POOL_2D, {3}, {4}, BuiltinOptions::Pool2DOptions, options([](Fbb& fbb) {
         return CreatePool2DOptions(fbb, Padding::VALID, 2, 2, 2, 2);
       })},
      {BuiltinOperator::RESHAPE, {4, 5}, {6}},
      {BuiltinOperator::FULLY_CONNECTED, {6, 7, -1}, {8}},
      {BuiltinOperator::IF, {9, 8}, {10}, BuiltinOptions::IfOptions, options([](Fbb& fbb) {
         return CreateIfOptions(fbb, 1, 1);
       })},
      {BuiltinOperator::ARG_MAX,
       {10, 11},
       {12},
       BuiltinOptions::ArgMaxOptions,
       options([](Fbb& fbb) { return CreateArgMaxOptions(fbb, TensorType::INT32); })}};
  SubgraphSpec branch;
  branch.tensors = {{.name = "a", .shape = {1, 4}}, {.name = "b", .shape = {1, 4}}};
  branch.inputs = {0};
  branch.outputs = {1};
  branch.operators = {{BuiltinOperator::SOFTMAX, {0}, {1}}};
  return {.subgraphs = {graph, branch}, .signatures = {{"serve", {{"in", 0}}, {{"out", 10}}}}};
}

std::vector<uint8_t> edgetpu_options() {
  using namespace ec::edgetpu;
  const auto executable = [](ExecutableType type) {
    Fbb fbb;
    const std::vector<uint8_t> bytes(64, 7);
    const auto stream = CreateInstructionBitstream(fbb, fbb.CreateVector(bytes));
    const auto layer = CreateLayer(fbb, fbb.CreateString("x"), 128, 8, 8, 2,
                                   CreateNumericsConstants(fbb, 3, 0.5f));
    const auto root = CreateExecutable(
        fbb, 1, fbb.CreateString("e"), 0, 1, 0, fbb.CreateVector(std::vector{stream}),
        fbb.CreateVector(bytes), 0, fbb.CreateVector(std::vector{layer}),
        fbb.CreateVector(std::vector{layer}), fbb.CreateString("beagle"), 0, 100, type, 42);
    fbb.Finish(root);
    return std::string(reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize());
  };
  Fbb multi;
  multi.Finish(CreateMultiExecutable(
      multi, multi.CreateVectorOfStrings({executable(ExecutableType::EXECUTION_ONLY),
                                          executable(ExecutableType::PARAMETER_CACHING)})));
  Fbb fbb;
  FinishPackageBuffer(
      fbb, CreatePackage(fbb, 13, fbb.CreateVector(multi.GetBufferPointer(), multi.GetSize()), 0, 0,
                         fbb.CreateString("cl/1")));
  flexbuffers::Builder flex;
  flex.Map([&] {
    flex.Int("1", 0);
    flex.Key("4");
    // The builder copies the zero behind the text, too.
    flex.String(std::string(reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize()));
    flex.Int("5", -1);
    flex.Vector("6", [&] { flex.Int(18); });
  });
  flex.Finish();
  return flex.GetBuffer();
}

ModelSpec edgetpu_model() {
  ModelSpec spec = add_model();
  OperatorSpec& op = spec.subgraphs[0].operators[0];
  op = {BuiltinOperator::CUSTOM, {0}, {2}};
  op.custom_code = "edgetpu-custom-op";
  op.custom_options = edgetpu_options();
  return spec;
}

// What inspecting the file does: import it, then read the packages in it.
std::string outcome_of(const Blob& file, const std::string& label) {
  DiagnosticSink sink;
  const auto graph = import_tflite(file, "mutated.tflite", {}, sink);
  // What `inspect` sees of the same file.
  KeptOperations kept(KeptOperations::Scope::Everything);
  ImportOptions shown;
  shown.kept = &kept;
  DiagnosticSink seen;
  fuzz::expect_shown(import_tflite(file, "mutated.tflite", shown, seen), seen, graph, label);
  std::string outcome = fuzz::outcome_of(graph, sink, label);
  if (!graph.ok()) return outcome;
  DiagnosticSink faults;
  const auto opened = ModelFile::open(file, faults);
  EXPECT_TRUE(opened.ok()) << label;
  for (uint32_t i = 0; opened.ok() && i < size_of(opened->subgraph(0).operators()); ++i) {
    const Operator& op = *opened->subgraph(0).operators()->Get(i);
    if (operator_name(opened->code_of(op)) != edgetpu::kCustomOpName) continue;
    const auto package = edgetpu::read_custom_op(opened->custom_options(op));
    if (!package.ok()) {
      EXPECT_FALSE(package.error().message().empty()) << label;
      return "package refused";
    }
    return "package read";
  }
  return outcome;
}

TEST(EdgeTpuPackage, IsRead) {
  const std::vector<uint8_t> bytes = edgetpu_options();
  const auto op = edgetpu::read_custom_op(Blob::copy_of(std::span<const uint8_t>(bytes)));
  ASSERT_TRUE(op.ok()) << op.error().message();
  EXPECT_EQ(op->cached_bytes(), 64);
  EXPECT_EQ(op->streamed_bytes(), 64);
  EXPECT_EQ(op->instruction_bytes(), 128);
  EXPECT_EQ(op->execution_preference, -1);
  EXPECT_EQ(op->chip_ids, std::vector<int64_t>{18});
  ASSERT_EQ(op->packages.size(), 1u);
  EXPECT_EQ(op->packages[0].min_runtime_version, 13);
  ASSERT_EQ(op->packages[0].executables.size(), 2u);
  const edgetpu::ExecutableInfo& first = op->packages[0].executables[0];
  EXPECT_EQ(first.type, "execution-only");
  EXPECT_EQ(first.chip, "beagle");
  EXPECT_EQ(first.caching_token, 42u);
  ASSERT_EQ(first.inputs.size(), 1u);
  EXPECT_EQ(first.inputs[0].zero_point, 3);
}

TEST(TfliteMutations, AreImportedOrRefused) {
  const std::string seeds[] = {text_of_blob(build(network())), text_of_blob(build(add_model())),
                               text_of_blob(build(edgetpu_model()))};
  for (const std::string& seed : seeds) {
    const auto outcome = outcome_of(Blob::copy_of(std::span<const char>(seed)), "a sound file");
    EXPECT_TRUE(outcome == "imported" || outcome == "package read") << outcome;
  }
  fuzz::Outcomes outcomes;
  for (int i = 0; i < fuzz::mutation_count(2000); ++i) {
    fuzz::FlatMutator mutator(static_cast<uint64_t>(i) * 7919 + 17);
    std::string what;
    const std::string bytes = mutator.mutate(seeds[static_cast<size_t>(i) % 3], what);
    const std::string label = "case " + std::to_string(i) + " (" + what + ")";
    const Blob file = Blob::copy_of(std::span<const char>(bytes));
    const fuzz::LimitedCase limits;
    ++outcomes[outcome_of(file, label)];
    limits.expect_memory(bytes.size(), label, 5);
  }
  fuzz::print(outcomes);
  // The mutations must reach deep into the importer, not bounce off the first byte.
  EXPECT_GT(outcomes.size(), 6u);
}

}  // namespace
}  // namespace ec::tflite::testing
