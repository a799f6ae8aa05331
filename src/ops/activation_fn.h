// The activations that weighted sums carry, as one scalar function: the single meaning that fused
// and separate forms share.
#pragma once

#include <algorithm>
#include <cmath>

#include "ops/attrs.h"

namespace ec {

// alpha, beta: clip's bounds, leaky_relu's slope, hard_sigmoid's slope and offset; else not used.
// NaN passes through, as in the separate ops.
template <class T>
T apply_activation(Activation activation, T x, T alpha, T beta) {
  switch (activation) {
    case Activation::None:
      return x;
    case Activation::Relu:
      return x < T{0} ? T{0} : x;
    case Activation::Relu6:
      return x < T{0} ? T{0} : x > T{6} ? T{6} : x;
    case Activation::Clip:
      // The upper bound wins where the bounds cross.
      x = x < alpha ? alpha : x;
      return x > beta ? beta : x;
    case Activation::LeakyRelu:
      return x < T{0} ? alpha * x : x;
    case Activation::Sigmoid:
      return T{1} / (T{1} + std::exp(-x));
    case Activation::Tanh:
      return std::tanh(x);
    case Activation::Silu:
      return x / (T{1} + std::exp(-x));
    case Activation::HardSwish:
      return x * std::clamp(x / T{6} + T{0.5}, T{0}, T{1});
    case Activation::HardSigmoid:
      return std::clamp(alpha * x + beta, T{0}, T{1});
    case Activation::Gelu:
      return T{0.5} * x * (T{1} + std::erf(x * static_cast<T>(0.70710678118654752440)));
    case Activation::GeluTanh: {
      const T inner =
          static_cast<T>(0.79788456080286535588) * (x + static_cast<T>(0.044715) * x * x * x);
      return T{0.5} * x * (T{1} + std::tanh(inner));
    }
  }
  return x;
}

}  // namespace ec
