// Normalisations, for layers and operations.
#pragma once

#include "frontend/keras/layer_call.h"

namespace ec::keras {

// Over these axes, which are sorted; scale and shift have their sizes and may be null.
Tensor* layer_norm(LayerCall& c, Tensor* x, const Ints& axes, Tensor* gamma, Tensor* beta,
                   double epsilon);
Tensor* rms_norm(LayerCall& c, Tensor* x, const Ints& axes, Tensor* scale, double epsilon);
// x / sqrt(max(sum(x^2), epsilon))
Tensor* l2_normalize(LayerCall& c, Tensor* x, const Ints& axes, double epsilon);
Tensor* batch_norm(LayerCall& c, Tensor* x, int64_t axis, Tensor* mean, Tensor* variance,
                   Tensor* gamma, Tensor* beta, double epsilon);

}  // namespace ec::keras
