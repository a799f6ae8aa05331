#include "fuzz/statistics_graph.h"

#include <cstdlib>

#include "ir/text.h"
#include "quantize/trial/measurements.h"

namespace ec::fuzz {
namespace {

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

// What the fingerprint of the graph is, by way of statistics that are made of nothing.
const std::string& fingerprint() {
  static const std::string kText = [] {
    quantize::Measurements empty;
    if (!empty.check(statistics_graph(), {}).ok()) std::abort();
    const std::string text = empty.text();
    const size_t begin = text.find("\"graph\":\"") + 9;
    return text.substr(begin, text.find('"', begin) - begin);
  }();
  return kText;
}

}  // namespace

const Graph& statistics_graph() {
  static const auto kParsed = parse(kGraph);
  if (!kParsed.ok()) std::abort();
  return **kParsed;
}

std::string with_fingerprint(std::string_view text) {
  std::string result(text);
  if (const size_t at = result.find(kMark); at != result.npos)
    result.replace(at, kMark.size(), fingerprint());
  return result;
}

std::string with_mark(std::string text) {
  if (const size_t at = text.find(fingerprint()); at != text.npos)
    text.replace(at, fingerprint().size(), kMark);
  return text;
}

}  // namespace ec::fuzz
