// TensorFlow functions as layers of Keras 2 (TFOpLambda, SlicingOpLambda). Each becomes a call of
// the operation of keras.ops that does the same, with its arguments under that operation's names.
#include <algorithm>

#include "frontend/keras/operands.h"
#include "frontend/keras/table.h"
#include "support/strings.h"

namespace ec::keras {
namespace {

struct Function {
  std::string_view name;       // of TensorFlow, without "tf."
  std::string_view operation;  // of keras.ops
  // Arguments of the call in TensorFlow's order; those after '|' are the operation's options, as
  // "theirs=ours". Numbers in options stand as they are.
  std::string_view operands, options;
};

constexpr Function kTable[] = {
    {"math.add", "Add", "x,y", ""},
    {"__operators__.add", "Add", "x,y", ""},
    {"math.subtract", "Subtract", "x,y", ""},
    {"math.multiply", "Multiply", "x,y", ""},
    {"math.truediv", "Divide", "x,y", ""},
    {"math.divide", "Divide", "x,y", ""},
    {"math.divide_no_nan", "DivideNoNan", "x,y", ""},
    {"math.floordiv", "FloorDivide", "x,y", ""},
    {"math.floormod", "Mod", "x,y", ""},
    {"math.pow", "Power", "x,y", ""},
    {"math.maximum", "Maximum", "x,y", ""},
    {"math.minimum", "Minimum", "x,y", ""},
    {"math.squared_difference", "SquaredDifference", "x,y", ""},
    {"math.equal", "Equal", "x,y", ""},
    {"__operators__.eq", "Equal", "self,other", ""},
    {"math.not_equal", "NotEqual", "x,y", ""},
    {"__operators__.ne", "NotEqual", "self,other", ""},
    {"math.greater", "Greater", "x,y", ""},
    {"math.greater_equal", "GreaterEqual", "x,y", ""},
    {"math.less", "Less", "x,y", ""},
    {"math.less_equal", "LessEqual", "x,y", ""},
    {"math.logical_and", "LogicalAnd", "x,y", ""},
    {"__operators__.logical_and", "LogicalAnd", "x,y", ""},
    {"math.logical_or", "LogicalOr", "x,y", ""},
    {"__operators__.logical_or", "LogicalOr", "x,y", ""},
    {"math.logical_not", "LogicalNot", "x", ""},
    {"math.negative", "Negative", "x", ""},
    {"math.abs", "Abs", "x", ""},
    {"math.sign", "Sign", "x", ""},
    {"math.exp", "Exp", "x", ""},
    {"math.expm1", "Expm1", "x", ""},
    {"math.log", "Log", "x", ""},
    {"math.log1p", "Log1p", "x", ""},
    {"math.sqrt", "Sqrt", "x", ""},
    {"math.rsqrt", "Rsqrt", "x", ""},
    {"math.square", "Square", "x", ""},
    {"math.reciprocal", "Reciprocal", "x", ""},
    {"math.sin", "Sin", "x", ""},
    {"math.cos", "Cos", "x", ""},
    {"math.tan", "Tan", "x", ""},
    {"math.tanh", "Tanh", "x", ""},
    {"math.sigmoid", "Sigmoid", "x", ""},
    {"math.softplus", "Softplus", "features", ""},
    {"math.softsign", "Softsign", "features", ""},
    {"math.erf", "Erf", "x", ""},
    {"math.floor", "Floor", "x", ""},
    {"math.ceil", "Ceil", "x", ""},
    {"math.round", "Round", "x", ""},
    {"math.is_nan", "Isnan", "x", ""},
    {"math.argmax", "Argmax", "input", "axis=axis"},
    {"math.argmin", "Argmin", "input", "axis=axis"},
    {"math.cumsum", "Cumsum", "x", "axis=axis"},
    {"math.cumprod", "Cumprod", "x", "axis=axis"},
    {"math.top_k", "TopK", "input", "k=k"},
    {"math.reduce_mean", "Mean", "input_tensor", "axis=axis,keepdims=keepdims"},
    {"math.reduce_sum", "Sum", "input_tensor", "axis=axis,keepdims=keepdims"},
    {"math.reduce_max", "Max", "input_tensor", "axis=axis,keepdims=keepdims"},
    {"math.reduce_min", "Min", "input_tensor", "axis=axis,keepdims=keepdims"},
    {"math.reduce_prod", "Prod", "input_tensor", "axis=axis,keepdims=keepdims"},
    {"math.reduce_any", "Any", "input_tensor", "axis=axis,keepdims=keepdims"},
    {"math.reduce_all", "All", "input_tensor", "axis=axis,keepdims=keepdims"},
    {"math.reduce_std", "Std", "input_tensor", "axis=axis,keepdims=keepdims"},
    {"math.reduce_variance", "Var", "input_tensor", "axis=axis,keepdims=keepdims"},
    {"math.reduce_logsumexp", "Logsumexp", "input_tensor", "axis=axis,keepdims=keepdims"},
    {"math.l2_normalize", "Normalize", "x", "axis=axis"},
    {"linalg.matmul", "Matmul", "a,b", ""},
    {"linalg.l2_normalize", "Normalize", "x", "axis=axis"},
    {"tensordot", "Tensordot", "a,b", "axes=axes"},
    {"einsum", "Einsum", "equation", ""},
    {"nn.relu", "Relu", "features", ""},
    {"nn.relu6", "Relu6", "features", ""},
    {"nn.leaky_relu", "LeakyRelu", "features", "alpha=negative_slope"},
    {"nn.elu", "Elu", "features", ""},
    {"nn.selu", "Selu", "features", ""},
    {"nn.silu", "Silu", "features", ""},
    {"nn.swish", "Silu", "features", ""},
    {"nn.gelu", "Gelu", "features", "approximate=approximate"},
    {"nn.softmax", "Softmax", "logits", "axis=axis"},
    {"nn.log_softmax", "LogSoftmax", "logits", "axis=axis"},
    {"nn.softplus", "Softplus", "features", ""},
    {"nn.tanh", "Tanh", "x", ""},
    {"nn.sigmoid", "Sigmoid", "x", ""},
    {"nn.depth_to_space", "DepthToSpace", "input", "block_size=block_size"},
    {"nn.space_to_depth", "SpaceToDepth", "input", "block_size=block_size"},
    {"compat.v1.depth_to_space", "DepthToSpace", "input", "block_size=block_size"},
    {"clip_by_value", "Clip", "t", "clip_value_min=x_min,clip_value_max=x_max"},
    {"concat", "Concatenate", "values", "axis=axis"},
    {"stack", "Stack", "values", "axis=axis"},
    {"unstack", "Unstack", "value", "axis=axis"},
    {"split", "Split", "value", "num_or_size_splits=indices_or_sections,axis=axis"},
    {"reshape", "Reshape", "tensor", "shape=newshape"},
    {"expand_dims", "ExpandDims", "input", "axis=axis"},
    {"compat.v1.expand_dims", "ExpandDims", "input", "axis=axis"},
    {"squeeze", "Squeeze", "input", "axis=axis"},
    {"compat.v1.squeeze", "Squeeze", "input", "axis=axis"},
    {"transpose", "Transpose", "a", "perm=axes"},
    {"compat.v1.transpose", "Transpose", "a", "perm=axes"},
    {"reverse", "Flip", "tensor", "axis=axis"},
    {"roll", "Roll", "input", "shift=shift,axis=axis"},
    {"tile", "Tile", "input", "multiples=repeats"},
    {"repeat", "Repeat", "input", "repeats=repeats,axis=axis"},
    {"pad", "Pad", "tensor", "paddings=pad_width,mode=mode"},
    {"compat.v1.pad", "Pad", "tensor", "paddings=pad_width,mode=mode"},
    {"gather", "Take", "params,indices", "axis=axis"},
    {"compat.v1.gather", "Take", "params,indices", "axis=axis"},
    {"where", "Where", "condition,x,y", ""},
    {"compat.v1.where", "Where", "condition,x,y", ""},
    {"cast", "Cast", "x", "dtype=dtype"},
    {"one_hot", "OneHot", "indices", "depth=num_classes,axis=axis"},
    {"identity", "Copy", "input", ""},
    {"stop_gradient", "StopGradient", "input", ""},
    {"zeros_like", "ZerosLike", "input", ""},
    {"ones_like", "OnesLike", "input", ""},
    {"image.resize", "Resize", "images", "size=size,method=interpolation,antialias=antialias"},
    {"compat.v1.image.resize", "Resize", "images", "size=size,method=interpolation"},
};

// Options that TensorFlow leaves to a default of its own.
Value default_option(std::string_view operation, std::string_view option) {
  if (option == "axis" && (operation == "Softmax" || operation == "LogSoftmax" ||
                           operation == "Normalize" || operation == "OneHot"))
    return Value::integer(-1);
  if (option == "axis" && operation == "Take") return Value::integer(0);
  if (operation == "Gelu") return Value::boolean(false);
  return {};
}

Value function_layer(LayerCall& c) {
  const std::string name = c.text("function");
  if (name == "__operators__.getitem") return subscript(c, c.x(), c.arg(1, "slice_spec"));
  const auto found = std::ranges::find(kTable, name, &Function::name);
  if (found == std::end(kTable))
    return c.unsupported("TensorFlow function 'tf." + printable(name) + "'");
  if (found->operation == "SquaredDifference") {
    const auto [a, b] = operands(c, c.arg(0, "x"), c.arg(1, "y"));
    return c.add(OpKind::SquaredDifference, {a, b});
  }
  LayerConfig operation;
  operation.class_name = std::string(found->operation);
  operation.name = c.layer().name;
  operation.is_operation = true;
  operation.config = Value::dict();
  std::vector<Value> args;
  size_t position = 0;
  for (const std::string_view operand : split(found->operands, ','))
    args.push_back(c.arg(position++, operand));
  if (!found->options.empty())
    for (const std::string_view option : split(found->options, ',')) {
      const size_t equals = option.find('=');
      const std::string theirs(option.substr(0, equals)), ours(option.substr(equals + 1));
      Value value = c.arg(position++, theirs);
      if (value.is_none()) value = default_option(found->operation, ours);
      if (value.is_text()) value = Value::text(to_lower(value.as_text()));
      // Sizes of parts are where they end for the operation.
      if (found->operation == "Split" && ours == "indices_or_sections" && value.is_list()) {
        std::vector<Value> ends;
        int64_t sum = 0;
        for (size_t i = 0; i + 1 < value.items().size(); ++i) {
          if (__builtin_add_overflow(sum, value.items()[i].as_int(), &sum))
            return c.fail(Code::BadValue, "the sizes of the parts are out of range");
          ends.push_back(Value::integer(sum));
        }
        value = Value::list(std::move(ends));
      }
      if (!value.is_none()) operation.config.set(ours, std::move(value));
    }
  if (found->operation == "Matmul")
    for (const char* flag : {"transpose_a", "transpose_b", "adjoint_a", "adjoint_b"})
      if (c.kwargs()[flag].as_bool(false)) {
        Value& side = args[std::string_view(flag).ends_with("_a") ? 0 : 1];
        Tensor* x = c.optional_tensor(side);
        if (x == nullptr || c.rank(x) < 2) return c.unsupported("a product of this form");
        const int64_t rank = c.rank(x);
        side = Value::tensor(c.transpose(x, c.swapped(rank, rank - 1, rank - 2)));
      }
  if (found->operation == "Einsum") {
    operation.config.set("subscripts", args.front());
    args.erase(args.begin());
    for (size_t i = 1; i < c.args().size(); ++i) args.push_back(c.args()[i]);
    if (c.kwargs().has("inputs")) args.push_back(c.kwargs()["inputs"]);
  }
  if (found->operation == "Pad" && c.kwargs().has("constant_values"))
    args.push_back(c.kwargs()["constant_values"]);
  if (!c.ok()) return Value::failed();
  // The call is this layer's own: its name stays.
  const LayerRow* row = find_operation(found->operation);
  if (row == nullptr) return c.unsupported("TensorFlow function 'tf." + printable(name) + "'");
  LayerCall inner(c.importer(), c.location(), operation, c.weights(), std::move(args),
                  Value::dict(), c.depth() + 1);
  Value result = inner.convert(*row);
  if (Status status = inner.status(); !status.ok())
    return c.remember(std::move(status).error()), Value::failed();
  return result;
}

constexpr LayerRow kRows[] = {
    {"TFOpLambda", function_layer},
    {"SlicingOpLambda", function_layer},
};

}  // namespace

const std::span<const LayerRow> kFunctions = kRows;

}  // namespace ec::keras
