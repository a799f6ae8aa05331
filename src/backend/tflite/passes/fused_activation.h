// Activations that operations carry, taken off and put behind them.
#pragma once

#include "passes/replacement.h"

namespace ec::passes {

struct FusedActivation {
  Activation kind = Activation::None;
  float alpha = 0, beta = 0;
};

// The operation's attributes without their activation.
template <class A>
FusedActivation take_activation(Attrs& attrs) {
  A& edited = attrs.edit<A>();
  const FusedActivation taken{edited.activation, edited.act_alpha, edited.act_beta};
  edited.activation = Activation::None;
  edited.act_alpha = edited.act_beta = 0;
  return taken;
}

// x behind the activation.
Tensor* activated(Replacement& p, Tensor* x, const FusedActivation& a);

}  // namespace ec::passes
