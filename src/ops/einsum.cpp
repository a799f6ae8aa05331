// Einsum: sums of products over named dimensions. Operands are contracted pairwise from the left,
// each pair as one batched matrix product; labels that nobody reads any more are summed at once.
#include <algorithm>
#include <array>
#include <optional>

#include "ops/define.h"
#include "ops/einsum_equation.h"
#include "ops/matrix_product.h"
#include "support/budget.h"
#include "support/strings.h"

namespace ec::ops {
namespace {

// --- inference -----------------------------------------------------------------------------------

Status merge_dim(const InferContext& ctx, std::optional<Dim>& known, const Dim& dim) {
  if (!known || *known == Dim(1)) {
    known = dim;
  } else if (dim == Dim(1) || known->same_size(dim)) {
    return {};
  } else if (known->is_static() && dim.is_static()) {
    std::string shapes;
    for (size_t i = 0; i < ctx.num_inputs(); ++i)
      shapes += (i > 0 ? ", " : "") + operand_text(ctx, i);
    return ctx.bad_shape("einsum '" + ctx.attrs<EinsumAttrs>().equation +
                         "' gives a dimension the sizes " + known->text() + " and " + dim.text() +
                         ": " + shapes);
  } else {
    known = known->is_static() ? *known : dim.is_static() ? dim : Dim::unknown();
  }
  return {};
}

Status check_output(const InferContext& ctx, const EinsumEquation& equation) {
  for (const int label : equation.output) {
    const bool known = std::any_of(
        equation.terms.begin(), equation.terms.end(),
        [&](const auto& term) { return std::find(term.begin(), term.end(), label) != term.end(); });
    // An ellipsis in the output alone stands for no dimensions.
    if (!known && label != kEllipsis)
      return ctx.bad_value("einsum '" + ctx.attrs<EinsumAttrs>().equation +
                           "' has an output label that no operand has");
    if (std::count(equation.output.begin(), equation.output.end(), label) > 1)
      return ctx.bad_value("einsum '" + ctx.attrs<EinsumAttrs>().equation +
                           "' repeats an output label");
  }
  return {};
}

// Largest number of ellipsis dimensions; empty when an operand's rank is not known.
Result<std::optional<size_t>> ellipsis_rank(const InferContext& ctx,
                                            const EinsumEquation& equation) {
  size_t largest = 0;
  bool open = false;
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    const auto& term = equation.terms[i];
    if (!ctx.shape(i)) {
      open = open || has_ellipsis(term);
      continue;
    }
    const size_t rank = ctx.shape(i)->rank();
    const size_t letters = has_ellipsis(term) ? term.size() - 1 : term.size();
    if (has_ellipsis(term) ? rank < letters : rank != letters)
      return ctx.bad_shape("einsum '" + ctx.attrs<EinsumAttrs>().equation + "' names " +
                           std::to_string(letters) + " dimensions of " + operand_text(ctx, i));
    if (rank - letters > kMaxEinsumLabels - kEinsumLetters)
      return ctx.bad_shape("einsum operand " + operand_text(ctx, i) + " has too many dimensions");
    largest = std::max(largest, rank - letters);
  }
  return open ? std::optional<size_t>() : largest;
}

Status infer_einsum(InferContext& ctx) {
  const std::string& text = ctx.attrs<EinsumAttrs>().equation;
  const auto equation = parse_einsum(text);
  if (!equation || text.size() > 4096)
    return ctx.bad_value("einsum equation '" + printable(text) + "' cannot be read");
  if (equation->terms.size() != ctx.num_inputs())
    return ctx.bad_value("einsum '" + text + "' names " + std::to_string(equation->terms.size()) +
                         " operands, " + std::to_string(ctx.num_inputs()) + " are given");
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i))
      return ctx.fail(Code::BadArity, "einsum operand " + std::to_string(i) + " is absent");
    if (ctx.dtype(i) != ctx.dtype(0) || ctx.dtype(i) == DType::Bool)
      return ctx.bad_type("einsum needs operands of one numeric type: " + operand_text(ctx, 0) +
                          " and " + operand_text(ctx, i));
  }
  EC_CHECK_OK(check_output(ctx, *equation));
  EC_TRY(const std::optional<size_t> ellipsis, ellipsis_rank(ctx, *equation));
  ctx.set(0, ctx.dtype(0), std::nullopt);
  if (!ellipsis && has_ellipsis(equation->output)) return {};
  std::array<std::optional<Dim>, kMaxEinsumLabels> dims;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.shape(i)) continue;
    if (!ellipsis && has_ellipsis(equation->terms[i])) continue;
    const auto labels =
        expand_einsum_term(equation->terms[i], ctx.shape(i)->rank(), ellipsis.value_or(0));
    for (size_t d = 0; d < labels.size(); ++d)
      EC_CHECK_OK(merge_dim(ctx, dims[static_cast<size_t>(labels[d])], (*ctx.shape(i))[d]));
  }
  Shape out;
  const size_t out_rank =
      equation->output.size() + ellipsis.value_or(0) - (has_ellipsis(equation->output) ? 1 : 0);
  for (const int label : expand_einsum_term(
           equation->output, has_ellipsis(equation->output) ? out_rank : 0, ellipsis.value_or(0)))
    out.push_back(dims[static_cast<size_t>(label)].value_or(Dim::unknown()));
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

