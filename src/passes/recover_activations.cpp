// recover-activations: activation functions that exporters wrote as arithmetic.
//
//   mul(%x, sigmoid(%x)) -> silu(%x)       clip(add(%x, 3), 0, 6) / 6 -> hard_sigmoid(%x)
//   0.5 * %x * (1 + erf(%x / sqrt(2))) -> gelu(%x), in any order of the factors
#include <cmath>
#include <numbers>

#include "passes/match.h"
#include "passes/registry.h"
#include "passes/rewriter.h"

namespace ec::passes {
namespace {

// A product as its computed factors and one constant. Only values that nothing else reads are taken
// apart.
struct Product {
  double factor = 1;
  std::vector<Tensor*> terms;
  std::vector<const Operation*> ops;  // outermost first
};

constexpr size_t kMaxOps = 8;  // the patterns here are short

void collect(Tensor* tensor, bool outermost, Product& product) {
  const Operation* op = tensor->producer();
  const bool inside = op != nullptr && (outermost || has_single_use(tensor)) && !has_quant(op) &&
                      product.ops.size() < kMaxOps;
  if (inside && (op->kind() == OpKind::Mul || op->kind() == OpKind::Div)) {
    if (const WithScalar match = with_scalar(op)) {
      product.ops.push_back(op);
      product.factor *= op->kind() == OpKind::Mul ? match.value : 1 / match.value;
      return collect(match.x, false, product);
    }
    if (op->kind() == OpKind::Mul) {
      product.ops.push_back(op);
      collect(op->input(0), false, product);
      return collect(op->input(1), false, product);
    }
  }
  product.terms.push_back(tensor);
}

Product product_of(const Operation* op) {
  Product product;
  collect(op->output(), true, product);
  return product;
}
// The factors of an operand, taken apart when nothing else reads it.
Product product_of(Tensor* tensor) {
  Product product;
  collect(tensor, false, product);
  return product;
}

Location location_of(const Product& product) {
  Location location;
  for (auto it = product.ops.rbegin(); it != product.ops.rend(); ++it)
    location.merge((*it)->location());
  return location;
}

// tensor = scale * f + shift with scalar constants, f produced by `kind`.
struct AffineOf {
  Operation* f = nullptr;
  double scale = 1, shift = 0;
};
std::optional<AffineOf> affine_of(Tensor* tensor, OpKind kind) {
  AffineOf affine;
  for (int i = 0; i < 3; ++i) {
    Operation* op = tensor->producer();
    if (op == nullptr || has_quant(op) || !has_single_use(tensor)) return std::nullopt;
    if (op->kind() == kind) {
      affine.f = op;
      return affine;
    }
    const WithScalar match = with_scalar(op);
    if (!match) return std::nullopt;
    // y = scale * (g o c) + shift, going inwards.
    if (op->kind() == OpKind::Add)
      affine.shift += affine.scale * match.value;
    else if (op->kind() == OpKind::Sub)
      affine.shift -= affine.scale * match.value;
    else if (op->kind() == OpKind::Mul)
      affine.scale *= match.value;
    else if (op->kind() == OpKind::Div)
      affine.scale /= match.value;
    else
      return std::nullopt;
    tensor = match.x;
  }
  return std::nullopt;
}

Result<bool> replace_with(Rewriter& rewriter, Operation* op, OpKind kind, Tensor* x, Attrs attrs,
                          Location location) {
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.location = std::move(location);
  EC_TRY(const Operation* result, rewriter.add_op(kind, {x}, std::move(spec)));
  rewriter.replace(op, result->output());
  return true;
}

// --- silu, mish, hard_swish: x * g(x) -----------------------------------------------------------

// The outermost product only: an inner one is part of a longer one.
bool is_inner_product(const Operation* op) {
  const Operation* user = only_user(op->output());
  if (user == nullptr || has_quant(user)) return false;
  return user->kind() == OpKind::Mul ||
         (user->kind() == OpKind::Div && user->input(0) == op->output());
}

// f(x) times the factor that the product has beside the constants of f itself: affine layers behind
// activations leave one.
Result<bool> replace_with_multiple(Rewriter& rewriter, Operation* op, OpKind kind, Tensor* x,
                                   Attrs attrs, const Location& location, double factor) {
  if (near(factor, 1, 1e-5)) return replace_with(rewriter, op, kind, x, std::move(attrs), location);
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.location = location;
  EC_TRY(const Operation* f, rewriter.add_op(kind, {x}, std::move(spec)));
  EC_TRY(Tensor * multiple,
         rewriter.add(OpKind::Mul, {f->output(), rewriter.scalar(x->dtype(), factor)}, NoAttrs{},
                      {op}));
  rewriter.replace(op, multiple);
  return true;
}

bool matches_silu(const Tensor* x, Operation* gate, double& alpha) {
  if (gate->kind() != OpKind::Sigmoid) return false;
  const Product inner = product_of(gate->input(0));
  alpha = inner.factor;
  return inner.terms.size() == 1 && inner.terms[0] == x && std::isnormal(alpha);
}

Result<bool> self_gated(Rewriter& rewriter, Operation* op) {
  const Product product = product_of(op);
  if (product.terms.size() != 2 || product.terms[0] == product.terms[1]) return false;
  if (!is_float(op->output()->dtype()) || !std::isnormal(product.factor)) return false;
  // Constants that multiply it further on belong to it.
  if (is_inner_product(op) && with_scalar(only_user(op->output()))) return false;
  for (size_t side = 0; side < 2; ++side) {
    Tensor* x = product.terms[side];
    Tensor* gate_value = product.terms[1 - side];
    Operation* gate = gate_value->producer();
    if (gate == nullptr || !has_single_use(gate_value)) continue;
    Location location = gate->location();
    location.merge(location_of(product));
    const auto found = [&](OpKind kind, Attrs attrs, double of_kind) {
      return replace_with_multiple(rewriter, op, kind, x, std::move(attrs), location,
                                   product.factor / of_kind);
    };
    double alpha = 1;
    if (matches_silu(x, gate, alpha))
      return found(OpKind::Silu, SiluAttrs{.alpha = static_cast<float>(alpha)}, 1);
    if (gate->kind() == OpKind::Tanh) {
      const Operation* softplus = produced_by(gate->input(0), OpKind::Softplus);
      if (softplus != nullptr && softplus->input(0) == x && has_single_use(softplus->output()))
        return found(OpKind::Mish, NoAttrs{}, 1);
    }
    if (gate->kind() == OpKind::HardSigmoid) {
      const auto& attrs = gate->attrs_as<HardSigmoidAttrs>();
      if (gate->input(0) == x && near(attrs.alpha, 1.0 / 6, 1e-5) && near(attrs.beta, 0.5, 1e-5))
        return found(OpKind::HardSwish, NoAttrs{}, 1);
    }
    // x * clip(x + 3, 0, 6) / 6
    if (gate->kind() == OpKind::Clip) {
      const auto low = scalar_value(gate->input(1)), high = scalar_value(gate->input(2));
      const Operation* sum = produced_by(gate->input(0), OpKind::Add);
      if (low == 0.0 && high == 6.0 && sum != nullptr && has_single_use(sum->output())) {
        const WithScalar match = with_scalar(sum);
        if (match && match.x == x && match.value == 3)
          return found(OpKind::HardSwish, NoAttrs{}, 1.0 / 6);
      }
    }
  }
  return false;
}

// --- hard_sigmoid -------------------------------------------------------------------------------

// scale * clip(a x + b, low, high) where scale * low = 0 and scale * high = 1.
Result<bool> hard_sigmoid(Rewriter& rewriter, Operation* op) {
  if (!is_float(op->output()->dtype()) || has_quant(op)) return false;
  double scale = 1;
  const Operation* clip = op;
  if (op->kind() != OpKind::Clip) {
    const WithScalar match = with_scalar(op);
    clip = match ? produced_by(match.x, OpKind::Clip) : nullptr;
    if (clip == nullptr || !has_single_use(clip->output()) || has_quant(clip)) return false;
    scale = op->kind() == OpKind::Mul ? match.value : 1 / match.value;
  }
  const auto low = scalar_value(clip->input(1)), high = scalar_value(clip->input(2));
  if (low != 0.0 || !high || !near(scale * *high, 1, 1e-5)) return false;
  // a x + b
  double a = 1, b = 0;
  Tensor* x = clip->input(0);
  Location location;
  bool shifted = false;
  for (int i = 0; i < 2; ++i) {
    const Operation* inner = x->producer();
    if (inner == nullptr || !has_single_use(x) || has_quant(inner)) break;
    const WithScalar match = with_scalar(inner);
    if (!match) break;
    if (!shifted && inner->kind() == OpKind::Add)
      b += match.value, shifted = true;
    else if (inner->kind() == OpKind::Mul)
      a *= match.value;
    else if (inner->kind() == OpKind::Div)
      a /= match.value;
    else
      break;
    location.merge(inner->location());
    x = match.x;
    if (!shifted) break;  // clip(a x, 0, 1) without a shift is a scaled clip
  }
  if (!shifted || !(a * scale > 0)) return false;
  location.merge(clip->location());
  location.merge(op->location());
  const HardSigmoidAttrs attrs{.alpha = static_cast<float>(a * scale),
                               .beta = static_cast<float>(b * scale)};
  return replace_with(rewriter, op, OpKind::HardSigmoid, x, attrs, std::move(location));
}

// log(1 + exp(x)) -> softplus(x)
Result<bool> softplus(Rewriter& rewriter, Operation* op) {
  const Operation* sum = produced_by(op->input(0), OpKind::Add);
  if (sum == nullptr || !has_single_use(op->input(0)) || has_quant(op)) return false;
  const WithScalar match = with_scalar(sum);
  const Operation* exp = match ? produced_by(match.x, OpKind::Exp) : nullptr;
  if (exp == nullptr || match.value != 1 || !has_single_use(match.x)) return false;
  return replace_with(rewriter, op, OpKind::Softplus, exp->input(0), NoAttrs{},
                      Rewriter::merged({exp, sum, op}));
}

// --- gelu ---------------------------------------------------------------------------------------

// tensor = k x^3 for the given x.
bool is_cube(Tensor* tensor, const Tensor* x, double& k) {
  Product product = product_of(tensor);
  // x * x may be shared by nothing else, or be a power of its own.
  size_t degree = 0;
  for (const Tensor* term : product.terms) {
    if (term == x) {
      ++degree;
    } else if (const Operation* power = produced_by(term, OpKind::Pow)) {
      const WithScalar match = with_scalar(power);
      if (!match || match.x != x) return false;
      degree += match.value == 3 ? 3 : match.value == 2 ? 2 : 100;
    } else if (const Operation* square = produced_by(term, OpKind::Mul)) {
      if (square->input(0) != x || square->input(1) != x) return false;
      degree += 2;
    } else {
      return false;
    }
  }
  k = product.factor;
  return degree == 3;
}

// z = sqrt(2/pi) (x + 0.044715 x^3), also as sqrt(2/pi) x (1 + 0.044715 x^2).
bool is_tanh_argument(Tensor* z, const Tensor* x) {
  constexpr double kCubic = 0.044715;
  const double root = std::sqrt(2 / std::numbers::pi);
  const Product outer = product_of(z);
  if (!near(outer.factor, root, 1e-3)) return false;
  if (outer.terms.size() == 1) {
    const Operation* sum = produced_by(outer.terms[0], OpKind::Add);
    if (sum == nullptr) return false;
    for (size_t side = 0; side < 2; ++side) {
      double k = 0;
      if (sum->input(side) == x && is_cube(sum->input(1 - side), x, k))
        return near(k, kCubic, 1e-4);
    }
    return false;
  }
  if (outer.terms.size() != 2) return false;
  for (size_t side = 0; side < 2; ++side) {
    if (outer.terms[side] != x) continue;
    const Operation* sum = produced_by(outer.terms[1 - side], OpKind::Add);
    const WithScalar match = sum != nullptr ? with_scalar(sum) : WithScalar{};
    if (!match || match.value != 1) return false;
    const Product square = product_of(match.x);
    const bool power = square.terms.size() == 1 && [&] {
      const Operation* pow = produced_by(square.terms[0], OpKind::Pow);
      const WithScalar inner = pow != nullptr ? with_scalar(pow) : WithScalar{};
      return inner && inner.x == x && inner.value == 2;
    }();
    const bool twice = square.terms.size() == 2 && square.terms[0] == x && square.terms[1] == x;
    return (power || twice) && near(square.factor, kCubic, 1e-4);
  }
  return false;
}

Result<bool> gelu(Rewriter& rewriter, Operation* op) {
  if (is_inner_product(op) || !is_float(op->output()->dtype())) return false;
  const Product product = product_of(op);
  if (product.terms.size() != 2) return false;
  for (size_t side = 0; side < 2; ++side) {
    Tensor* x = product.terms[side];
    Tensor* gate = product.terms[1 - side];
    const auto erf = affine_of(gate, OpKind::Erf);
    const auto tanh = erf ? std::nullopt : affine_of(gate, OpKind::Tanh);
    const auto& affine = erf ? erf : tanh;
    if (!affine || affine->shift == 0 || !near(affine->scale / affine->shift, 1)) continue;
    if (!near(product.factor * affine->shift, 0.5)) continue;
    Location location = affine->f->location();
    location.merge(location_of(product));
    if (erf) {
      const Product argument = product_of(erf->f->input(0));
      if (argument.terms.size() == 1 && argument.terms[0] == x &&
          near(argument.factor, std::numbers::sqrt2 / 2))
        return replace_with(rewriter, op, OpKind::Gelu, x, GeluAttrs{}, std::move(location));
    } else if (is_tanh_argument(tanh->f->input(0), x)) {
      return replace_with(rewriter, op, OpKind::Gelu, x, GeluAttrs{.form = GeluForm::Tanh},
                          std::move(location));
    }
  }
  return false;
}

constexpr RewriteRule kRules[] = {
    {OpKind::Log, softplus, "softplus"},
    {OpKind::Clip, hard_sigmoid, "hard_sigmoid"},
    {OpKind::Mul, hard_sigmoid, "hard_sigmoid"},
    {OpKind::Div, hard_sigmoid, "hard_sigmoid"},
    {OpKind::Mul, gelu, "gelu"},
    {OpKind::Div, gelu, "gelu"},
    {OpKind::Mul, self_gated, "silu, mish, hard_swish"},
    {OpKind::Div, self_gated, "silu, mish, hard_swish"},
};

}  // namespace

const PassInfo kRecoverActivationsPass{
    .name = "recover-activations",
    .summary = "Finds silu, gelu, mish, softplus, hard_sigmoid and hard_swish in arithmetic.",
    .details =
        "Products are taken apart into factors, so that the order in which an exporter multiplies "
        "does not matter. Numbers must agree to four digits. Intermediate values that something "
        "else reads keep the arithmetic.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kRecoverActivationsPass.name, kRules);
    }};

}  // namespace ec::passes
