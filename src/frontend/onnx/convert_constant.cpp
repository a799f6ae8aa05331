// Constants.
#include "formats/onnx/decode.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

Status constant(NodeContext& ctx) {
  ec::Graph& graph = ctx.graph();
  ec::Tensor* value = nullptr;
  if (ctx.has_attr("value")) {
    const Bytes message = ctx.attr_message("value", AttributeType::Tensor);
    EC_CHECK_OK(ctx.attr_status());
    EC_TRY(value, ctx.constant(message));
  } else if (ctx.has_attr("sparse_value")) {
    const Bytes message = ctx.attr_message("sparse_value", AttributeType::SparseTensor);
    EC_CHECK_OK(ctx.attr_status());
    EC_TRY(value, ctx.importer().add_sparse_constant(message, graph, {}));
  } else if (ctx.has_attr("value_float")) {
    const float number = ctx.attr_float("value_float", 0);
    value = graph.add_constant<float>("", Shape{}, std::span(&number, 1));
  } else if (ctx.has_attr("value_int")) {
    const int64_t number = ctx.attr_int("value_int", 0);
    value = graph.add_constant<int64_t>("", Shape{}, std::span(&number, 1));
  } else if (ctx.has_attr("value_floats")) {
    const std::vector<float> numbers = ctx.attr_floats("value_floats");
    value = graph.add_constant<float>("", Shape{static_cast<int64_t>(numbers.size())},
                                      std::span(numbers));
  } else if (ctx.has_attr("value_ints")) {
    value = ctx.ints(ctx.attr_ints("value_ints"));
  } else if (ctx.has_attr("value_string") || ctx.has_attr("value_strings")) {
    return ctx.fail(Code::UnsupportedType, "the constant is text");
  } else {
    return ctx.fail(Code::BadAttribute, "the constant has no value");
  }
  ctx.set(0, value);
  return {};
}

constexpr OpRow kRows[] = {
    {"Constant", 1, kLatest, {0, 0}, {1, 1}, constant},
};

}  // namespace

const std::span<const OpRow> kConstantRows = kRows;

}  // namespace ec::onnx
