// parse(print(g)) == g, whatever the names, numbers and sizes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "ir/text.h"
#include "ops/attrs.h"

namespace ec {
namespace {

class Source {
 public:
  explicit Source(uint32_t seed) : random_(seed) {}

  size_t below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
  }
  template <class T, size_t N>
  T one_of(const T (&choices)[N]) {
    return choices[below(N)];
  }

  // Bytes of every kind: what words and numbers begin with, quotes, control characters, bytes that
  // are no UTF-8, and whole words of the grammar.
  std::string name() {
    static constexpr std::string_view kParts[] = {
        "/",    ".",        "$",        "-",     "->",
        "\"",   "\\",       "\n",       "\t",    std::string_view("\0", 1),
        "\x7f", "\xff",     "\xc3\xa4", " ",     "//",
        "%",    "@",        ",",        ":",     "=",
        "(",    ")",        "[",        "]",     "{",
        "}",    "?",        "*",        "_",     "+",
        "...",  "0",        "17",       "1e5",   "0x",
        "nan",  "-inf",     "graph",    "const", "body",
        "loc",  "metadata", "q",        "axis",  "ecir",
        "data", "a",        "Conv",     "x1",    "\\x41",
        "'"};
    std::string text;
    for (size_t parts = below(4); parts-- > 0;) text += one_of(kParts);
    if (below(50) == 0) text += std::string(5000, 'n');
    return text;
  }
  // A name that no tensor of the graph has.
  std::string new_name(const Graph& graph) {
    std::string text = name();
    while (graph.find_tensor(text) != nullptr) text += name() + "z";
    return text;
  }
  float number() {
    static constexpr float kNumbers[] = {
        0.0f,     -0.0f,     1.0f,    0.1f,        1e-45f,          -1e-40f,
        INFINITY, -INFINITY, 3.4e38f, 16777217.0f, 1.17549435e-38f, 5e-1f};
    if (below(3) > 0) return one_of(kNumbers);
    const auto bits = static_cast<uint32_t>(random_());
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return std::isnan(value) ? 7.0f : value;
  }
  Dim dim() {
    switch (below(4)) {
      case 0:
        return Dim::symbol(name());
      case 1:
        return Dim::unknown();
      default:
        return Dim(static_cast<int64_t>(below(5)));
    }
  }
  QuantParams quant(int64_t channels, int32_t axis) {
    QuantParams params;
    params.axis = axis;
    for (int64_t i = 0; i < channels; ++i) {
      params.scales.push_back(std::abs(number()));
      params.zero_points.push_back(static_cast<int32_t>(random_()));
    }
    return params;
  }

 private:
  std::mt19937 random_;
};

std::unique_ptr<Graph> random_graph(Source& source, int depth) {
  auto graph = std::make_unique<Graph>(source.name());
  for (size_t i = source.below(3); i-- > 0;) graph->metadata()[source.name()] = source.name();
  Tensor* value = graph->add_input(source.new_name(*graph),
                                   TensorType(DType::F32, Shape{source.dim(), source.dim(), 3}));
  const float numbers[] = {source.number(), source.number(), NAN};
  const size_t count = 2 + source.below(2);
  graph->add_constant<float>(source.new_name(*graph), Shape{static_cast<int64_t>(count)},
                             std::span(numbers).first(count));
  const std::vector<double> wide(70, static_cast<double>(source.number()) / 3);
  Tensor* splat = graph->add_constant<double>(source.new_name(*graph), Shape{7, 10}, wide);
  if (source.below(2) == 0) graph->set_quant(splat, source.quant(7, 0));
  for (size_t ops = 1 + source.below(3); ops-- > 0;) {
    OpSpec spec;
    spec.attrs = LeakyReluAttrs{.alpha = source.number()};
    spec.output_names = {source.new_name(*graph)};
    spec.location = Location(source.name(), source.name());
    spec.location.merge(Location(source.name()));
    value = graph->add(OpKind::LeakyRelu, {value}, std::move(spec)).value()->output();
    if (source.below(3) == 0) graph->set_quant(value, source.quant(1, -1));
  }
  if (depth > 0) {
    Tensor* condition = graph->add_input(source.new_name(*graph), TensorType(DType::Bool, Shape{}));
    OpSpec spec;
    spec.output_names = {source.new_name(*graph)};
    for (int branch = 0; branch < 2; ++branch)
      spec.bodies.push_back(random_graph(source, depth - 1));
    const auto added = graph->add(OpKind::If, {condition, value}, std::move(spec));
    if (added.ok()) value = added.value()->output();
  }
  graph->add_output(source.name(), value);
  return graph;
}

TEST(TextRoundTrip, RandomGraphsComeBackEqual) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    Source source(seed);
    const auto graph = random_graph(source, static_cast<int>(seed % 3));
    const std::string text = print(*graph);
    const auto parsed = parse(text);
    ASSERT_TRUE(parsed.ok()) << "seed " << seed << ": " << parsed.error().message() << "\n" << text;
    ASSERT_TRUE(**parsed == *graph) << "seed " << seed << "\n" << text << print(**parsed);
    ASSERT_EQ(print(**parsed), text) << "seed " << seed;
  }
}

// An attribute that equals its default is left out; these two only look equal to it.
TEST(TextRoundTrip, MinusZeroAndNotANumberAreNoDefaults) {
  Graph graph;
  Tensor* x = graph.add_input("x", TensorType(DType::F32, Shape{2}));
  Tensor* zero = graph.add_single(OpKind::Shrink, {x}, ShrinkAttrs{.bias = -0.0f}).value();
  Tensor* nan = graph.add_single(OpKind::LeakyRelu, {zero}, LeakyReluAttrs{.alpha = NAN}).value();
  graph.add_output("y", nan);
  const auto parsed = parse(print(graph));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  const std::vector<Operation*> ops = (*parsed)->topological();
  EXPECT_TRUE(std::signbit(ops[0]->attrs().as<ShrinkAttrs>().bias));
  EXPECT_TRUE(std::isnan(ops[1]->attrs().as<LeakyReluAttrs>().alpha));
}

// A line of text can ask for no more than a share of memory.
TEST(TextRoundTrip, SplatsAreSharedAndBounded) {
  std::string same = "graph @g() -> () {\n", many = same;
  for (int i = 0; i < 100; ++i) {
    same += " %w" + std::to_string(i) + " = const f32[2000000] splat(1)\n";
    many += " %w" + std::to_string(i) + " = const f32[2000000] splat(" + std::to_string(i) + ")\n";
  }
  const auto shared = parse(same + "}");
  ASSERT_TRUE(shared.ok()) << shared.error().message();
  EXPECT_EQ((*shared)->find_tensor("w0")->raw_data().bytes().data(),
            (*shared)->find_tensor("w99")->raw_data().bytes().data());
  EXPECT_FALSE(parse(many + "}").ok());
}

}  // namespace
}  // namespace ec
