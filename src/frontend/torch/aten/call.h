// What a conversion sees of one call: the arguments under the names of its signature, and the graph
// to build into. Arguments fit their types when a conversion starts; what is wrong beyond that (a
// size that is not known, a dimension out of range) is remembered and ends the call after the
// conversion returns, so that conversions read arguments without ceremony.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/torch/aten/operators.h"
#include "frontend/torch/aten/schema.h"
#include "ops/attrs.h"

namespace ec::torch {

using Tensors = std::vector<ec::Tensor*>;
using Ints = std::vector<int64_t>;

class Call {
 public:
  Call(const CallSite& site, const Schema& schema, std::vector<TorchValue> args)
      : site_(site),
        schema_(schema),
        args_(std::move(args)),
        first_operation_(site.graph->operation_id_bound()) {}

  const CallSite& site() const { return site_; }
  const Schema& schema() const { return schema_; }
  ec::Graph& graph() const { return *site_.graph; }

  // --- arguments --------------------------------------------------------------------------------
  const TorchValue& arg(std::string_view name) const;
  bool has_arg(std::string_view name) const { return schema_.find(name) != nullptr; }
  bool has(std::string_view name) const { return has_arg(name) && !arg(name).is_none(); }
  // Numbers become 0-d constants. Null for None.
  ec::Tensor* tensor(std::string_view name);
  TensorRef ref(std::string_view name);
  Tensors tensors(std::string_view name);  // of a list; null where an item is None
  int64_t integer(std::string_view name);
  int64_t integer(std::string_view name, int64_t if_none);
  double number(std::string_view name);
  double number(std::string_view name, double if_none);
  bool boolean(std::string_view name, bool if_none = false);
  std::string text(std::string_view name);
  // A list of known integers; one number for a list of `count` stands for all of them.
  Ints ints(std::string_view name, size_t count = 0);
  std::vector<double> numbers(std::string_view name);
  DType dtype(std::string_view name, DType if_none);
  // Sizes, open ones included, as a tensor i64[n]; constant when all are known.
  Result<ec::Tensor*> sizes(const std::vector<TorchValue>& items);
  Result<ec::Tensor*> sizes(std::string_view name);
  // Items of a list; a single number is a list of one.
  std::vector<TorchValue> items(std::string_view name) const;

  // --- shapes -----------------------------------------------------------------------------------
  int64_t rank(const ec::Tensor* x);  // an error when it is not known, then 0
  // A dimension in [-rank, rank) to [0, rank); scalars have dimensions -1 and 0.
  int64_t axis(int64_t dim, int64_t rank);
  int64_t dim(std::string_view name, int64_t rank) { return axis(integer(name), rank); }
  // Sorted, each once; all of them when the argument is None or empty.
  Ints dims(std::string_view name, int64_t rank);
  // A static size; an error when it is open or the axis does not exist, then 1.
  int64_t size(const ec::Tensor* x, int64_t axis);
  // The size where it is known and the axis exists; no error is remembered.
  static std::optional<int64_t> known_size(const ec::Tensor* x, int64_t axis);
  bool is_static(const ec::Tensor* x) const { return x->type().is_static(); }

  // --- building ---------------------------------------------------------------------------------
  // Nothing is built once an error is remembered: what stands for a refused argument is no size,
  // axis or operand to compute with.
  // One operation; computed at once when its operands are small constants.
  Result<ec::Tensor*> add(OpKind kind, Tensors inputs, Attrs attrs = {});
  Result<Tensors> add_many(OpKind kind, Tensors inputs, Attrs attrs, size_t num_outputs);
  // A constant with the values of x where x is computed from constants, of whatever size; else x.
  ec::Tensor* computed(ec::Tensor* x);
  ec::Tensor* int_list(std::span<const int64_t> values) {
    make_room(values.size_bytes());
    return graph().add_ints("", values);
  }
  // Counts a constant that is about to be made; an error is remembered when there are too many
  // bytes of them. False: it must not be made.
  bool make_room(size_t bytes);
  ec::Tensor* int_list(std::initializer_list<int64_t> values) {
    return int_list(std::span(values.begin(), values.size()));
  }
  ec::Tensor* scalar(DType dtype, double value) { return graph().add_scalar("", dtype, value); }
  ec::Tensor* floats(Shape shape, std::span<const float> values) {
    return graph().add_constant<float>("", std::move(shape), values);
  }
  Result<ec::Tensor*> cast(ec::Tensor* x, DType to);  // x itself when it has the type
  Result<ec::Tensor*> reshape(ec::Tensor* x, const Ints& shape);
  // The shape is what torch means: 0 is an empty dimension.
  Result<ec::Tensor*> reshape(ec::Tensor* x, ec::Tensor* shape);
  Result<ec::Tensor*> transpose(ec::Tensor* x, Ints perm);
  Result<ec::Tensor*> swap_axes(ec::Tensor* x, int64_t a, int64_t b);
  Result<ec::Tensor*> unsqueeze(ec::Tensor* x, const Ints& axes);
  Result<ec::Tensor*> squeeze(ec::Tensor* x, const Ints& axes);
  Result<ec::Tensor*> slice(ec::Tensor* x, int64_t axis, int64_t begin, int64_t end,
                            int64_t step = 1);
  Result<ec::Tensor*> expand(ec::Tensor* x, ec::Tensor* shape);
  Result<ec::Tensor*> concat(Tensors parts, int64_t axis);
  Result<ec::Tensor*> fill(ec::Tensor* shape, ec::Tensor* value);
  Result<ec::Tensor*> shape_of(ec::Tensor* x);  // i64[rank], constant when static
  Result<ec::Tensor*> gather(ec::Tensor* x, ec::Tensor* index, int64_t axis);
  // Element-wise with PyTorch's promotion of the operands.
  Result<ec::Tensor*> binary(OpKind kind, const TensorRef& a, const TensorRef& b);
  // Another operator of the table, for operators that are made of others.
  Result<ec::Tensor*> op(std::string_view name, std::vector<TorchValue> args,
                         const NamedValues& kwargs = {});
  Result<std::vector<TorchValue>> ops(std::string_view name, std::vector<TorchValue> args,
                                      const NamedValues& kwargs = {});

  // --- problems ---------------------------------------------------------------------------------
  Error fail(Code code, std::string message) const;
  Error unsupported(std::string message) const {
    return fail(Code::UnsupportedOpForm, std::move(message));
  }
  void remember(Error error);  // the first one counts
  Status status();

 private:
  const CallSite& site_;
  const Schema& schema_;
  std::vector<TorchValue> args_;
  const size_t first_operation_;
  std::optional<Error> error_;
};

// The numbers of a list that is known.
std::optional<int64_t> known_int(const TorchValue& value);
std::optional<double> known_number(const TorchValue& value);

}  // namespace ec::torch