// --- kernel --------------------------------------------------------------------------------------

using LabelSizes = std::array<int64_t, kMaxEinsumLabels>;

// An intermediate: distinct labels, row-major elements.
template <class A>
struct Factor {
  std::vector<int> labels;
  std::vector<A> values;
  bool has(int label) const {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  }
};

std::vector<int64_t> sizes_of(const std::vector<int>& labels, const LabelSizes& sizes) {
  std::vector<int64_t> out;
  for (const int label : labels) out.push_back(sizes[static_cast<size_t>(label)]);
  return out;
}

// Strides by which `wanted` labels walk over a tensor with these labels and shape: repeated labels
// walk the diagonal, sizes of 1 are broadcast, labels it lacks do not move.
std::vector<int64_t> label_strides(const std::vector<int>& labels, std::span<const int64_t> shape,
                                   const std::vector<int>& wanted) {
  const std::vector<int64_t> own = row_major_strides(shape);
  std::vector<int64_t> out(wanted.size(), 0);
  for (size_t w = 0; w < wanted.size(); ++w)
    for (size_t d = 0; d < labels.size(); ++d)
      if (labels[d] == wanted[w] && shape[d] != 1) out[w] += own[d];
  return out;
}

// Reorders to `wanted` labels and sums over all others.
template <class A>
std::vector<A> rearrange(std::span<const A> values, const std::vector<int>& labels,
                         std::span<const int64_t> shape, const std::vector<int>& wanted,
                         const LabelSizes& sizes) {
  std::vector<int> walked = wanted;
  for (const int label : labels)
    if (std::find(walked.begin(), walked.end(), label) == walked.end()) walked.push_back(label);
  const std::vector<int64_t> extent = sizes_of(walked, sizes);
  const std::vector<int64_t> strides = label_strides(labels, shape, walked);
  const std::vector<int64_t> target = sizes_of(wanted, sizes);
  std::vector<A> out(static_cast<size_t>(count_elements(target)), A{});
  const int64_t total = count_elements(extent);
  if (total == 0) return out;
  const int64_t inner = total / static_cast<int64_t>(out.size());
  IndexWalker walker(extent);
  Ticker ticker;
  for (A& element : out)
    for (int64_t i = 0; i < inner; ++i) {
      if (ticker.tick(4)) return out;
      element += values[static_cast<size_t>(walker.offset(strides))];
      walker.next();
    }
  return out;
}

// Contracts two factors, keeping the labels that `keep` says.
template <class A>
Factor<A> contract(const Factor<A>& a, const Factor<A>& b,
                   const std::array<bool, kMaxEinsumLabels>& keep, const LabelSizes& sizes) {
  std::vector<int> batch, rows, columns, depth;
  for (const int label : a.labels) {
    const bool kept = keep[static_cast<size_t>(label)];
    if (b.has(label))
      (kept ? batch : depth).push_back(label);
    else if (kept)
      rows.push_back(label);
  }
  for (const int label : b.labels)
    if (!a.has(label) && keep[static_cast<size_t>(label)]) columns.push_back(label);
  const auto joined = [](std::initializer_list<const std::vector<int>*> parts) {
    std::vector<int> out;
    for (const auto* part : parts) out.insert(out.end(), part->begin(), part->end());
    return out;
  };
  const auto x = rearrange<A>(a.values, a.labels, sizes_of(a.labels, sizes),
                              joined({&batch, &rows, &depth}), sizes);
  const auto y = rearrange<A>(b.values, b.labels, sizes_of(b.labels, sizes),
                              joined({&batch, &depth, &columns}), sizes);
  const int64_t n_batch = count_elements(sizes_of(batch, sizes)),
                n_rows = count_elements(sizes_of(rows, sizes)),
                n_columns = count_elements(sizes_of(columns, sizes)),
                n_depth = count_elements(sizes_of(depth, sizes));
  Factor<A> out{joined({&batch, &rows, &columns}), {}};
  out.values.resize(static_cast<size_t>(n_batch * n_rows * n_columns));
  Ticker ticker;
  for (int64_t i = 0; i < n_batch && !ticker.tick(n_rows * n_columns); ++i) {
    A* target = out.values.data() + i * n_rows * n_columns;
    multiply<A>(n_rows, n_columns, n_depth,
                MatrixRef<A>::row_major(x.data() + i * n_rows * n_depth, n_depth),
                MatrixRef<A>::row_major(y.data() + i * n_depth * n_columns, n_columns),
                [&](int64_t row, int64_t first, std::span<const A> sums) {
                  std::copy(sums.begin(), sums.end(), target + row * n_columns + first);
                });
  }
  return out;
}

template <class A>
std::vector<A> load_elements(const ConstView& view) {
  std::vector<A> out(static_cast<size_t>(view.count()));
  load<A>(view, out);
  return out;
}

