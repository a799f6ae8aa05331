// libFuzzer: saved statistics, read and played back to a quantisation in place of samples.
//
// Statistics are bound to their graph by a fingerprint. Seeds have @GRAPH@ in its place, so that
// they stay good when the text form of graphs changes.
#include <cstdlib>
#include <fstream>

#include "backend/tflite/integer_rules.h"
#include "fuzz/reader_fuzzer.h"
#include "ir/text.h"
#include "quantize/strategy/strategy.h"
#include "quantize/trial/measurements.h"
#include "support/random.h"

namespace {

using namespace ec::quantize;
using ec::Value;

constexpr std::string_view kMark = "@GRAPH@";

constexpr std::string_view kGraph = R"(ecir 1
graph @g(%x: f32[1,6,6,3]) -> (y = %y) {
  %w1 = const f32[4,3,3,3] splat(0.1) %b1 = const f32[4] splat(0.5)
  %w2 = const f32[4,3,3,1] splat(0.2)
  %wf = const f32[5,4] splat(0.3)
  %axes = const i64[2] dense[1,2]
  %c1 = conv(%x, %w1, %b1) {layout=nhwc, pads=[1,1,1,1], activation=relu6} loc("stem" : "Conv")
  %c2 = conv(%c1, %w2) {layout=nhwc, groups=4, pads=[1,1,1,1], activation=relu} loc("dw" : "Conv")
  %r = add(%c1, %c2) loc("sum" : "Add")
  %m = reduce_mean(%r, %axes) {keep_dims=false} loc("mean" : "ReduceMean")
  %f = gemm(%m, %wf) {transpose_b=true} loc("fc" : "Gemm")
  %y = softmax(%f) {axis=-1} loc("softmax" : "Softmax")
}
)";

const ec::Graph& graph() {
  static const auto kParsed = ec::parse(kGraph);
  if (!kParsed.ok()) std::abort();
  return **kParsed;
}

// What the fingerprint of the graph is, by way of statistics that are made of nothing.
const std::string& fingerprint() {
  static const std::string kText = [] {
    Measurements empty;
    if (!empty.check(graph(), {}).ok()) std::abort();
    const std::string text = empty.text();
    const size_t begin = text.find("\"graph\":\"") + 9;
    return text.substr(begin, text.find('"', begin) - begin);
  }();
  return kText;
}

QuantizeRequest request_of(SampleSource& samples) {
  QuantizeRequest request;
  request.target = &tflite_spec();
  request.samples = &samples;
  request.methods.adapt_rounding = Switch::On;  // so that weights are among the answers
  return request;
}

const Strategy& ptq() {
  for (const Strategy& strategy : all_strategies())
    if (strategy.name == "ptq") return strategy;
  std::abort();
}

// Sound statistics, for the seeds.
std::string recorded() {
  std::vector<std::vector<Value>> samples;
  ec::RandomState random(5);
  for (size_t i = 0; i < 12; ++i) {
    std::vector<float> values(108);
    for (float& value : values) value = static_cast<float>(random.uniform() * 4 - 2);
    samples.push_back({Value::of<float>({1, 6, 6, 3}, std::span<const float>(values))});
  }
  const auto source = samples_in_memory(std::move(samples), {{"x", graph().inputs()[0]->type()}});
  Measurements measurements;
  if (!source.ok() || !measurements.check(graph(), {}).ok()) std::abort();
  const auto recording = recorded_samples(**source, measurements);
  ec::DiagnosticSink sink;
  if (!ptq().run(graph(), request_of(*recording), sink).ok()) std::abort();
  std::string text = measurements.text();
  return text.replace(text.find(fingerprint()), fingerprint().size(), kMark);
}

}  // namespace

// EC_SEED=FILE writes a seed and ends.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* file = std::getenv("EC_SEED");
  if (file == nullptr) return 0;
  std::ofstream(file) << recorded();
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(ec::fuzz::text_of(data, size));
  if (const size_t at = text.find(kMark); at != text.npos)
    text.replace(at, kMark.size(), fingerprint());
  const ec::fuzz::MemoryBound bound(text.size());
  auto measurements = Measurements::parse(text, "fuzz.json");
  if (!measurements.ok() || !measurements->check(graph(), {}).ok()) return 0;
  const auto samples = played_back_samples(*measurements);
  ec::DiagnosticSink sink;
  const auto result = ptq().run(graph(), request_of(*samples), sink);
  if (result.ok() && !ec::verify(*result->graph).empty()) std::abort();
  return 0;
}
