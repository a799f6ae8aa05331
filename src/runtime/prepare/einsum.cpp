// Sums over two operands that are batched matrix products: shared leading labels are the batch, and
// each operand's other labels fall into two runs, one of which the operands share.
#include <string>

#include "runtime/kernels/gemm.h"
#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

struct Labels {
  std::string a, b, out;
};

std::optional<Labels> parse(const std::string& equation) {
  std::string text;
  for (const char c : equation)
    if (c != ' ') text.push_back(c);
  const size_t comma = text.find(',');
  const size_t arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    return std::nullopt;
  Labels l{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1),
           text.substr(arrow + 2)};
  if ((l.a + l.b + l.out).find_first_of(".,") != std::string::npos) return std::nullopt;
  for (const std::string* s : {&l.a, &l.b, &l.out})
    for (size_t i = 0; i < s->size(); ++i)
      if (s->find((*s)[i], i + 1) != std::string::npos) return std::nullopt;
  return l;
}

bool contains(const std::string& text, char c) { return text.find(c) != std::string::npos; }

// Labels of `text` after the batch, cut into the run that `other` has and the run it lacks.
struct LabelRuns {
  std::string shared, own;
  bool shared_first = false;
};

std::optional<LabelRuns> label_runs(const std::string& text, const std::string& other) {
  LabelRuns p;
  int changes = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool shared = contains(other, text[i]);
    if (i == 0) p.shared_first = shared;
    if (i > 0 && shared != contains(other, text[i - 1])) ++changes;
    (shared ? p.shared : p.own).push_back(text[i]);
  }
  if (changes > 1) return std::nullopt;
  return p;
}

// Product of the sizes of `labels` in an operand.
int64_t size_of(const std::string& labels, const std::string& text, const OperandInfo& info) {
  int64_t n = 1;
  for (const char c : labels) n *= info.shape[text.find(c)];
  return n;
}

struct Contraction {
  std::string batch;
  LabelRuns a, b;
  bool swapped = false;  // the result lists b's own labels first
};

std::optional<Contraction> contraction_of(const Labels& l) {
  size_t n = 0;
  while (n < l.a.size() && n < l.b.size() && n < l.out.size() && l.a[n] == l.b[n] &&
         l.a[n] == l.out[n])
    ++n;
  Contraction c;
  c.batch = l.a.substr(0, n);
  const std::string a = l.a.substr(n);
  const std::string b = l.b.substr(n);
  const std::string out = l.out.substr(n);
  const auto pa = label_runs(a, b);
  const auto pb = label_runs(b, a);
  if (!pa || !pb || pa->shared != pb->shared || pa->shared.empty()) return std::nullopt;
  c.a = *pa;
  c.b = *pb;
  if (out == c.a.own + c.b.own) return c;
  c.swapped = true;
  if (out == c.b.own + c.a.own) return c;
  return std::nullopt;
}

}  // namespace

Prepared einsum(const OpInstance& op, const PrepareContext& ctx) {
  if (!all_f32(op) || op.inputs.size() != 2) return nullptr;
  const auto labels = parse(op.attrs<EinsumAttrs>().equation);
  if (!labels || labels->a.size() != op.input(0).rank() || labels->b.size() != op.input(1).rank())
    return nullptr;
  const auto c = contraction_of(*labels);
  if (!c) return nullptr;
  const int64_t batch = size_of(c->batch, labels->a, op.input(0));
  const int64_t k = size_of(c->a.shared, labels->a, op.input(0));
  const int64_t a_own = size_of(c->a.own, labels->a, op.input(0));
  const int64_t b_own = size_of(c->b.own, labels->b, op.input(1));
  // Sizes that broadcast are left to the reference kernel.
  if (size_of(c->batch, labels->b, op.input(1)) != batch ||
      size_of(c->b.shared, labels->b, op.input(1)) != k)
    return nullptr;
  if (batch > kMostMatrices) return nullptr;

  // The left matrix of the product is the operand whose labels the result lists first.
  kernels::BatchedGemmShape s;
  s.m = c->swapped ? b_own : a_own;
  s.n = c->swapped ? a_own : b_own;
  s.k = k;
  const bool left_k_first = c->swapped ? c->b.shared_first : c->a.shared_first;
  const bool right_k_first = c->swapped ? c->a.shared_first : c->b.shared_first;
  s.a_stride_m = left_k_first ? 1 : k;
  s.a_stride_k = left_k_first ? s.m : 1;
  s.b_stride_k = right_k_first ? s.n : 1;
  s.b_stride_n = right_k_first ? 1 : k;
  for (int64_t i = 0; i < batch; ++i) {
    s.a_offsets.push_back(i * s.m * k);
    s.b_offsets.push_back(i * s.n * k);
    s.c_offsets.push_back(i * s.m * s.n);
  }
  const size_t left = c->swapped ? 1 : 0;
  auto kernel =
      std::make_shared<kernels::BatchedGemm>(ctx.table, std::move(s), 1.0F, kernels::Epilogue{});
  return make_op(
      [kernel, left](const RunArgs& args) {
        kernel->run(args.in(left), args.in(1 - left), nullptr, args.out(), args.pool, args.scratch);
      },
      kernel->scratch_bytes(ctx.threads));
}

}  // namespace ec::prepare
