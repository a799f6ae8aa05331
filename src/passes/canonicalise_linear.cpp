// canonicalise-linear: linear layers have one form, matmul with an optional bias vector.
//
//   gemm(%x, %w, %b) {transpose_b=true} -> matmul(%x, %w, %b) {transpose_b=true}
//   einsum("bij,bjk->bik") -> matmul
#include <algorithm>
#include <map>

#include "passes/registry.h"
#include "passes/shapes.h"
#include "passes/weighted_sum.h"
#include "support/strings.h"

namespace ec::passes {
namespace {

// gemm whose third operand is a vector (or absent).
Result<bool> gemm_to_matmul(Rewriter& rewriter, Operation* op) {
  const auto& gemm = op->attrs_as<GemmAttrs>();
  if (has_quant(op) || !is_float(op->output()->dtype())) return false;
  std::vector<Tensor*> inputs{op->input(0), op->input(1)};
  if (Tensor* c = op->input(2); c != nullptr && gemm.beta != 0) {
    const auto channels = output_channels(op);
    const bool vector = rank_of(c) == 1 && channels && (*c->shape())[0] == Dim(*channels);
    if (vector && gemm.beta == 1) {
      inputs.push_back(c);
    } else {
      if (!channels) return false;
      auto values = channel_values(c, 2, 1, *channels);
      if (!values) return false;
      std::vector<float> bias;
      for (const double v : *values)
        bias.push_back(static_cast<float>(v * static_cast<double>(gemm.beta)));
      if (c->dtype() != DType::F32) return false;
      inputs.push_back(rewriter.graph().add_constant<float>("", Shape{*channels}, bias));
    }
  }
  const MatMulAttrs attrs{.transpose_a = gemm.transpose_a,
                          .transpose_b = gemm.transpose_b,
                          .alpha = gemm.alpha,
                          .activation = gemm.activation,
                          .act_alpha = gemm.act_alpha,
                          .act_beta = gemm.act_beta};
  EC_TRY(Tensor * result, rewriter.add(OpKind::MatMul, std::move(inputs), attrs, {op}));
  rewriter.replace(op, result);
  return true;
}

// einsum of two operands that is a batched matrix product: shared leading letters, then one letter
// of each operand kept and one summed.
Result<bool> einsum_to_matmul(Rewriter& rewriter, Operation* op) {
  if (op->inputs().size() != 2 || has_quant(op)) return false;
  std::string equation = op->attrs_as<EinsumAttrs>().equation;
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const size_t arrow = equation.find("->");
  const size_t comma = equation.find(',');
  if (arrow == std::string::npos || comma == std::string::npos || comma > arrow) return false;
  const std::string a = equation.substr(0, comma);
  const std::string b = equation.substr(comma + 1, arrow - comma - 1);
  const std::string y = equation.substr(arrow + 2);
  const size_t rank = a.size();
  if (equation.find('.') != std::string::npos || rank < 2 || b.size() != rank || y.size() != rank)
    return false;
  const size_t batch = rank - 2;
  if (a.substr(0, batch) != b.substr(0, batch) || a.substr(0, batch) != y.substr(0, batch))
    return false;
  const char row = y[batch], column = y[batch + 1];
  const auto tail = [batch](const std::string& s) { return s.substr(batch); };
  // Which of the last two letters of each operand is summed.
  std::map<char, int> seen;
  for (const char c : a) ++seen[c];
  for (const char c : b) ++seen[c];
  MatMulAttrs attrs;
  const std::string ta = tail(a), tb = tail(b);
  char sum = 0;
  if (ta[0] == row) sum = ta[1];
  if (ta[1] == row) sum = ta[0], attrs.transpose_a = true;
  if (sum == 0 || row == column || seen[sum] != 2 || seen[row] != 1 || seen[column] != 1)
    return false;
  if (tb[0] == column && tb[1] == sum)
    attrs.transpose_b = true;
  else if (!(tb[0] == sum && tb[1] == column))
    return false;
  // einsum repeats a size of 1 along the summed letter; a product does not.
  const auto size_of_sum = [&](size_t operand, const std::string& letters) {
    return (*op->input(operand)->shape())[letters.find(sum)];
  };
  if (!op->input(0)->shape() || !op->input(1)->shape() ||
      !size_of_sum(0, a).same_size(size_of_sum(1, b)))
    return false;
  EC_TRY(Tensor * result, rewriter.add(OpKind::MatMul, op->inputs(), attrs, {op}));
  rewriter.replace(op, result);
  return true;
}

constexpr RewriteRule kRules[] = {
    {OpKind::Gemm, gemm_to_matmul, "gemm"},
    {OpKind::Einsum, einsum_to_matmul, "einsum"},
};

}  // namespace

const PassInfo kCanonicaliseLinearPass{
    .name = "canonicalise-linear",
    .summary = "Gives linear layers one form: matmul with an optional bias vector.",
    .details =
        "gemm whose third operand is absent or one number per column, and einsum that is a "
        "batched matrix product. gemm with a whole matrix as third operand stays.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kCanonicaliseLinearPass.name, kRules);
    }};

}  // namespace ec::passes
