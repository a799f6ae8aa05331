// merge-branches: convolutions of one image whose results are added become one convolution.
//
//   add(conv(%x, %a: 3x3), conv(%x, %b: 1x1)) -> conv(%x, %a with %b added in the middle)
//   add(conv(%x, %a: 3x3), batch_norm(%x))    -> conv(%x, %a with the factors in the middle)
//
// Networks trained with branches side by side (RepVGG, MobileOne) are often exported before these
// were joined: the same results for a third of the operations.
#include <algorithm>
#include <cmath>

#include "ops/window.h"
#include "passes/registry.h"
#include "passes/weighted_sum.h"

namespace ec::passes {
namespace {

constexpr size_t kMostTerms = 32;

// A sum as its terms, through sums that nothing else reads.
struct Sum {
  std::vector<Tensor*> terms;
  std::vector<const Operation*> ops;  // innermost first
};

// Adds two tensors of the result's shape.
bool is_sum(const Operation* op) {
  return op != nullptr && op->kind() == OpKind::Add && is_plain(op) &&
         same_shape(op->input(0), op->output()) && same_shape(op->input(1), op->output());
}
bool is_inner_sum(const Operation* op) { return is_sum(only_user(op->output())); }

void collect(Tensor* tensor, bool outermost, Sum& sum) {
  const Operation* op = tensor->producer();
  if (!is_sum(op) || !(outermost || has_single_use(tensor)) || sum.ops.size() >= kMostTerms) {
    sum.terms.push_back(tensor);
    return;
  }
  sum.ops.push_back(op);
  collect(op->input(0), false, sum);
  collect(op->input(1), false, sum);
}

bool is_constant_f32(const Tensor* tensor) {
  return is_constant(tensor) && tensor->dtype() == DType::F32;
}

// A convolution with its filter as values, to which others are added.
class Filter {
 public:
  static std::optional<Filter> of(const Tensor* term) {
    Operation* op = produced_by(term, OpKind::Conv);
    if (op == nullptr || !has_single_use(term) || !is_open(op) || has_quant(op) ||
        !is_constant_f32(op->input(1)))
      return std::nullopt;
    if (op->input(2) != nullptr && !is_constant_f32(op->input(2))) return std::nullopt;
    const auto& attrs = op->attrs_as<ConvAttrs>();
    if (attrs.auto_pad != AutoPad::Explicit) return std::nullopt;
    Filter filter;
    filter.op_ = op;
    filter.shape_ = op->input(1)->shape()->sizes();
    filter.window_ = window_spec(attrs, spatial_sizes(attrs.layout, filter.shape_));
    return filter;
  }

  const Operation* op() const { return op_; }
  Tensor* image() const { return op_->input(0); }
  int64_t taps() const { return product(window_.kernel); }

  // Where the taps of `other` fall among these: by dimension, or nothing where some do not.
  std::optional<std::vector<int64_t>> tap_offset(const Filter& other) const {
    const auto& mine = attrs();
    const auto& theirs = other.attrs();
    if (other.image() != image() || mine.groups != theirs.groups || mine.layout != theirs.layout ||
        window_.strides != other.window_.strides || shape_[0] != other.shape_[0])
      return std::nullopt;
    for (size_t d = 0; d < window_.rank(); ++d)
      if (other.window_.kernel[d] > 1 && window_.dilations[d] != other.window_.dilations[d])
        return std::nullopt;
    return tap_offset(other.window_);
  }
  // The offset of a single tap that reads the pixel at the result's own position.
  std::optional<std::vector<int64_t>> middle() const {
    const bool dense = std::ranges::all_of(window_.strides, [](int64_t s) { return s == 1; });
    if (!dense || !same_shape(image(), op_->output())) return std::nullopt;
    WindowSpec point{std::vector<int64_t>(window_.rank(), 1), {}, {}, {}, {}, {}};
    complete_window(point);
    return tap_offset(point);
  }

  void add(const Filter& other, const std::vector<int64_t>& offset) {
    read();
    const std::vector<double> theirs = double_values(other.op_->input(1));
    std::vector<int64_t> first(shape_.size(), 0);
    for (size_t d = 0; d < offset.size(); ++d) first[axis(d)] = offset[d];
    std::vector<int64_t> at = first;
    for (const double value : theirs) {
      values_[index(at)] += value;
      for (size_t d = at.size(); d-- > 0 && ++at[d] == first[d] + other.shape_[d];)
        at[d] = first[d];
    }
    if (const Tensor* bias = other.op_->input(2)) add_to_bias(double_values(bias));
  }
  // Channel c of the image times scale[c] plus shift[c].
  void add(const ChannelAffine& affine, const std::vector<int64_t>& offset) {
    read();
    const int64_t inputs = shape_[input_axis()];  // of one group
    std::vector<int64_t> at(shape_.size(), 0);
    for (size_t d = 0; d < offset.size(); ++d) at[axis(d)] = offset[d];
    for (int64_t c = 0; c < shape_[0]; ++c) {
      at[0] = c;
      at[input_axis()] = c % inputs;
      values_[index(at)] += affine.scale[static_cast<size_t>(c)];
    }
    add_to_bias(affine.shift);
  }

