// What the recurrent ops share: gates, and activation functions by name with their parameters.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "ops/attrs.h"
#include "ops/op_kind.h"
#include "support/strings.h"

namespace ec::ops {

struct Cell {
  int64_t gates;
  std::vector<std::string> activations;  // of one direction
};

inline Cell cell_of(OpKind kind) {
  if (kind == OpKind::Lstm) return {4, {"Sigmoid", "Tanh", "Tanh"}};
  if (kind == OpKind::Gru) return {3, {"Sigmoid", "Tanh"}};
  return {1, {"Tanh"}};
}

inline int64_t num_directions(const RecurrentAttrs& attrs) {
  return attrs.direction == Direction::Bidirectional ? 2 : 1;
}

struct ActivationKind {
  std::string_view name;
  int parameters;  // 0: none, 1: alpha, 2: alpha and beta
  double alpha, beta;
  double (*apply)(double x, double alpha, double beta);
};

inline constexpr ActivationKind kActivations[] = {
    {"relu", 0, 0, 0, [](double x, double, double) { return x < 0 ? 0 : x; }},
    {"tanh", 0, 0, 0, [](double x, double, double) { return std::tanh(x); }},
    {"sigmoid", 0, 0, 0, [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
    {"affine", 2, 1, 0, [](double x, double a, double b) { return a * x + b; }},
    {"leakyrelu", 1, 0.01, 0, [](double x, double a, double) { return x >= 0 ? x : a * x; }},
    {"thresholdedrelu", 1, 1, 0, [](double x, double a, double) { return x >= a ? x : 0; }},
    {"scaledtanh", 2, 1, 1, [](double x, double a, double b) { return a * std::tanh(b * x); }},
    {"hardsigmoid", 2, 0.2, 0.5,
     [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }},
    {"elu", 1, 1, 0, [](double x, double a, double) { return x >= 0 ? x : a * std::expm1(x); }},
    {"softsign", 0, 0, 0, [](double x, double, double) { return x / (1 + std::abs(x)); }},
    {"softplus", 0, 0, 0,
     [](double x, double, double) {
       return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
     }},
};

inline const ActivationKind* find_activation(std::string_view name) {
  const std::string lower = to_lower(name);
  const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                   [&](const auto& a) { return a.name == lower; });
  return found == std::end(kActivations) ? nullptr : found;
}

struct BoundActivation {
  const ActivationKind* kind;
  double alpha, beta, clip;

  double operator()(double x) const {
    if (clip > 0.0) x = std::clamp(x, -clip, clip);
    return kind->apply(x, alpha, beta);
  }
};

// All directions' functions in order; functions with parameters take the next given values.
inline std::vector<BoundActivation> bind_activations(const RecurrentAttrs& attrs,
                                                     const Cell& cell) {
  std::vector<BoundActivation> out;
  size_t next_alpha = 0, next_beta = 0;
  const size_t count = cell.activations.size() * static_cast<size_t>(num_directions(attrs));
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = attrs.activations.empty()
                                  ? cell.activations[i % cell.activations.size()]
                                  : attrs.activations[i];
    const ActivationKind* kind = find_activation(name);
    BoundActivation bound{kind, kind->alpha, kind->beta, double{attrs.clip}};
    if (kind->parameters >= 1 && next_alpha < attrs.activation_alpha.size())
      bound.alpha = double{attrs.activation_alpha[next_alpha++]};
    if (kind->parameters >= 2 && next_beta < attrs.activation_beta.size())
      bound.beta = double{attrs.activation_beta[next_beta++]};
    out.push_back(bound);
  }
  return out;
}

}  // namespace ec::ops
