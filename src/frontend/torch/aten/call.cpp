#include "frontend/torch/aten/call.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "frontend/computed_constants.h"
#include "frontend/known_values.h"
#include "frontend/torch/aten/limits.h"
#include "frontend/torch/aten/promotion.h"

namespace ec::torch {
namespace {

// Weights that are computed from others: those of one layer.
constexpr size_t kMaxWeightBytes = 1 << 30;

// Constants with the values of the operation's results, or nothing when they are not known.
std::optional<Tensors> fold(ec::Graph& graph, const Operation& op, size_t max_bytes) {
  auto results = computed_results(op, max_bytes);
  if (!results) return std::nullopt;
  Tensors constants;
  for (Value& value : *results)
    constants.push_back(graph.add_constant("", value.type(), std::move(value.data)));
  return constants;
}

Error missing_operand() { return Error(Code::BadArity, "an operand is missing"); }

}  // namespace

std::optional<int64_t> known_int(const TorchValue& value) {
  if (const auto* v = value.get_if<int64_t>()) return *v;
  if (const auto* v = value.get_if<bool>()) return *v ? 1 : 0;
  if (const auto* v = value.get_if<double>())
    return std::abs(*v) < 0x1p63 && std::trunc(*v) == *v ? std::optional(static_cast<int64_t>(*v))
                                                         : std::nullopt;
  const ec::Tensor* tensor = value.tensor();
  if (const auto* symbol = value.get_if<SymScalar>()) tensor = symbol->tensor;
  if (tensor == nullptr) return std::nullopt;
  if (const auto ints = known_ints(tensor); ints && ints->size() == 1) return ints->front();
  if (const auto number = known_scalar(tensor)) return known_int(TorchValue(*number));
  return std::nullopt;
}

std::optional<double> known_number(const TorchValue& value) {
  if (const auto* v = value.get_if<double>()) return *v;
  if (value.is<int64_t>() || value.is<bool>()) return static_cast<double>(*known_int(value));
  const ec::Tensor* tensor = value.tensor();
  if (const auto* symbol = value.get_if<SymScalar>()) tensor = symbol->tensor;
  return tensor != nullptr ? known_scalar(tensor) : std::nullopt;
}

// --- arguments ----------------------------------------------------------------------------------

const TorchValue& Call::arg(std::string_view name) const {
  for (size_t i = 0; i < args_.size(); ++i)
    if (schema_.args[i].name == name) return args_[i];
  static const TorchValue kNone;
  return kNone;
}

TensorRef Call::ref(std::string_view name) {
  const TorchValue& value = arg(name);
  if (value.is_none()) return {};
  auto result = as_tensor(site_, value);
  if (result.ok()) return *result;
  remember(std::move(result).error());
  return {scalar(DType::F32, 0), false, {}, {}};
}

ec::Tensor* Call::tensor(std::string_view name) { return ref(name).tensor; }

std::vector<TorchValue> Call::items(std::string_view name) const {
  const TorchValue& value = arg(name);
  if (const auto* items = value.items()) return *items;
  if (value.is_none()) return {};
  return {value};
}

Tensors Call::tensors(std::string_view name) {
  Tensors result;
  for (const TorchValue& item : items(name)) {
    if (item.is_none()) {
      result.push_back(nullptr);
      continue;
    }
    auto tensor = as_tensor(site_, item);
    // As many as there are items, whatever is wrong with one of them.
    result.push_back(tensor.ok() ? tensor->tensor : scalar(DType::F32, 0));
    if (!tensor.ok()) remember(std::move(tensor).error());
  }
  return result;
}

int64_t Call::integer(std::string_view name) {
  if (const auto value = known_int(arg(name))) return *value;
  remember(fail(Code::DataDependent, "argument '" + std::string(name) +
                                         "' has to be known, it is " + describe(arg(name))));
  return 0;
}

int64_t Call::integer(std::string_view name, int64_t if_none) {
  return has(name) ? integer(name) : if_none;
}

double Call::number(std::string_view name) {
  if (const auto value = known_number(arg(name))) return *value;
  remember(fail(Code::DataDependent, "argument '" + std::string(name) +
                                         "' has to be known, it is " + describe(arg(name))));
  return 0;
}

double Call::number(std::string_view name, double if_none) {
  return has(name) ? number(name) : if_none;
}

bool Call::boolean(std::string_view name, bool if_none) { return integer(name, if_none) != 0; }

std::string Call::text(std::string_view name) {
  const auto* value = arg(name).get_if<std::string>();
  return value != nullptr ? *value : std::string();
}

Ints Call::ints(std::string_view name, size_t count) {
  Ints result;
  for (const TorchValue& item : items(name)) {
    const auto value = known_int(item);
    if (!value)
      remember(fail(Code::DataDependent, "argument '" + std::string(name) + "' has to be known"));
    result.push_back(value.value_or(0));
  }
  if (count == 0 || result.size() == count) return result;
  if (result.size() == 1) return Ints(count, result.front());
  remember(fail(Code::BadValue, "argument '" + std::string(name) + "' has " +
                                    std::to_string(result.size()) + " items where " +
                                    std::to_string(count) + " are needed"));
  result.resize(count, 1);
  return result;
}

std::vector<double> Call::numbers(std::string_view name) {
  std::vector<double> result;
  for (const TorchValue& item : items(name)) {
    const auto value = known_number(item);
    if (!value)
      remember(fail(Code::DataDependent, "argument '" + std::string(name) + "' has to be known"));
    result.push_back(value.value_or(1));
  }
  return result;
}

DType Call::dtype(std::string_view name, DType if_none) {
  if (!has(name)) return if_none;
  auto dtype = dtype_of_scalar_type(integer(name));
  if (dtype.ok()) return *dtype;
  remember(std::move(dtype).error());
  return if_none;
}

Result<ec::Tensor*> Call::sizes(const std::vector<TorchValue>& items) {
  Ints known;
  for (const TorchValue& item : items) {
    const auto value = known_int(item);
    if (!value) break;
    known.push_back(*value);
  }
  if (known.size() == items.size()) return int_list(known);
  Tensors parts;
  for (const TorchValue& item : items) {
    EC_TRY(const TensorRef ref, as_tensor(site_, item));
    EC_TRY(ec::Tensor * size, cast(ref.tensor, DType::I64));
    EC_TRY(size, reshape(size, Ints{1}));
    parts.push_back(size);
  }
  return concat(std::move(parts), 0);
}

Result<ec::Tensor*> Call::sizes(std::string_view name) { return sizes(items(name)); }

// --- shapes -------------------------------------------------------------------------------------

int64_t Call::rank(const ec::Tensor* x) {
  if (x == nullptr) {
    remember(missing_operand());
    return 0;
  }
  if (x->shape()) return static_cast<int64_t>(x->shape()->rank());
  remember(fail(Code::DynamicShape, "the number of dimensions of an operand is not known"));
  return 0;
}

int64_t Call::axis(int64_t dim, int64_t rank) {
  const int64_t bound = std::max<int64_t>(rank, 1);
  if (dim >= -bound && dim < bound) return dim < 0 ? dim + bound : dim;
  remember(fail(Code::BadValue, "dimension " + std::to_string(dim) +
                                    " does not exist: the tensor has " + std::to_string(rank)));
  return 0;
}

Ints Call::dims(std::string_view name, int64_t rank) {
  std::set<int64_t> axes;
  for (const int64_t dim : ints(name)) axes.insert(axis(dim, rank));
  Ints result(axes.begin(), axes.end());
  if (result.empty()) {
    result.resize(static_cast<size_t>(rank));
    std::iota(result.begin(), result.end(), 0);
  }
  return result;
}

std::optional<int64_t> Call::known_size(const ec::Tensor* x, int64_t axis) {
  if (x == nullptr || !x->shape() || axis < 0 || axis >= std::ssize(x->shape()->dims()))
    return std::nullopt;
  const Dim& dim = (*x->shape())[static_cast<size_t>(axis)];
  return dim.is_static() ? std::optional(dim.size()) : std::nullopt;
}

int64_t Call::size(const ec::Tensor* x, int64_t axis) {
  if (const auto known = known_size(x, axis)) return *known;
  if (x == nullptr) {
    remember(missing_operand());
    return 1;
  }
  if (x->shape() && (axis < 0 || axis >= std::ssize(x->shape()->dims()))) {
    remember(fail(Code::ShapeMismatch, "an operand has too few dimensions: " + x->type().text()));
    return 1;
  }
  remember(fail(Code::DynamicShape,
                "size " + std::to_string(axis) + " of " + x->type().text() + " has to be known")
               .hint("give the sizes of the inputs with --input-shape"));
  return 1;
}

// --- building -----------------------------------------------------------------------------------

Result<Tensors> Call::add_many(OpKind kind, Tensors inputs, Attrs attrs, size_t num_outputs) {
  if (error_) return Error(error_->diagnostic());
  if (graph().operation_id_bound() - first_operation_ > kMaxCallOperations)
    return fail(Code::TooLarge, "the call becomes too many operations");
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.location = site_.location;
  spec.num_outputs = num_outputs;
  EC_TRY(Operation * op, graph().add(kind, std::move(inputs), std::move(spec)));
  if (auto constants = fold(graph(), *op, kMaxFoldBytes)) {
    for (const ec::Tensor* constant : *constants) make_room(constant->raw_data().size());
    if (error_) return Error(error_->diagnostic());
    graph().erase(op);
    return std::move(*constants);
  }
  return op->outputs();
}

ec::Tensor* Call::computed(ec::Tensor* x) {
  Operation* op = x->producer();
  if (op == nullptr || op->outputs().size() != 1) return x;
  size_t most = kMaxWeightBytes;
  if (site_.made != nullptr) most = std::min(most, site_.made->most - site_.made->bytes);
  const auto constants = fold(graph(), *op, most);
  if (constants) make_room(constants->front()->raw_data().size());
  return constants ? constants->front() : x;
}

bool Call::make_room(size_t bytes) {
  if (site_.made == nullptr) return true;
  if (bytes <= site_.made->most - site_.made->bytes) {
    site_.made->bytes += bytes;
    return true;
  }
  remember(fail(Code::TooLarge, "the program computes too many constants"));
  return false;
}

Result<ec::Tensor*> Call::add(OpKind kind, Tensors inputs, Attrs attrs) {
  EC_TRY(const Tensors results, add_many(kind, std::move(inputs), std::move(attrs), 1));
  return results.front();
}

Result<ec::Tensor*> Call::cast(ec::Tensor* x, DType to) {
  if (x == nullptr) return missing_operand();
  if (x->dtype() == to) return x;
  CastAttrs attrs;
  attrs.to = to;
  return add(OpKind::Cast, {x}, attrs);
}

Result<ec::Tensor*> Call::reshape(ec::Tensor* x, ec::Tensor* shape) {
  ReshapeAttrs attrs;
  attrs.allow_zero = true;
  return add(OpKind::Reshape, {x, shape}, attrs);
}

Result<ec::Tensor*> Call::reshape(ec::Tensor* x, const Ints& shape) {
  return reshape(x, int_list(shape));
}

Result<ec::Tensor*> Call::transpose(ec::Tensor* x, Ints perm) {
  if (std::ranges::is_sorted(perm)) return x;
  TransposeAttrs attrs;
  attrs.perm = std::move(perm);
  return add(OpKind::Transpose, {x}, attrs);
}

Result<ec::Tensor*> Call::swap_axes(ec::Tensor* x, int64_t a, int64_t b) {
  Ints perm(static_cast<size_t>(rank(x)));
  std::iota(perm.begin(), perm.end(), 0);
  if (perm.empty()) return x;
  if (std::min(a, b) < 0 || std::max(a, b) >= std::ssize(perm))
    return fail(Code::ShapeMismatch, "an operand has too few dimensions: " + x->type().text());
  std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  return transpose(x, std::move(perm));
}

Result<ec::Tensor*> Call::unsqueeze(ec::Tensor* x, const Ints& axes) {
  return axes.empty() ? x : add(OpKind::Unsqueeze, {x, int_list(axes)});
}

Result<ec::Tensor*> Call::squeeze(ec::Tensor* x, const Ints& axes) {
  return axes.empty() ? x : add(OpKind::Squeeze, {x, int_list(axes)});
}

Result<ec::Tensor*> Call::slice(ec::Tensor* x, int64_t axis, int64_t begin, int64_t end,
                                int64_t step) {
  return add(OpKind::Slice,
             {x, int_list({begin}), int_list({end}), int_list({axis}), int_list({step})});
}

Result<ec::Tensor*> Call::expand(ec::Tensor* x, ec::Tensor* shape) {
  return add(OpKind::Expand, {x, shape});
}

Result<ec::Tensor*> Call::concat(Tensors parts, int64_t axis) {
  if (parts.size() == 1) return parts.front();
  AxisAttrs attrs;
  attrs.axis = axis;
  return add(OpKind::Concat, std::move(parts), attrs);
}

Result<ec::Tensor*> Call::fill(ec::Tensor* shape, ec::Tensor* value) {
  return add(OpKind::Fill, {shape, value});
}

Result<ec::Tensor*> Call::shape_of(ec::Tensor* x) {
  if (x->type().is_static()) return int_list(x->shape()->sizes());
  return add(OpKind::Shape, {x}, ShapeAttrs{});
}

Result<ec::Tensor*> Call::gather(ec::Tensor* x, ec::Tensor* index, int64_t axis) {
  GatherAttrs attrs;
  attrs.axis = axis;
  return add(OpKind::Gather, {x, index}, attrs);
}

Result<ec::Tensor*> Call::binary(OpKind kind, const TensorRef& a, const TensorRef& b) {
  const DType dtype = result_type(std::vector{a, b});
  EC_TRY(ec::Tensor * x, cast(a.tensor, dtype));
  EC_TRY(ec::Tensor * y, cast(b.tensor, dtype));
  return add(kind, {x, y});
}

Result<std::vector<TorchValue>> Call::ops(std::string_view name, std::vector<TorchValue> args,
                                          const NamedValues& kwargs) {
  return call(site_, name, args, kwargs);
}

Result<ec::Tensor*> Call::op(std::string_view name, std::vector<TorchValue> args,
                             const NamedValues& kwargs) {
  EC_TRY(const std::vector<TorchValue> results, ops(name, std::move(args), kwargs));
  if (results.empty() || !results.front().is_tensor())
    return fail(Code::Internal, std::string(name) + " gives no tensor");
  return results.front().tensor();
}

// --- problems -----------------------------------------------------------------------------------

Error Call::fail(Code code, std::string message) const { return Error(code, std::move(message)); }

void Call::remember(Error error) {
  if (!error_) error_ = std::move(error);
}

Status Call::status() { return error_ ? Status(*std::exchange(error_, std::nullopt)) : Status(); }

}  // namespace ec::torch
