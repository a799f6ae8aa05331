// Operations of one place of a source model, built into a graph. What goes wrong is remembered, and
// everything after it does nothing: a conversion is written as plain expressions and asked once at
// its end. Numbers that a conversion goes on with after a failure stand for nothing: an axis is 0
// where there is none, and what could not be built has no dimensions. So lists are changed by axis
// with set(), swapped() and along(), never with []. Operations on small constants are computed at
// once.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "ir/graph.h"
#include "ops/attrs.h"
#include "support/result.h"

namespace ec {

using Tensors = std::vector<Tensor*>;
using Ints = std::vector<int64_t>;

// A size that is known, or that of a tensor's dimension.
struct Size {
  int64_t value = 0;
  Tensor* of = nullptr;
  int64_t axis = 0;

  Size(int64_t v) : value(v) {}  // NOLINT: numbers are sizes
  Size(Tensor* tensor, int64_t a) : of(tensor), axis(a) {}
};
using Sizes = std::vector<Size>;

class GraphBuilder {
 public:
  GraphBuilder(Graph& graph, Location location) : graph_(&graph), location_(std::move(location)) {}

  Graph& graph() const { return *graph_; }
  const Location& location() const { return location_; }

  // Tensors that may still be added, constants included, by all builders of a model: where few
  // bytes of a file say how often something is done, it could else take any memory.
  void share_room(size_t* tensors) { room_ = tensors; }

  // --- problems ---------------------------------------------------------------------------------
  bool ok() const { return !error_; }
  void remember(Error error);  // the first one counts
  Tensor* fail(Code code, std::string message);
  Tensor* unsupported(std::string message) {
    return fail(Code::UnsupportedOpForm, std::move(message));
  }
  Status status();

  // --- shapes -----------------------------------------------------------------------------------
  int64_t rank(const Tensor* x);  // an error when it is not known, then 0
  // An axis in [-rank, rank) to [0, rank).
  int64_t axis(int64_t axis, int64_t rank);
  Ints axes(Ints list, int64_t rank);  // sorted, each once
  bool is_static(const Tensor* x, int64_t axis);
  int64_t size(const Tensor* x, int64_t axis);  // an error when it is open, then 1
  Sizes sizes(Tensor* x);
  // i64[n]; constant when all are known.
  Tensor* shape_list(const Sizes& sizes);

  // --- lists by axis ----------------------------------------------------------------------------

  // Changes one entry; an error where the list has none for the axis.
  template <class T>
  void set(std::vector<T>& list, int64_t axis, std::type_identity_t<T> value) {
    if (axis >= 0 && axis < static_cast<int64_t>(list.size()))
      list[static_cast<size_t>(axis)] = std::move(value);
    else
      no_entry(axis, list.size());
  }
  static Ints in_order(int64_t rank);  // 0, 1, ...
  // In order, but for two axes that change places.
  Ints swapped(int64_t rank, int64_t a, int64_t b);
  // Ones, but for one axis.
  Sizes along(int64_t rank, int64_t axis, Size size);
  // Numbers of elements: an error where they leave 64 bits, then 1.
  int64_t product(int64_t a, int64_t b);

  // --- building ---------------------------------------------------------------------------------
  Tensor* add(OpKind kind, Tensors inputs, Attrs attrs = {});
  Tensors add_many(OpKind kind, Tensors inputs, Attrs attrs, size_t num_outputs);
  // With the weights among the operands, of whatever size: a constant.
  Tensor* add_weight(OpKind kind, Tensors inputs, Attrs attrs = {});

  // Constants; after a failure none are made, whatever a conversion still asks for.
  Tensor* int_list(std::span<const int64_t> values) {
    return may_add(1) ? graph().add_ints("", values) : nothing();
  }
  Tensor* int_list(std::initializer_list<int64_t> values) {
    return int_list(std::span(values.begin(), values.size()));
  }
  Tensor* scalar(DType dtype, double value) {
    return may_add(1) ? graph().add_scalar("", dtype, value) : nothing();
  }
  // A number of the type of x.
  Tensor* like(const Tensor* x, double value) { return scalar(x->dtype(), value); }
  Tensor* floats(Shape shape, std::span<const float> values) {
    return may_add(1) ? graph().add_constant<float>("", std::move(shape), values) : nothing();
  }
  Tensor* cast(Tensor* x, DType to);  // x itself when it has the type
  Tensor* to_float(Tensor* x) { return is_float(x->dtype()) ? x : cast(x, DType::F32); }

  Tensor* plus(Tensor* a, Tensor* b) { return add(OpKind::Add, {a, b}); }
  Tensor* minus(Tensor* a, Tensor* b) { return add(OpKind::Sub, {a, b}); }
  Tensor* times(Tensor* a, Tensor* b) { return add(OpKind::Mul, {a, b}); }
  Tensor* over(Tensor* a, Tensor* b) { return add(OpKind::Div, {a, b}); }
  Tensor* plus(Tensor* a, double b) { return plus(a, like(a, b)); }
  Tensor* minus(Tensor* a, double b) { return minus(a, like(a, b)); }
  Tensor* times(Tensor* a, double b) { return times(a, like(a, b)); }
  Tensor* over(Tensor* a, double b) { return over(a, like(a, b)); }
  Tensor* clip(Tensor* x, std::optional<double> low, std::optional<double> high);

  Tensor* reshape(Tensor* x, const Sizes& shape);
  Tensor* transpose(Tensor* x, Ints perm);
  Tensor* unsqueeze(Tensor* x, const Ints& axes);
  Tensor* squeeze(Tensor* x, const Ints& axes);
  Tensor* slice(Tensor* x, int64_t axis, int64_t begin, int64_t end, int64_t step = 1);
  Tensor* expand(Tensor* x, const Sizes& shape);
  Tensor* concat(Tensors parts, int64_t axis);
  // Equal parts.
  Tensors split(Tensor* x, int64_t axis, int64_t count);
  Tensor* stack(Tensors parts, int64_t axis);
  Tensor* gather(Tensor* x, Tensor* index, int64_t axis);
  Tensor* reverse(Tensor* x, int64_t axis);
  Tensor* reduce(OpKind kind, Tensor* x, const Ints& axes, bool keep_dims);
  Tensor* matmul(Tensor* a, Tensor* b, bool transpose_b = false);
  Tensor* softmax(Tensor* x, int64_t axis);
  Tensor* where(Tensor* condition, Tensor* a, Tensor* b) {
    return add(OpKind::Where, {condition, a, b});
  }
  Tensor* fill(const Sizes& shape, Tensor* value);
  Tensor* pad(Tensor* x, const Ints& begins, const Ints& ends, Tensor* value = nullptr,
              PadMode mode = PadMode::Constant);

 private:
  Tensors add_folding(OpKind kind, Tensors inputs, Attrs attrs, size_t num_outputs, size_t limit);
  bool may_add(size_t tensors);  // not after a failure, and not beyond the room
  Tensor* nothing();             // stands for what could not be built
  void no_entry(int64_t axis, size_t count);

  Graph* graph_;
  Location location_;
  std::optional<Error> error_;
  size_t* room_ = nullptr;
  Tensor* nothing_ = nullptr;
};

}  // namespace ec
