#include "quantize/measure/output_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "quantize/tuning.h"

namespace ec::quantize {
namespace {

// --- from the graph ------------------------------------------------------------------------------
// By axis of a tensor: the axis of the output that its elements are counted along.
using AxisMap = std::vector<std::optional<size_t>>;

AxisMap identity_map(size_t rank) {
  AxisMap map(rank);
  for (size_t i = 0; i < rank; ++i) map[i] = i;
  return map;
}

// The map of the operand of a transpose, from that of its result.
AxisMap before_transpose(const Operation& op, const AxisMap& map) {
  AxisMap before(map.size());
  const std::vector<int64_t>& perm = op.attrs_as<TransposeAttrs>().perm;
  for (size_t i = 0; i < map.size(); ++i) {
    const size_t source = perm.empty() ? map.size() - 1 - i : static_cast<size_t>(perm[i]);
    if (source < before.size()) before[source] = map[i];
  }
  return before;
}

// Axes that a reshape keeps: of the same size, with as many elements in front of them.
AxisMap before_reshape(const Tensor& from, const Tensor& to, const AxisMap& map) {
  const std::vector<int64_t> source = from.shape()->sizes(), result = to.shape()->sizes();
  AxisMap before(source.size());
  int64_t in_front = 1;
  for (size_t i = 0; i < source.size(); in_front *= source[i], ++i) {
    int64_t in_front_of_result = 1;
    for (size_t k = 0; k < result.size(); in_front_of_result *= result[k], ++k)
      if (in_front_of_result == in_front && result[k] == source[i] && source[i] > 1)
        before[i] = map[k];
  }
  return before;
}

bool has_known_sizes(const Tensor* tensor) {
  return tensor != nullptr && tensor->type().is_static();
}

class PartFinder {
 public:
  // Parts of the tensor. `map` gives the axes of the output that its axes are.
  std::vector<OutputPart> parts_of(const Tensor* tensor, AxisMap map, int depth = 0) {
    const Operation* op = tensor->producer();
    if (op == nullptr || !has_known_sizes(tensor) || depth > kDeepest || ++visits_ > kMostVisits)
      return {OutputPart{}};
    switch (op->kind()) {
      case OpKind::Sigmoid:
      case OpKind::Softmax:
        return {OutputPart{.meaning = PartMeaning::Scores}};
      case OpKind::Quantize:
      case OpKind::Dequantize:
      case OpKind::Identity:
        return parts_of(op->input(0), std::move(map), depth + 1);
      case OpKind::Transpose:
        return has_known_sizes(op->input(0))
                   ? parts_of(op->input(0), before_transpose(*op, map), depth + 1)
                   : std::vector{OutputPart{}};
      case OpKind::Reshape:
        return has_known_sizes(op->input(0))
                   ? parts_of(op->input(0), before_reshape(*op->input(0), *tensor, map), depth + 1)
                   : std::vector{OutputPart{}};
      case OpKind::Concat:
        return parts_of_concat(*op, map, depth);
      case OpKind::Mul:
        return parts_of_product(*op, map, depth);
      default:
        return {OutputPart{}};
    }
  }

 private:
  // Longer chains of moves, and more operands, than any network has in front of an output. Operands
  // that are shared are visited once for each use.
  static constexpr int kDeepest = 64, kMostVisits = 4096;

  // Class scores times an object score are scores.
  std::vector<OutputPart> parts_of_product(const Operation& op, const AxisMap& map, int depth) {
    for (const Tensor* operand : op.inputs()) {
      if (!has_known_sizes(operand) || operand->shape()->rank() != map.size())
        return {OutputPart{}};
      const std::vector<OutputPart> parts = parts_of(operand, map, depth + 1);
      if (parts.size() != 1 || parts[0].meaning != PartMeaning::Scores) return {OutputPart{}};
    }
    return {OutputPart{.meaning = PartMeaning::Scores}};
  }

