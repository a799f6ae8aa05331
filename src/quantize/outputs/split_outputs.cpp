#include "quantize/outputs/split_outputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/attrs.h"
#include "quantize/measure/output_parts.h"

namespace ec::quantize {
namespace {

// Indices [begin, end) along an axis.
struct Cut {
  size_t axis = 0;
  int64_t begin = 0, end = 0;
};

int64_t size_along(const Tensor* tensor, size_t axis) { return tensor->shape()->sizes()[axis]; }

class Splitter {
 public:
  explicit Splitter(Graph& graph) : graph_(graph) {}

  // The elements of a cut: from what joins them, else sliced out.
  Result<Tensor*> part_of(Tensor* tensor, const Cut& cut, int depth = 0) {
    if (cut.begin == 0 && cut.end == size_along(tensor, cut.axis)) return tensor;
    Operation* op = tensor->producer();
    // What others read, too, is not made twice.
    const bool shared = depth > 0 && !graph_.has_single_use(tensor);
    if (op == nullptr || shared || depth > kDeepest) return slice(tensor, cut);
    for (const Tensor* operand : op->inputs())
      if (operand == nullptr || !operand->type().is_static()) return slice(tensor, cut);
    switch (op->kind()) {
      case OpKind::Identity:
        return part_of(op->input(0), cut, depth + 1);
      case OpKind::Concat:
        return part_of_concat(*op, cut, depth);
      case OpKind::Transpose:
        return part_of_transpose(*op, cut, depth);
      case OpKind::Reshape:
        return part_of_reshape(*op, cut, depth);
      default:
        return slice(tensor, cut);
    }
  }

 private:
  static constexpr int kDeepest = 64;

  Result<Tensor*> slice(Tensor* tensor, const Cut& cut) {
    const int64_t begin[] = {cut.begin}, end[] = {cut.end},
                  axis[] = {static_cast<int64_t>(cut.axis)}, step[] = {1};
    return graph_.add_single(OpKind::Slice,
                             {tensor, graph_.add_ints("", begin), graph_.add_ints("", end),
                              graph_.add_ints("", axis), graph_.add_ints("", step)},
                             {}, Location("split-outputs", "Slice"));
  }

  Result<Tensor*> part_of_concat(const Operation& op, const Cut& cut, int depth) {
    int64_t along = op.attrs_as<AxisAttrs>().axis;
    if (along < 0) along += static_cast<int64_t>(op.output()->shape()->rank());
    std::vector<Tensor*> pieces;
    int64_t offset = 0;
    for (Tensor* operand : op.inputs()) {
      Cut own = cut;
      if (static_cast<int64_t>(cut.axis) == along) {
        const int64_t size = size_along(operand, cut.axis);
        own.begin = std::max<int64_t>(0, cut.begin - offset);
        own.end = std::min(size, cut.end - offset);
        offset += size;
        if (own.begin >= own.end) continue;
      }
      EC_TRY(Tensor * piece, part_of(operand, own, depth + 1));
      pieces.push_back(piece);
    }
    if (pieces.size() == 1) return pieces[0];
    return graph_.add_single(OpKind::Concat, std::move(pieces), op.attrs(), op.location());
  }

  Result<Tensor*> part_of_transpose(const Operation& op, const Cut& cut, int depth) {
    const std::vector<int64_t>& perm = op.attrs_as<TransposeAttrs>().perm;
    const size_t rank = op.output()->shape()->rank();
    const size_t axis = perm.empty() ? rank - 1 - cut.axis : static_cast<size_t>(perm[cut.axis]);
    EC_TRY(Tensor * piece, part_of(op.input(0), {axis, cut.begin, cut.end}, depth + 1));
    return graph_.add_single(OpKind::Transpose, {piece}, op.attrs(), op.location());
  }

  // An axis that a reshape keeps: of the same size, with as many elements in front of it.
  Result<Tensor*> part_of_reshape(const Operation& op, const Cut& cut, int depth) {
    const std::vector<int64_t> to = op.output()->shape()->sizes();
    const std::vector<int64_t> from = op.input(0)->shape()->sizes();
    int64_t wanted = 1, in_front = 1;
    for (size_t i = 0; i < cut.axis; ++i) wanted *= to[i];
    for (size_t axis = 0; axis < from.size(); in_front *= from[axis], ++axis) {
      if (in_front != wanted || from[axis] != to[cut.axis] || from[axis] == 1) continue;
      EC_TRY(Tensor * piece, part_of(op.input(0), {axis, cut.begin, cut.end}, depth + 1));
      std::vector<int64_t> sizes = to;
      sizes[cut.axis] = cut.end - cut.begin;
      return graph_.add_single(OpKind::Reshape, {piece, graph_.add_ints("", sizes)}, ReshapeAttrs{},
                               op.location());
    }
    return slice(op.output(), cut);
  }

  Graph& graph_;
};

// Neighbours that mean the same are one part.
std::vector<OutputPart> joined(const std::vector<OutputPart>& parts) {
  std::vector<OutputPart> result;
  for (const OutputPart& part : parts) {
    if (!result.empty() && !part.whole && result.back().meaning == part.meaning &&
        result.back().axis == part.axis && result.back().end == part.begin)
      result.back().end = part.end;
    else
      result.push_back(part);
  }
  return result;
}

// "output0_scores"; numbered where several parts mean the same.
std::string name_of(const std::string& output, const std::vector<OutputPart>& parts, size_t index) {
  const auto same = [&](const OutputPart& part) { return part.meaning == parts[index].meaning; };
  const std::string name = fmt::format("{}_{}", output, part_meaning_name(parts[index].meaning));
  if (std::count_if(parts.begin(), parts.end(), same) == 1) return name;
  const auto before =
      std::count_if(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(index), same);
  return fmt::format("{}{}", name, before);
}

}  // namespace

Result<std::vector<SplitOutput>> split_outputs(Graph& graph) {
  std::vector<SplitOutput> split;
  const OutputParts all = parts_of_graph(graph);
  // From the last one on, so that those in front keep their numbers. Outputs keep their order.
  struct Output {
    std::string name;
    Tensor* tensor = nullptr;
  };
  std::vector<Output> outputs;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string name = graph.output_names()[i];
    const std::vector<OutputPart> parts = joined(all[i]);
    if (parts.size() < 2) {
      outputs.push_back({name, graph.outputs()[i]});
      continue;
    }
    SplitOutput& one = split.emplace_back();
    one.name = name;
    for (size_t k = 0; k < parts.size(); ++k) {
      EC_TRY(Tensor * part, Splitter(graph).part_of(graph.outputs()[i],
                                                    {parts[k].axis, parts[k].begin, parts[k].end}));
      outputs.push_back({name_of(name, parts, k), part});
      one.parts.push_back(outputs.back().name);
    }
  }
  if (split.empty()) return split;
  while (!graph.outputs().empty()) graph.erase_output(graph.outputs().size() - 1);
  for (Output& output : outputs) graph.add_output(std::move(output.name), output.tensor);
  return split;
}

}  // namespace ec::quantize
