#include "ops/infer.h"

#include <algorithm>
#include <map>

#include "ops/attrs.h"
#include "ops/border.h"
#include "ops/convert.h"
#include "ops/state_types.h"
#include "support/checked.h"

namespace ec {
namespace {

// Shapes whose elements are tracked as dimensions are short; longer tensors are data.
constexpr int64_t kMaxTrackedDims = 64;

// Empty constants are known values, too: null means unknown.
const std::byte* known_bytes(const InferOperand& operand) {
  static constexpr std::byte kNoByte{};
  if (operand.data != nullptr || operand.constant == nullptr) return operand.data;
  const Blob& blob = operand.constant->data();
  return blob.empty() ? &kNoByte : blob.bytes().data();
}

}  // namespace

std::vector<InferOperand> operands_of(const Operation& op) {
  std::vector<InferOperand> operands;
  operands.reserve(op.inputs().size());
  for (const Tensor* tensor : op.inputs()) {
    InferOperand operand;
    if (tensor != nullptr) {
      operand.type = &tensor->type();
      if (tensor->is_constant()) operand.constant = tensor;
      if (tensor->dim_values()) operand.dims = &*tensor->dim_values();
    }
    operands.push_back(operand);
  }
  return operands;
}

InferContext::InferContext(const Operation& op, std::vector<InferOperand> operands)
    : op_(op),
      attrs_(op.attrs()),
      operands_(std::move(operands)),
      results_(op.outputs().size()),
      result_dims_(op.outputs().size()) {}

void InferContext::set(size_t i, DType dtype, std::optional<Shape> shape) {
  results_[i] = TensorType(dtype);
  results_[i].shape = std::move(shape);
}

std::optional<ConstView> InferContext::value(size_t i) const {
  if (!has(i)) return std::nullopt;
  const std::byte* data = known_bytes(operands_[i]);
  if (data == nullptr) return std::nullopt;
  // Views need plain sizes; they live as long as the context does.
  sizes_.resize(operands_.size());
  sizes_[i] = type(i).shape->sizes();
  return ConstView{dtype(i), sizes_[i], data, nullptr};
}

std::optional<std::vector<int64_t>> InferContext::int_values(size_t i) const {
  const bool is_known =
      has(i) && (operands_[i].data != nullptr || operands_[i].constant != nullptr);
  if (has(i) && !is_known && operands_[i].dims != nullptr) {
    std::vector<int64_t> out;
    for (const Dim& dim : *operands_[i].dims) {
      if (!dim.is_static()) return std::nullopt;
      out.push_back(dim.size());
    }
    return out;
  }
  const auto view = value(i);
  if (!view || !(is_integer(view->dtype) || view->dtype == DType::Bool)) return std::nullopt;
  std::vector<int64_t> out(static_cast<size_t>(view->count()));
  load<int64_t>(*view, out);
  return out;
}

std::optional<std::vector<Dim>> InferContext::dim_values(size_t i) const {
  if (!has(i)) return std::nullopt;
  if (operands_[i].dims != nullptr) return *operands_[i].dims;
  const auto count = type(i).num_elements();
  if (!count || *count > kMaxTrackedDims) return std::nullopt;
  const auto values = int_values(i);
  if (!values) return std::nullopt;
  std::vector<Dim> dims;
  for (const int64_t v : *values) {
    if (v < 0) return std::nullopt;
    dims.emplace_back(v);
  }
  return dims;
}

Error InferContext::fail(Code code, std::string message) const {
  const Location& location = op_.location();
  const std::string type =
      location.op_type.empty() ? std::string(op_.def().name) : location.op_type;
  return Error(code, std::move(message)).node(std::string(location.name()), type);
}

namespace {

// Ranks and sizes that no kernel, plan or writer can count with.
Status check_result_limits(const InferContext& ctx, const TensorType& type) {
  if (!type.shape) return {};
  if (type.shape->rank() > static_cast<size_t>(rule::kAnyRank))
    return ctx.bad_shape("result has " + std::to_string(type.shape->rank()) +
                         " dimensions; tensors have at most " + std::to_string(rule::kAnyRank));
  std::vector<int64_t> sizes;
  for (const Dim& dim : *type.shape) sizes.push_back(dim.is_static() ? dim.size() : 1);
  if (checked_extent(sizes, static_cast<int64_t>(element_size(type.dtype)))) return {};
  return ctx.fail(Code::OutOfMemory, "result " + type.text() + " is too large");
}

}  // namespace

Status infer_types(InferContext& ctx) {
  EC_CHECK_OK(check_border(ctx));
  EC_CHECK_OK(ctx.op().def().infer(ctx));
  for (const TensorType& type : ctx.results()) EC_CHECK_OK(check_result_limits(ctx, type));
  return {};
}

Status infer_operation(Operation& op) {
  InferContext ctx(op, operands_of(op));
  ctx.allow_refining_bodies();
  EC_CHECK_OK(infer_types(ctx));
  Graph& graph = op.graph();
  for (size_t i = 0; i < op.outputs().size(); ++i) {
    TensorType type = ctx.results()[i];
    // Inference does not speak of quantisation: parameters attached to the tensor stay.
    if (!type.quant) type.quant = op.output(i)->type().quant;
    graph.set_type(op.output(i), std::move(type));
    graph.set_dim_values(op.output(i), std::move(ctx.result_dims()[i]));
  }
  return {};
}

namespace {

// Sizes that became known may show that a state is written with others than it is read with.
void check_states(const std::vector<Operation*>& order, DiagnosticSink& sink) {
  std::map<std::string_view, const Tensor*> reads;
  for (const Operation* op : order)
    if (op->kind() == OpKind::ReadState)
      reads.emplace(op->attrs_as<StateAttrs>().name, op->output());
  for (const Operation* op : order) {
    if (reads.empty() || op->kind() != OpKind::WriteState) continue;
    const auto read = reads.find(op->attrs_as<StateAttrs>().name);
    if (read == reads.end() || fits_state(read->second->type(), op->output()->type())) continue;
    sink.report(Error(Code::TypeMismatch, "the state '" + op->attrs_as<StateAttrs>().name +
                                              "' is " + read->second->type().text() +
                                              " and the model assigns " +
                                              op->output()->type().text())
                    .node(std::string(op->location().name()), op->location().op_type));
  }
}

}  // namespace

void infer_graph(Graph& graph, DiagnosticSink& sink) {
  const std::vector<Operation*> order = graph.topological();
  for (Operation* op : order)
    if (Status status = infer_operation(*op); !status.ok()) sink.report(std::move(status).error());
  check_states(order, sink);
}

Result<int64_t> normalize_axis(const InferContext& ctx, int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r)
    return ctx.bad_value("axis " + std::to_string(axis) + " is outside the " +
                         std::to_string(rank) + " dimensions of the input");
  return axis < 0 ? axis + r : axis;
}