  std::vector<OutputPart> parts_of_concat(const Operation& op, const AxisMap& map, int depth) {
    const auto rank = static_cast<int64_t>(map.size());
    int64_t axis = op.attrs_as<AxisAttrs>().axis;
    if (axis < 0) axis += rank;
    std::vector<std::vector<OutputPart>> operands;
    for (const Tensor* operand : op.inputs()) {
      if (!has_known_sizes(operand) || axis >= rank) return {OutputPart{}};
      operands.push_back(parts_of(operand, map, depth + 1));
    }
    // Results of several scales, one behind the other: each has the same parts.
    const bool alike = std::all_of(operands.begin(), operands.end(),
                                   [&](const auto& parts) { return parts == operands[0]; });
    if (alike && (operands[0].size() > 1 || operands[0][0].meaning == PartMeaning::Scores))
      return operands[0];
    const std::optional<size_t> along = map[static_cast<size_t>(axis)];
    if (!along) return {OutputPart{}};
    std::vector<OutputPart> joined;
    int64_t offset = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      const int64_t size = op.input(i)->shape()->sizes()[static_cast<size_t>(axis)];
      for (const OutputPart& part : operands[i]) {
        if (part.whole)
          joined.push_back({*along, offset, offset + size, part.meaning, false});
        else if (part.axis == *along)
          joined.push_back({*along, offset + part.begin, offset + part.end, part.meaning, false});
        else
          return {OutputPart{}};  // parts along two axes
      }
      offset += size;
    }
    return joined;
  }

  int visits_ = 0;
};

// --- from the data -------------------------------------------------------------------------------
// What the elements at one index along an axis are like.
struct Spread {
  double squares = 0;
  int64_t count = 0, small = 0;  // small: below the scores that matter
  float least = std::numeric_limits<float>::infinity();
  float most = -std::numeric_limits<float>::infinity();

