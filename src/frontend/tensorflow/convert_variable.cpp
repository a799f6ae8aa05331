// Constants, inputs and variables.
#include "frontend/tensorflow/limits.h"
#include "frontend/tensorflow/table.h"
#include "frontend/tensorflow/types.h"

namespace ec::tf {
namespace {

Status constant(OpContext& ctx) {
  const std::optional<Tensor> tensor = ctx.attr_tensor("value");
  if (!tensor) return ctx.fail(Code::BadAttribute, "the value is missing or broken");
  if (tensor->type == DataType::String)
    return ctx.set_value(0, {TfValue::Kind::Text, false, 0, nullptr});
  const auto dtype = to_dtype(tensor->type);
  if (!dtype)
    return ctx.fail(Code::UnsupportedType, "a constant of type " + data_type_name(tensor->type));
  EC_TRY(Blob data, ctx.importer().tensors().read(*tensor));
  Shape shape = Shape::of(tensor->dims);
  const bool complex = is_complex(tensor->type);
  if (complex) shape.push_back(Dim(2));
  ec::Tensor* made = ctx.graph().add_constant(
      std::string(ctx.location().name()), TensorType(*dtype, std::move(shape)), std::move(data));
  return ctx.set(0, made, complex);
}

Status placeholder(OpContext& ctx) {
  return ctx
      .fail(Code::MissingInput, "the result needs this placeholder, which is no input of the model")
      .hint(
          "make it an input of the signature, or name it with --graph-input, or save the model "
          "without the outputs that need it");
}

Status handle(OpContext& ctx) {
  const uint32_t id = ctx.importer().variable(ctx.source().name, ctx.attr_text("shared_name"));
  return ctx.set_value(0, TfValue::variable(id));
}

Result<uint32_t> variable_of(const OpContext& ctx) {
  if (ctx.value(0).kind == TfValue::Kind::Variable) return ctx.value(0).id;
  return ctx.fail(Code::TypeMismatch, "input 0 is no variable");
}

Status read(OpContext& ctx) {
  EC_TRY(const uint32_t id, variable_of(ctx));
  EC_TRY(ec::Tensor * value, ctx.importer().read_variable(ctx.site(), id, ctx.location()));
  return ctx.set(0, value);
}

// A variable of TensorFlow 1 is its value.
Status variable(OpContext& ctx) {
  const uint32_t id = ctx.importer().variable(ctx.source().name, ctx.attr_text("shared_name"));
  EC_TRY(ec::Tensor * value, ctx.importer().read_variable(ctx.site(), id, ctx.location()));
  return ctx.set(0, value);
}

Status variable_shape(OpContext& ctx) {
  EC_TRY(const uint32_t id, variable_of(ctx));
  EC_TRY(ec::Tensor * value, ctx.importer().read_variable(ctx.site(), id, ctx.location()));
  EC_TRY(const DType dtype, ctx.attr_dtype("out_type", DataType::Int32));
  EC_TRY(ec::Tensor * sizes, ctx.add(OpKind::Shape, {value}, ShapeAttrs{}));
  EC_TRY(sizes, ctx.cast(sizes, dtype));
  return ctx.set(0, sizes);
}

enum class Assign { Value, Sum, Difference };
template <Assign kHow>
Status assign(OpContext& ctx) {
  EC_TRY(const uint32_t id, variable_of(ctx));
  if (!ctx.value(1).is_tensor()) return ctx.fail(Code::TypeMismatch, "input 1 is no tensor");
  ec::Tensor* value = ctx.in(1);
  if (kHow != Assign::Value) {
    EC_TRY(ec::Tensor * before, ctx.importer().read_variable(ctx.site(), id, ctx.location()));
    EC_TRY(value, ctx.add(kHow == Assign::Sum ? OpKind::Add : OpKind::Sub, {before, value}));
  }
  return ctx.importer().assign_variable(ctx.site(), id, value, ctx.location());
}

constexpr Arity k0{0, 0}, k1{1, 1}, k2{2, 2};
constexpr Takes kAll = Takes::Anything;

constexpr OpRow kRows[] = {
    {"Const", k0, constant},
    {"Placeholder", k0, placeholder},
    {"PlaceholderV2", k0, placeholder},
    {"VarHandleOp", k0, handle},
    {"ReadVariableOp", k1, read, kAll},
    {"VariableShape", k1, variable_shape, kAll},
    {"VariableV2", k0, variable},
    {"Variable", k0, variable},
    {"AutoReloadVariable", k0, variable},
    {"AssignVariableOp", k2, assign<Assign::Value>, kAll},
    {"AssignAddVariableOp", k2, assign<Assign::Sum>, kAll},
    {"AssignSubVariableOp", k2, assign<Assign::Difference>, kAll},
};

}  // namespace

const std::span<const OpRow> kVariableRows = kRows;

}  // namespace ec::tf