Result<std::vector<int64_t>> normalize_axes(const InferContext& ctx, std::span<const int64_t> axes,
                                            size_t rank) {
  std::vector<int64_t> out;
  for (const int64_t axis : axes) {
    EC_TRY(const int64_t a, normalize_axis(ctx, axis, rank));
    if (std::find(out.begin(), out.end(), a) != out.end())
      return ctx.bad_value("axis " + std::to_string(axis) + " is given twice");
    out.push_back(a);
  }
  return out;
}

Result<Shape> broadcast_shapes(const InferContext& ctx, const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.rank(), b.rank());
  std::vector<Dim> dims;
  dims.reserve(rank);
  for (size_t i = 0; i < rank; ++i) {
    const Dim one(1);
    const Dim& x = i + a.rank() >= rank ? a[i + a.rank() - rank] : one;
    const Dim& y = i + b.rank() >= rank ? b[i + b.rank() - rank] : one;
    if (x == one || x.same_size(y)) {
      dims.push_back(y);
    } else if (y == one) {
      dims.push_back(x);
    } else if (x.is_static() && y.is_static()) {
      return ctx.bad_shape("shapes " + a.text() + " and " + b.text() +
                           " cannot be broadcast together");
    } else {
      // An open size against n > 1 can only be n (or 1); two open sizes stay open.
      dims.push_back(x.is_static() ? x : y.is_static() ? y : Dim::unknown());
    }
  }
  return Shape(std::move(dims));
}

Status check_sizes(const InferContext& ctx, size_t i) {
  if (!is_integer(ctx.dtype(i)))
    return ctx.bad_type("sizes should be integers, not " + operand_text(ctx, i));
  const auto sizes = ctx.int_values(i);
  if (sizes && std::ranges::any_of(*sizes, [](int64_t size) { return size < 0; }))
    return ctx.bad_value("operand " + std::to_string(i) + " holds a negative size");
  return {};
}

std::string operand_text(const InferContext& ctx, size_t i) {
  return ctx.has(i) ? ctx.type(i).text() : "nothing";
}

bool carries_parameters(const InferContext& ctx) {
  for (size_t i = 0; i < ctx.num_inputs(); ++i)
    if (ctx.has(i) && ctx.type(i).quant) return true;
  return false;
}

Status infer_same_as_first(InferContext& ctx) {
  ctx.set(0, ctx.dtype(0), ctx.shape(0));
  return {};
}

namespace {

Result<std::optional<Shape>> broadcast_all(InferContext& ctx, size_t first, size_t count) {
  std::optional<Shape> shape = Shape{};
  for (size_t i = first; i < first + count; ++i) {
    if (!ctx.shape(i)) return std::optional<Shape>{};
    EC_TRY(shape, broadcast_shapes(ctx, *shape, *ctx.shape(i)));
  }
  return shape;
}

// Kernels for integers with parameters read each operand by its own type; all others read one type.
Status check_same_type(InferContext& ctx, size_t count) {
  const bool any = ctx.op().def().quantized != nullptr && carries_parameters(ctx);
  for (size_t i = 1; i < count; ++i)
    if (ctx.dtype(i) != ctx.dtype(0) && !any)
      return ctx.bad_type("operands have different element types: " + operand_text(ctx, 0) +
                          " and " + operand_text(ctx, i));
  return {};
}

}  // namespace

Status infer_broadcast_same_type(InferContext& ctx) {
  EC_CHECK_OK(check_same_type(ctx, ctx.num_inputs()));
  EC_TRY(std::optional<Shape> shape, broadcast_all(ctx, 0, ctx.num_inputs()));
  ctx.set(0, ctx.dtype(0), std::move(shape));
  return {};
}

Status infer_broadcast_bool(InferContext& ctx) {
  EC_CHECK_OK(check_same_type(ctx, ctx.num_inputs()));
  EC_TRY(std::optional<Shape> shape, broadcast_all(ctx, 0, ctx.num_inputs()));
  ctx.set(0, DType::Bool, std::move(shape));
  return {};
}

}  // namespace ec
