// einsum of one or two operands as transposes, sums and one matrix product.
#include <algorithm>
#include <map>

#include "backend/tflite/passes/rules.h"
#include "ops/einsum_equation.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

using Labels = std::vector<int>;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// An operand with the labels of its dimensions.
struct Operand {
  Tensor* tensor = nullptr;
  Labels labels;
};

class Product {
 public:
  explicit Product(Replacement& parts) : p_(parts) {}

  // Sizes by label; false when two dimensions of one label differ or a label repeats.
  bool see(const Operand& operand) {
    for (size_t d = 0; d < operand.labels.size(); ++d) {
      if (std::count(operand.labels.begin(), operand.labels.end(), operand.labels[d]) > 1)
        return false;
      const int64_t size = operand.tensor->shape()->sizes()[d];
      const auto [it, fresh] = sizes_.emplace(operand.labels[d], size);
      if (!fresh && it->second != size) return false;
    }
    return true;
  }

  // Sums over the labels that nothing else has.
  void drop(Operand& operand, const Labels& wanted) {
    std::vector<int64_t> axes;
    Labels kept;
    for (size_t d = 0; d < operand.labels.size(); ++d) {
      if (contains(wanted, operand.labels[d]))
        kept.push_back(operand.labels[d]);
      else
        axes.push_back(static_cast<int64_t>(d));
    }
    if (axes.empty()) return;
    operand.tensor = p_.reduce(OpKind::ReduceSum, operand.tensor, axes, false);
    operand.labels = std::move(kept);
  }

  Tensor* ordered(const Operand& operand, const Labels& order) {
    Perm perm;
    for (const int label : order)
      perm.push_back(std::find(operand.labels.begin(), operand.labels.end(), label) -
                     operand.labels.begin());
    return p_.transpose(operand.tensor, perm);
  }

  int64_t count(const Labels& labels) const {
    int64_t n = 1;
    for (const int label : labels) n *= sizes_.at(label);
    return n;
  }

  Operand multiply(const Operand& a, const Operand& b, const Labels& output) {
    Labels batch, rows, sums, columns;
    for (const int label : a.labels) {
      if (!contains(b.labels, label))
        rows.push_back(label);
      else
        (contains(output, label) ? batch : sums).push_back(label);
    }
    for (const int label : b.labels)
      if (!contains(a.labels, label)) columns.push_back(label);
    const auto joined = [](std::initializer_list<const Labels*> parts) {
      Labels all;
      for (const Labels* part : parts) all.insert(all.end(), part->begin(), part->end());
      return all;
    };
    Tensor* left = p_.sized(ordered(a, joined({&batch, &rows, &sums})),
                            {count(batch), count(rows), count(sums)});
    Tensor* right = p_.sized(ordered(b, joined({&batch, &sums, &columns})),
                             {count(batch), count(sums), count(columns)});
    Operand result;
    result.labels = joined({&batch, &rows, &columns});
    std::vector<int64_t> sizes;
    for (const int label : result.labels) sizes.push_back(sizes_.at(label));
    result.tensor = p_.sized(p_.op(OpKind::MatMul, {left, right}, MatMulAttrs{}), sizes);
    return result;
  }

 private:
  Replacement& p_;
  std::map<int, int64_t> sizes_;
};

Result<bool> expand_einsum(Rewriter& r, Operation* op) {
  const auto equation = parse_einsum(op->attrs_as<EinsumAttrs>().equation);
  if (!equation || !is_plain(op) || op->inputs().size() > 2 || !is_float(op->output()->dtype()))
    return false;
  if (equation->terms.size() != op->inputs().size()) return false;
  // Dimensions that "..." stands for: as many as the operand with most of them has.
  size_t ellipsis = 0;
  for (size_t i = 0; i < op->inputs().size(); ++i) {
    if (!static_shape(op->input(i))) return false;
    const Labels& term = equation->terms[i];
    if (has_ellipsis(term)) ellipsis = std::max(ellipsis, *rank_of(op->input(i)) + 1 - term.size());
  }
  Replacement p(r, op);
  Product product(p);
  std::vector<Operand> operands;
  for (size_t i = 0; i < op->inputs().size(); ++i) {
    operands.push_back(
        {op->input(i), expand_einsum_term(equation->terms[i], *rank_of(op->input(i)), ellipsis)});
    if (!product.see(operands.back())) return false;
  }
  const Labels output =
      expand_einsum_term(equation->output, rank_of(op->output()).value_or(0), ellipsis);
  for (size_t i = 0; i < operands.size(); ++i) {
    Labels wanted = output;
    if (operands.size() == 2)
      wanted.insert(wanted.end(), operands[1 - i].labels.begin(), operands[1 - i].labels.end());
    product.drop(operands[i], wanted);
  }
  const Operand result =
      operands.size() == 1 ? operands[0] : product.multiply(operands[0], operands[1], output);
  if (!p.ok()) return p.replace(nullptr);
  return p.replace(product.ordered(result, output));
}

constexpr RewriteRule kRules[] = {{OpKind::Einsum, expand_einsum, "einsums"}};

}  // namespace

const std::span<const RewriteRule> kTfliteEinsum = kRules;

}  // namespace ec::passes