// The labels of all operands and of the output, and the size of each label.
struct Plan {
  std::vector<std::vector<int>> terms;
  std::vector<int> output;
  LabelSizes sizes;
};

Plan make_plan(KernelContext& ctx) {
  const EinsumEquation equation = *parse_einsum(ctx.attrs<EinsumAttrs>().equation);
  size_t ellipsis = 0;
  for (size_t i = 0; i < equation.terms.size(); ++i)
    if (has_ellipsis(equation.terms[i]))
      ellipsis = std::max(ellipsis, ctx.input(i).rank() + 1 - equation.terms[i].size());
  Plan plan;
  plan.sizes.fill(1);
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    plan.terms.push_back(expand_einsum_term(equation.terms[i], ctx.input(i).rank(), ellipsis));
    for (size_t d = 0; d < plan.terms[i].size(); ++d) {
      const int64_t size = ctx.input(i).shape[d];
      if (size != 1) plan.sizes[static_cast<size_t>(plan.terms[i][d])] = size;
    }
  }
  plan.output = expand_einsum_term(equation.output, ctx.output(0).rank(), ellipsis);
  return plan;
}

// An operand with its diagonal taken and its labels distinct; dimensions of size 1 that other
// operands have larger are kept out, so that every label of a factor has its full size.
template <class A>
Factor<A> make_factor(const ConstView& view, const std::vector<int>& labels,
                      const LabelSizes& sizes) {
  std::vector<int> distinct;
  for (size_t d = 0; d < labels.size(); ++d) {
    const bool broadcast = view.shape[d] == 1 && sizes[static_cast<size_t>(labels[d])] != 1;
    if (!broadcast && std::find(distinct.begin(), distinct.end(), labels[d]) == distinct.end())
      distinct.push_back(labels[d]);
  }
  LabelSizes own = sizes;
  for (size_t d = 0; d < labels.size(); ++d)
    if (std::find(distinct.begin(), distinct.end(), labels[d]) == distinct.end())
      own[static_cast<size_t>(labels[d])] = 1;
  const std::vector<A> values = load_elements<A>(view);
  return {distinct, rearrange<A>(values, labels, view.shape, distinct, own)};
}

// Number of elements contract() would make; empty when it overflows.
template <class A>
std::optional<int64_t> result_count(const Factor<A>& a, const Factor<A>& b,
                                    const std::array<bool, kMaxEinsumLabels>& keep,
                                    const LabelSizes& sizes) {
  int64_t count = 1;
  for (int label = 0; label < kMaxEinsumLabels; ++label) {
    if (!keep[static_cast<size_t>(label)] || !(a.has(label) || b.has(label))) continue;
    const auto next = checked_mul(count, sizes[static_cast<size_t>(label)]);
    if (!next) return std::nullopt;
    count = *next;
  }
  return count;
}

template <class A>
Status run_einsum(KernelContext& ctx, std::vector<A>& out) {
  const Plan plan = make_plan(ctx);
  constexpr int64_t kSmall = int64_t{1} << 26;  // intermediates up to here are never refused
  const int64_t limit = std::max(kSmall, ctx.output(0).count());
  Factor<A> result = make_factor<A>(ctx.input(0), plan.terms[0], plan.sizes);
  for (size_t i = 1; i < plan.terms.size(); ++i) {
    const Factor<A> next = make_factor<A>(ctx.input(i), plan.terms[i], plan.sizes);
    std::array<bool, kMaxEinsumLabels> keep{};
    for (const int label : plan.output) keep[static_cast<size_t>(label)] = true;
    for (size_t j = i + 1; j < plan.terms.size(); ++j)
      for (const int label : plan.terms[j]) keep[static_cast<size_t>(label)] = true;
    const auto count = result_count(result, next, keep, plan.sizes);
    if (!count || *count > limit)
      return ctx.fail("an intermediate product of the einsum is too large");
    result = contract(result, next, keep, plan.sizes);
  }
  out = rearrange<A>(result.values, result.labels, sizes_of(result.labels, plan.sizes), plan.output,
                     plan.sizes);
  return {};
}

Status reference_einsum(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return {};
  if (is_float(ctx.output(0).dtype)) {
    std::vector<double> out;
    EC_CHECK_OK(run_einsum<double>(ctx, out));
    store<double>(ctx.output(0), out);
  } else {
    // Unsigned arithmetic wraps; the low bits are right for signed types as well.
    std::vector<uint64_t> out;
    EC_CHECK_OK(run_einsum<uint64_t>(ctx, out));
    store<uint64_t>(ctx.output(0), out);
  }
  return {};
}

}  // namespace

EC_OP_DEF(Einsum, .signature = "(inputs...) -> y",
          .summary =
              "Sum of products over the dimensions that the equation names, with ellipsis and "
              "implicit output.",
          .infer = infer_einsum, .reference = reference_einsum, .quant = QuantRule::Never,
          .layout = LayoutRule::Fixed);

}  // namespace ec::ops