  // What rounding the weights to 8 bits, with a scale for each output channel, would add to the
  // results, and the weights themselves; both for an image of white noise.
  struct Rounded {
    double noise = 0, signal = 0;
  };
  Rounded rounded() const {
    Rounded sum;
    const std::vector<double> read_now =
        values_.empty() ? double_values(op_->input(1)) : std::vector<double>();
    const std::vector<double>& values = values_.empty() ? read_now : values_;
    const size_t of_channel = values.size() / static_cast<size_t>(std::max<int64_t>(1, shape_[0]));
    for (size_t begin = 0; of_channel > 0 && begin < values.size(); begin += of_channel) {
      double largest = 0;
      for (size_t i = begin; i < begin + of_channel; ++i) {
        largest = std::max(largest, std::fabs(values[i]));
        sum.signal += values[i] * values[i];
      }
      const double step = largest / 127;
      // A single weight is a multiple of its own step.
      sum.noise += static_cast<double>(of_channel - 1) * step * step / 12;
    }
    return sum;
  }

  Result<Tensor*> write(Rewriter& rewriter, const Location& location) const {
    Graph& graph = rewriter.graph();
    const std::vector<float> weights(values_.begin(), values_.end());
    std::vector<Tensor*> inputs = {image(),
                                   graph.add_constant<float>("", *op_->input(1)->shape(), weights)};
    if (!bias_.empty()) {
      const std::vector<float> bias(bias_.begin(), bias_.end());
      inputs.push_back(
          graph.add_constant<float>("", Shape{shape_[0]}, std::span<const float>(bias)));
    }
    OpSpec spec;
    spec.attrs = op_->attrs();
    spec.location = location;
    EC_TRY(const Operation* merged,
           rewriter.add_op(OpKind::Conv, std::move(inputs), std::move(spec)));
    return merged->output();
  }

 private:
  static int64_t product(const std::vector<int64_t>& sizes) {
    int64_t n = 1;
    for (const int64_t size : sizes) n *= size;
    return n;
  }
  const ConvAttrs& attrs() const { return op_->attrs_as<ConvAttrs>(); }
  size_t axis(size_t d) const { return spatial_axis(attrs().layout, d); }
  size_t input_axis() const {
    return attrs().layout == Layout::ChannelsLast ? shape_.size() - 1 : 1;
  }

  std::optional<std::vector<int64_t>> tap_offset(const WindowSpec& other) const {
    std::vector<int64_t> offset;
    const size_t rank = window_.rank();
    if (other.rank() != rank) return std::nullopt;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t dilation = window_.dilations[d];
      // By how much both make the image smaller: the same, so that they end at the same pixel.
      const int64_t grows = window_.pads[d] + window_.pads[d + rank];
      const int64_t other_grows = other.pads[d] + other.pads[d + rank];
      const int64_t shrinks = (window_.kernel[d] - 1) * dilation;
      const int64_t other_shrinks = (other.kernel[d] - 1) * other.dilations[d];
      const int64_t shift = window_.pads[d] - other.pads[d];
      if (grows - shrinks != other_grows - other_shrinks || shift < 0 || shift % dilation != 0 ||
          shift / dilation + other.kernel[d] > window_.kernel[d])
        return std::nullopt;
      offset.push_back(shift / dilation);
    }
    return offset;
  }

  void read() {
    if (!values_.empty()) return;
    values_ = double_values(op_->input(1));
    if (op_->input(2) != nullptr) bias_ = double_values(op_->input(2));
  }
  void add_to_bias(const std::vector<double>& values) {
    bias_.resize(static_cast<size_t>(shape_[0]), 0.0);
    for (size_t i = 0; i < bias_.size(); ++i) bias_[i] += values[i];
  }

  size_t index(const std::vector<int64_t>& at) const {
    int64_t result = 0;
    for (size_t d = 0; d < shape_.size(); ++d) result = result * shape_[d] + at[d];
    return static_cast<size_t>(result);
  }

