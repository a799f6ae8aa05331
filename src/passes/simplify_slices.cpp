// simplify-slices: slices, splits and concats that cut and join the same data.
//
//   slice(slice(%x)) -> slice(%x)      concat(concat(a, b), c) -> concat(a, b, c)
//   concat(split(%x)) -> %x            slice(concat(a, b)) inside b -> slice(b)
//   slice(%x, 0, 4), slice(%x, 4, 8) -> split(%x)
#include <algorithm>

#include "passes/match.h"
#include "passes/registry.h"
#include "passes/shapes.h"

namespace ec::passes {
namespace {

int64_t axis_of(const Operation* op) {
  const int64_t axis = op->attrs_as<AxisAttrs>().axis;
  const auto rank = rank_of(op->inputs().empty() ? nullptr : op->input(0));
  return rank ? positive_axis(axis, *rank) : axis;
}

// Every reader of the tensor is a slice that can be merged with this one, which then goes.
bool is_sliced_only(const Tensor* tensor) {
  return !tensor->uses().empty() && !tensor->uses().front().op->graph().is_output(tensor) &&
         std::all_of(tensor->uses().begin(), tensor->uses().end(), [](const Use& use) {
           return use.op->kind() == OpKind::Slice && use.index == 0 && slice_ranges(use.op);
         });
}

// slice(slice(x)) -> slice(x): starts add up, steps multiply.
Result<bool> merge_slices(Rewriter& rewriter, Operation* op) {
  Operation* inner_op = produced_by(op->input(0), OpKind::Slice);
  if (inner_op == nullptr || !is_sliced_only(op->input(0))) return false;
  if (!Rewriter::interchangeable(op->output(), inner_op->input(0))) return false;
  const auto outer = slice_ranges(op);
  auto ranges = slice_ranges(inner_op);
  if (!outer || !ranges) return false;
  for (const AxisRange& range : *outer) {
    const auto same = std::find_if(ranges->begin(), ranges->end(),
                                   [&](const AxisRange& r) { return r.axis == range.axis; });
    if (same == ranges->end()) {
      ranges->push_back(range);
      continue;
    }
    const int64_t step = same->step * range.step;
    const int64_t start = same->start + range.start * same->step;
    // The last element taken, plus one.
    const int64_t end = range.count() == 0 ? start : start + (range.count() - 1) * step + 1;
    *same = {range.axis, start, end, step};
  }
  EC_TRY(Tensor * result, add_slice(rewriter, inner_op->input(0), *ranges, {inner_op, op}));
  rewriter.replace(op, result);
  return true;
}

// A slice along the axis of a concat that stays within one of its operands.
Result<bool> slice_of_concat(Rewriter& rewriter, Operation* op) {
  Operation* concat = produced_by(op->input(0), OpKind::Concat);
  if (concat == nullptr) return false;
  auto ranges = slice_ranges(op);
  if (!ranges) return false;
  const int64_t axis = axis_of(concat);
  const auto along = std::find_if(ranges->begin(), ranges->end(),
                                  [&](const AxisRange& r) { return r.axis == axis; });
  if (along == ranges->end() || along->count() == 0) return false;
  int64_t begin = 0;
  for (Tensor* part : concat->inputs()) {
    if (!part->shape() || !(*part->shape())[static_cast<size_t>(axis)].is_static()) return false;
    const int64_t size = (*part->shape())[static_cast<size_t>(axis)].size();
    const int64_t last = along->start + (along->count() - 1) * along->step;
    if (along->start >= begin && last < begin + size) {
      if (!Rewriter::interchangeable(op->output(), part)) return false;
      *along = {axis, along->start - begin, std::min(along->end - begin, size), along->step};
      if (along->start == 0 && along->end == size && along->step == 1) ranges->erase(along);
      if (ranges->empty()) {
        rewriter.replace(op, part);
        return true;
      }
      EC_TRY(Tensor * result, add_slice(rewriter, part, *ranges, {op}));
      rewriter.replace(op, result);
      return true;
    }
    begin += size;
  }
  return false;
}

// concat(concat(a, b), c) -> concat(a, b, c) along one axis.
Result<bool> flatten_concats(Rewriter& rewriter, Operation* op) {
  const int64_t axis = axis_of(op);
  Location location;
  std::vector<Tensor*> parts;
  bool nested = false;
  for (Tensor* part : op->inputs()) {
    const Operation* inner = produced_by(part, OpKind::Concat);
    if (inner == nullptr || axis_of(inner) != axis || !has_single_use(part) ||
        part->type().quant != op->output()->type().quant) {
      parts.push_back(part);
      continue;
    }
    parts.insert(parts.end(), inner->inputs().begin(), inner->inputs().end());
    location.merge(inner->location());
    nested = true;
  }
  if (!nested) return false;
  location.merge(op->location());
  OpSpec spec;
  spec.attrs = op->attrs();
  spec.location = std::move(location);
  EC_TRY(const Operation* joined,
         rewriter.add_op(OpKind::Concat, std::move(parts), std::move(spec)));
  rewriter.replace(op, joined->output());
  return true;
}

// A range of another tensor along an axis: [begin, end).
struct Part {
  Tensor* whole = nullptr;
  int64_t begin = 0, end = 0;
};

std::optional<Part> part_of(const Tensor* tensor, int64_t axis) {
  const Operation* op = tensor->producer();
  if (op == nullptr) return std::nullopt;
  if (op->kind() == OpKind::Slice) {
    const auto ranges = slice_ranges(op);
    if (!ranges || ranges->size() != 1 || ranges->front().axis != axis || ranges->front().step != 1)
      return std::nullopt;
    return Part{op->input(0), ranges->front().start, ranges->front().end};
  }
  if (op->kind() != OpKind::Split || axis_of(op) != axis) return std::nullopt;
  int64_t begin = 0;
  for (const Tensor* output : op->outputs()) {
    if (!output->shape() || !(*output->shape())[static_cast<size_t>(axis)].is_static())
      return std::nullopt;
    const int64_t size = (*output->shape())[static_cast<size_t>(axis)].size();
    if (output == tensor) return Part{op->input(0), begin, begin + size};
    begin += size;
  }
  return std::nullopt;
}

// concat of neighbouring ranges of one tensor -> the range they make, or the tensor.
Result<bool> join_parts(Rewriter& rewriter, Operation* op) {
  const int64_t axis = axis_of(op);
  if (has_quant(op)) return false;
  std::vector<Tensor*> inputs;
  std::optional<Part> run;
  size_t run_length = 0;
  bool changed = false;
  const auto finish = [&](const std::optional<Part>& part) -> Status {
    if (run_length < 2) return {};
    inputs.resize(inputs.size() - run_length);
    const Dim& size = (*part->whole->shape())[static_cast<size_t>(axis)];
    Tensor* joined = part->whole;
    if (part->begin != 0 || size != Dim(part->end)) {
      const AxisRange range{axis, part->begin, part->end, 1};
      EC_TRY(joined, add_slice(rewriter, part->whole, std::span(&range, 1), {op}));
    }
    inputs.push_back(joined);
    changed = true;
    return {};
  };
  for (Tensor* input : op->inputs()) {
    const auto part = part_of(input, axis);
    const bool continues = part && run && part->whole == run->whole && part->begin == run->end;
    if (continues) {
      run->end = part->end;
      ++run_length;
    } else {
      EC_CHECK_OK(finish(run));
      run = part;
      run_length = part ? 1 : 0;
    }
    inputs.push_back(input);
  }
  EC_CHECK_OK(finish(run));
  if (!changed) return false;
  if (inputs.size() == 1) {
    rewriter.replace(op, inputs.front());
    return true;
  }
  EC_TRY(Tensor * joined, rewriter.add(OpKind::Concat, std::move(inputs), op->attrs(), {op}));
  rewriter.replace(op, joined);
  return true;
}

// Slices that cut a tensor into equal parts -> one split. Unequal parts stay: few devices split so.
Result<bool> slices_to_split(Rewriter& rewriter, Operation* op) {
  const auto ranges = slice_ranges(op);
  if (!ranges || ranges->size() != 1 || has_quant(op)) return false;
  const int64_t axis = ranges->front().axis;
  Tensor* x = op->input(0);
  const int64_t length = ranges->front().end - ranges->front().start;
  const int64_t size = (*x->shape())[static_cast<size_t>(axis)].size();
  // The first part stands for all. Looking ends with the first slice that does not fit: tensors may
  // have thousands of them, which would be looked at for each.
  if (ranges->front().start != 0 || length < 1 || size % length != 0) return false;
  std::vector<Operation*> parts(
      static_cast<size_t>(std::min<int64_t>(size / length, static_cast<int64_t>(x->uses().size()))),
      nullptr);
  if (parts.size() < 2 || static_cast<int64_t>(parts.size()) * length != size) return false;
  size_t found = 0;
  for (const Use& use : x->uses()) {
    if (use.op->kind() != OpKind::Slice || use.op->input(0) != x) continue;
    const auto part = part_of(use.op->output(), axis);
    if (!part) continue;
    if (part->end - part->begin != length || part->begin % length != 0) return false;
    Operation*& place = parts[static_cast<size_t>(part->begin / length)];
    if (place != nullptr) return false;
    place = use.op;
    ++found;
  }
  if (found < parts.size()) return false;
  Location location;
  for (const Operation* part : parts) location.merge(part->location());
  OpSpec spec;
  spec.attrs = AxisAttrs{.axis = axis};
  spec.location = std::move(location);
  spec.num_outputs = parts.size();
  const std::vector<int64_t> sizes(parts.size(), length);
  EC_TRY(const Operation* split,
         rewriter.add_op(OpKind::Split, {x, rewriter.ints(sizes)}, std::move(spec)));
  for (size_t i = 0; i < parts.size(); ++i) rewriter.replace(parts[i], split->output(i));
  return true;
}

constexpr RewriteRule kRules[] = {
    {OpKind::Slice, merge_slices, "slices merged"},
    {OpKind::Slice, slice_of_concat, "slices of concats"},
    {OpKind::Slice, slices_to_split, "slices to splits"},
    {OpKind::Concat, flatten_concats, "concats merged"},
    {OpKind::Concat, join_parts, "parts joined"},
};

}  // namespace

const PassInfo kSimplifySlicesPass{
    .name = "simplify-slices",
    .summary = "Merges slices, splits and concats that cut and join the same data.",
    .details =
        "Slices of slices, slices that stay within one operand of a concat, slices that cut a "
        "tensor into equal parts (one split), concats of concats, and concats that put "
        "neighbouring parts of one tensor together again. "
        "Needs constant starts and ends along axes of known sizes.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kSimplifySlicesPass.name, kRules);
    }};

}  // namespace ec::passes
