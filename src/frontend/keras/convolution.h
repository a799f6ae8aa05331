// Convolutions with kernels as Keras stores them, for layers and operations.
#pragma once

#include <string>

#include "frontend/keras/layer_call.h"

namespace ec::keras {

// `attrs` has layout, strides and dilations; kernel [k..., in / groups, out].
Tensor* convolve(LayerCall& c, Tensor* x, Tensor* kernel, Tensor* bias, ConvAttrs attrs,
                 const std::string& padding);
// kernel [k..., in, multiplier]
Tensor* convolve_depthwise(LayerCall& c, Tensor* x, Tensor* kernel, Tensor* bias, ConvAttrs attrs,
                           const std::string& padding);
// kernel [k..., out, in]; no output padding: what Keras takes by itself.
Tensor* convolve_transposed(LayerCall& c, Tensor* x, Tensor* kernel, Tensor* bias,
                            const ConvAttrs& attrs, const std::string& padding,
                            const Ints& output_padding);
void set_pool_padding(LayerCall& c, const Tensor* x, const std::string& padding, PoolAttrs& attrs);

// A kernel as real numbers, whatever form the layer keeps it in (Keras's int8 and int4 layers).
Tensor* layer_kernel(LayerCall& c, std::string_view name);

}  // namespace ec::keras