  const Operation* op_ = nullptr;
  std::vector<int64_t> shape_;
  WindowSpec window_;
  std::vector<double> values_, bias_;  // empty before anything was added
};

// A branch that is merged into another.
struct Branch {
  size_t term = 0;
  std::vector<int64_t> offset;
  std::optional<Filter> filter;  // or
  std::optional<ChannelAffine> affine;
};

// batch_norm of the image itself.
std::optional<ChannelAffine> affine_branch(const Tensor* term, const Filter& base) {
  const Operation* norm = produced_by(term, OpKind::BatchNorm);
  if (norm == nullptr || norm->input(0) != base.image() || !has_single_use(term) ||
      norm->output()->dtype() != DType::F32 ||
      batch_norm_axis(norm) != input_channel_axis(base.op()))
    return std::nullopt;
  auto affine = batch_norm_affine(norm);
  if (!affine || input_channels(base.op()) != static_cast<int64_t>(affine->scale.size()))
    return std::nullopt;
  return affine;
}

// Integers have one step for all weights of a channel: a large one takes the room of the others.
// Branches stay apart where that costs more than another rounding of their results would.
bool keeps_precision(const Filter& merged, const Filter& base, const Branch& branch) {
  constexpr double kUnnoticed = 1e-3, kMuchMore = 1.5;
  const Filter::Rounded now = merged.rounded();
  double before = base.rounded().noise;
  if (branch.filter) before += branch.filter->rounded().noise;
  return now.noise <= kUnnoticed * now.signal || now.noise <= kMuchMore * before;
}

std::optional<Branch> branch_of(const Sum& sum, size_t term, const Filter& base) {
  if (auto filter = Filter::of(sum.terms[term])) {
    auto offset = base.tap_offset(*filter);
    if (!offset) return std::nullopt;
    return Branch{term, std::move(*offset), std::move(filter), std::nullopt};
  }
  auto affine = affine_branch(sum.terms[term], base);
  auto offset = affine ? base.middle() : std::nullopt;
  if (!offset) return std::nullopt;
  return Branch{term, std::move(*offset), std::nullopt, std::move(affine)};
}

// Replaces the term of the filter by what it makes together with all others that fit into it.
Result<bool> merge_into(Rewriter& rewriter, Sum& sum, size_t term, Filter filter) {
  Location location = filter.op()->location();
  std::vector<size_t> taken;
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    if (i == term) continue;
    const auto branch = branch_of(sum, i, filter);
    if (!branch) continue;
    Filter merged = filter;
    if (branch->filter)
      merged.add(*branch->filter, branch->offset);
    else
      merged.add(*branch->affine, branch->offset);
    if (rewriter.context().integer_weights && !keeps_precision(merged, filter, *branch)) continue;
    filter = std::move(merged);
    location.merge(sum.terms[i]->producer()->location());
    taken.push_back(i);
  }
  if (taken.empty()) return false;
  EC_TRY(sum.terms[term], filter.write(rewriter, location));
  for (auto it = taken.rbegin(); it != taken.rend(); ++it)
    sum.terms.erase(sum.terms.begin() + static_cast<std::ptrdiff_t>(*it));
  return true;
}

// The convolution with the most taps that takes up another one.
Result<bool> merge_some(Rewriter& rewriter, Sum& sum) {
  std::vector<std::pair<size_t, Filter>> filters;
  for (size_t i = 0; i < sum.terms.size(); ++i)
    if (auto filter = Filter::of(sum.terms[i])) filters.emplace_back(i, std::move(*filter));
  std::stable_sort(filters.begin(), filters.end(),
                   [](const auto& a, const auto& b) { return a.second.taps() > b.second.taps(); });
  for (auto& [term, filter] : filters) {
    EC_TRY(const bool merged, merge_into(rewriter, sum, term, std::move(filter)));
    if (merged) return true;
  }
  return false;
}

Result<bool> merge_branches(Rewriter& rewriter, Operation* op) {
  if (!is_sum(op) || is_inner_sum(op)) return false;
  Sum sum;
  collect(op->output(), true, sum);
  EC_TRY(const bool merged, merge_some(rewriter, sum));
  if (!merged) return false;
  Tensor* result = sum.terms[0];
  for (size_t i = 1; i < sum.terms.size(); ++i) {
    EC_TRY(result, rewriter.add(OpKind::Add, {result, sum.terms[i]}, NoAttrs{}, {op}));
  }
  rewriter.replace(op, result);
  return true;
}

constexpr RewriteRule kRules[] = {{OpKind::Add, merge_branches, "branches"}};

}  // namespace

const PassInfo kMergeBranchesPass{
    .name = "merge-branches",
    .summary = "Joins convolutions of the same image that are added.",
    .details =
        "A convolution takes up others of the same image, and a batch normalisation of it, whose "
        "taps all fall on its own: same strides and groups, constant weights, results that nothing "
        "else reads. With quantisation, branches stay apart where the joined weights would be much "
        "coarser in 8 bits: a large weight in the middle takes the room of all others of its "
        "channel.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kMergeBranchesPass.name, kRules);
    }};

}  // namespace ec::passes
