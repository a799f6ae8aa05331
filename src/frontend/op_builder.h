// What front ends build graphs with: operations with a source location, constants, and the small
// rewrites that every format needs. Operations on small constants are computed at once, so that
// arithmetic on sizes leaves no trace.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ops/attrs.h"
#include "support/result.h"

namespace ec {

class TurnedWeights;

class OpBuilder {
 public:
  OpBuilder(Graph& graph, Location location, TurnedWeights* weights = nullptr)
      : graph_(graph), location_(std::move(location)), weights_(weights) {}

  Graph& graph() const { return graph_; }
  const Location& location() const { return location_; }

  // One operation; computed at once when its operands are small constants.
  Result<Tensor*> add(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs = {});
  Result<std::vector<Tensor*>> add_many(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs,
                                        size_t num_outputs);

  Tensor* ints(std::span<const int64_t> values) { return graph_.add_ints("", values); }
  Tensor* ints(std::initializer_list<int64_t> values) {
    return ints(std::span(values.begin(), values.size()));
  }
  Tensor* scalar(DType dtype, double value) { return graph_.add_scalar("", dtype, value); }

  Result<Tensor*> cast(Tensor* x, DType to);
  // A size of -1 is what the others leave; 0 is an empty dimension.
  Result<Tensor*> reshape(Tensor* x, std::span<const int64_t> shape);
  Result<Tensor*> reshape(Tensor* x, std::initializer_list<int64_t> shape) {
    return reshape(x, std::span(shape.begin(), shape.size()));
  }
  Result<Tensor*> reshape(Tensor* x, Tensor* sizes);  // i64
  Result<Tensor*> transpose(Tensor* x, std::vector<int64_t> perm);
  Result<Tensor*> unsqueeze(Tensor* x, std::vector<int64_t> axes);
  Result<Tensor*> squeeze(Tensor* x, std::vector<int64_t> axes);
  Result<Tensor*> concat(std::vector<Tensor*> parts, int64_t axis);
  Result<Tensor*> gather(Tensor* x, Tensor* indices, int64_t axis);
  // Elements [from, to) along one axis.
  Result<Tensor*> slice(Tensor* x, int64_t axis, int64_t from, int64_t to);
  Result<Tensor*> clip(Tensor* x, double low, double high);
  // Weights with their dimensions permuted: constants at once, and constants behind dequantize.
  Result<Tensor*> turned(Tensor* x, const std::vector<int64_t>& perm);
  // The result of an operation on constants, of whatever size, as a constant; else x itself.
  Tensor* computed(Tensor* x);

  Error fail(Code code, std::string message) const {
    return Error(code, std::move(message)).node(std::string(location_.name()), location_.op_type);
  }
  Error unsupported(std::string message) const {
    return fail(Code::UnsupportedOpForm, std::move(message));
  }

 private:
  Graph& graph_;
  Location location_;
  TurnedWeights* weights_;
};

// Removes constants that nothing reads, from the graph and the bodies in it.
void erase_unused_constants(Graph& graph);

}  // namespace ec
