// Operations that programs lack and that have formulas which hold for every target.
#include "backend/tflite/formulas.h"

#include "backend/metal/passes/rules.h"
#include "ops/attrs.h"
#include "passes/match.h"
#include "writer/coreml/forms.h"

namespace ec::passes {
namespace {

// An LSTM in the form that programs have stays one operation.
Result<bool> unroll_other_lstm(Rewriter& r, Operation* op) {
  return has_coreml_lstm(*op) ? Result<bool>(false) : apply_formula(r, op);
}

Result<bool> lower_other_resize(Rewriter& r, Operation* op) {
  return has_coreml_resize(*op) ? Result<bool>(false) : apply_formula(r, op);
}

constexpr RewriteRule kRules[] = {
    {OpKind::Mish, apply_formula, "activations"},
    {OpKind::Celu, apply_formula, "activations"},
    {OpKind::Selu, apply_formula, "activations"},
    {OpKind::ThresholdedRelu, apply_formula, "activations"},
    {OpKind::Shrink, apply_formula, "activations"},
    {OpKind::Asinh, apply_formula, "functions"},
    {OpKind::Acosh, apply_formula, "functions"},
    {OpKind::Mod, apply_formula, "functions"},
    {OpKind::Pow, apply_formula, "functions"},
    {OpKind::Hardmax, apply_formula, "reductions"},
    {OpKind::ArgMax, apply_formula, "reductions"},
    {OpKind::ArgMin, apply_formula, "reductions"},
    {OpKind::RmsNorm, apply_formula, "normalisations"},
    {OpKind::LpNorm, apply_formula, "normalisations"},
    {OpKind::RotaryEmbedding, apply_formula, "attention"},
    {OpKind::Einsum, apply_formula, "einsums"},
    {OpKind::GridSample, apply_formula, "sampled grids"},
    {OpKind::AffineGrid, apply_formula, "sampled grids"},
    {OpKind::Dft, apply_formula, "Fourier transforms"},
    {OpKind::Stft, apply_formula, "Fourier transforms"},
    {OpKind::Lstm, unroll_other_lstm, "recurrent layers"},
    {OpKind::Gru, apply_formula, "recurrent layers"},
    {OpKind::Rnn, apply_formula, "recurrent layers"},
    {OpKind::Resize, lower_other_resize, "resizes"},
    {OpKind::Loop, apply_formula, "loops"},
    {OpKind::Scan, apply_formula, "loops"},
};

}  // namespace

const std::span<const RewriteRule> kMilFormulas = kRules;

}  // namespace ec::passes