  void add(float value) {
    squares += static_cast<double>(value) * static_cast<double>(value);
    ++count;
    small += value < tuning::kLeastScore;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  void add(const Spread& other) {
    squares += other.squares;
    count += other.count;
    small += other.small;
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
  double rms() const { return count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0; }
  // Probabilities of which nearly all are near zero.
  bool is_score() const {
    return count > 0 && least >= 0 && most <= 1 &&
           static_cast<double>(small) >= tuning::kSmallScores * static_cast<double>(count);
  }
};

bool differ(const Spread& a, const Spread& b) {
  const double x = a.rms(), y = b.rms();
  if (x <= 0 || y <= 0) return false;  // nothing there to judge by
  return std::max(x, y) > tuning::kPartSpread * std::min(x, y);
}

std::vector<Spread> spreads_along(size_t axis, size_t output,
                                  std::span<const std::vector<Value>> outputs) {
  std::vector<Spread> spreads;
  for (const std::vector<Value>& sample : outputs) {
    const Value& value = sample[output];
    if (value.dtype != DType::F32 || axis >= value.shape.size()) return {};
    const auto size = static_cast<size_t>(value.shape[axis]);
    if (spreads.empty()) spreads.resize(size);
    if (spreads.size() != size) return {};
    const auto inner =
        static_cast<size_t>(count_elements(std::span(value.shape).subspan(axis + 1)));
    const auto values = value.as<float>();
    for (size_t i = 0; i < values.size(); ++i) spreads[i / inner % size].add(values[i]);
  }
  return spreads;
}

// Neighbouring indices whose values are of one size, as parts. Empty: more than there can be
// meanings in an output.
std::vector<OutputPart> cut_by_spread(size_t axis, int64_t begin, int64_t end, PartMeaning meaning,
                                      const std::vector<Spread>& spreads) {
  std::vector<OutputPart> parts;
  Spread run;
  for (int64_t i = begin; i < end; ++i) {
    const Spread& here = spreads[static_cast<size_t>(i)];
    if (parts.empty() || differ(run, here)) {
      if (parts.size() == tuning::kMostParts) return {};
      parts.push_back({axis, i, i, meaning, false});
      run = Spread();
    }
    run.add(here);
    parts.back().end = i + 1;
  }
  return parts;
}

Spread spread_of(const OutputPart& part, const std::vector<Spread>& spreads) {
  Spread sum;
  for (int64_t i = part.begin; i < part.end; ++i) sum.add(spreads[static_cast<size_t>(i)]);
  return sum;
}

// Joins neighbours that mean the same and are of one size; then gives the meaning that the data
// shows.
std::vector<OutputPart> join_alike(const std::vector<OutputPart>& parts,
                                   const std::vector<Spread>& spreads) {
  std::vector<OutputPart> joined;
  for (const OutputPart& part : parts) {
    if (!joined.empty() && joined.back().meaning == part.meaning &&
        !differ(spread_of(joined.back(), spreads), spread_of(part, spreads)))
      joined.back().end = part.end;
    else
      joined.push_back(part);
  }
  for (OutputPart& part : joined)
    if (spread_of(part, spreads).is_score()) part.meaning = PartMeaning::Scores;
  return joined;
}

// The axis of an output along which its parts may lie: of the axes that are long enough for parts
// the shortest, as positions are many and kinds of values are few.
std::optional<size_t> axis_of_parts(std::span<const int64_t> shape) {
  std::optional<size_t> best;
  size_t axes = 0;
  for (size_t i = shape.size() > 1 ? 1 : 0; i < shape.size(); ++i) {
    if (shape[i] < 2) continue;
    ++axes;
    if (!best || shape[i] < shape[*best]) best = i;
  }
  // One list of scores is one thing.
  return axes > 1 ? best : std::nullopt;
}

void refine_output(std::vector<OutputPart>& parts, size_t output,
                   std::span<const std::vector<Value>> outputs) {
  const Value& first = outputs[0][output];
  if (first.dtype != DType::F32) return;
  const bool whole = parts.size() == 1 && parts[0].whole;
  std::optional<size_t> axis = parts[0].axis;
  if (whole) axis = axis_of_parts(first.shape);
  if (!axis || (whole && parts[0].meaning == PartMeaning::Scores)) return;
  const std::vector<Spread> spreads = spreads_along(*axis, output, outputs);
  if (spreads.empty()) return;
  if (whole) parts = {{*axis, 0, first.shape[*axis], PartMeaning::Values, false}};
  std::vector<OutputPart> cut;
  for (const OutputPart& part : parts) {
    if (part.end > static_cast<int64_t>(spreads.size())) return;
    std::vector<OutputPart> pieces;
    if (part.meaning == PartMeaning::Values)
      pieces = cut_by_spread(*axis, part.begin, part.end, part.meaning, spreads);
    if (pieces.empty()) pieces = {part};
    cut.insert(cut.end(), pieces.begin(), pieces.end());
  }
  parts = join_alike(cut, spreads);
  if (parts.size() == 1) parts[0] = {.meaning = parts[0].meaning};
}

}  // namespace

std::string_view part_meaning_name(PartMeaning meaning) {
  return meaning == PartMeaning::Scores ? "scores" : "values";
}

OutputParts parts_of_graph(const Graph& graph) {
  OutputParts parts;
  for (const Tensor* output : graph.outputs())
    parts.push_back(has_known_sizes(output)
                        ? PartFinder().parts_of(output, identity_map(output->shape()->rank()))
                        : std::vector{OutputPart{}});
  return parts;
}

void refine_parts(OutputParts& parts, std::span<const std::vector<Value>> outputs) {
  if (outputs.empty()) return;
  for (size_t i = 0; i < parts.size(); ++i) refine_output(parts[i], i, outputs);
}

std::string part_text(const OutputPart& part) {
  if (part.whole) return {};
  std::string text = "[";
  for (size_t i = 0; i < part.axis; ++i) text += ":, ";
  return text + fmt::format("{}:{}]", part.begin, part.end);
}

void for_each_run(const OutputPart& part, std::span<const int64_t> shape,
                  const std::function<void(size_t first, size_t count)>& visit) {
  const auto count = static_cast<size_t>(count_elements(shape));
  if (part.whole || part.axis >= shape.size() || part.end > shape[part.axis]) {
    visit(0, count);
    return;
  }
  const auto inner = static_cast<size_t>(count_elements(shape.subspan(part.axis + 1)));
  const size_t block = inner * static_cast<size_t>(shape[part.axis]);
  if (block == 0) return;
  for (size_t first = 0; first < count; first += block)
    visit(first + static_cast<size_t>(part.begin) * inner,
          static_cast<size_t>(part.end - part.begin) * inner);
}

PartError part_error(const OutputPart& part, std::span<const int64_t> shape,
                     std::span<const float> expected, std::span<const float> got) {
  PartError error;
  const bool scores = part.meaning == PartMeaning::Scores;
  for_each_run(part, shape, [&](size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      // Thousands of scores near zero decide nothing: those that a threshold may let through do.
      if (scores && std::max(expected[i], got[i]) < tuning::kLeastScore) continue;
      const double e = static_cast<double>(expected[i]);
      const double difference = e - static_cast<double>(got[i]);
      error.noise += difference * difference;
      error.signal += e * e;
    }
  });
  return error;
}

}  // namespace ec::quantize
