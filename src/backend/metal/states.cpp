#include "backend/metal/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/attrs.h"
#include "ops/convert.h"
#include "passes/rewriter.h"
#include "support/strings.h"

namespace ec::metal {
namespace {

// Integers that half precision holds exactly, and floats.
bool has_half_form(const Tensor* initial) {
  if (!initial->is_constant() || initial->type().quant) return false;
  switch (initial->dtype()) {
    case DType::F32:
    case DType::F16:
    case DType::Bool:
    case DType::I8:
    case DType::U8:
      return true;
    default:
      return false;
  }
}

class HalfStates {
 public:
  explicit HalfStates(Graph& graph) : graph_(graph) {}

  Result<std::vector<std::string>> run() {
    std::vector<Operation*> reads;
    for (Operation* op : graph_.topological())
      if (op->kind() == OpKind::ReadState) reads.push_back(op);
    for (Operation* read : reads) EC_CHECK_OK(convert(read));
    return std::move(told_);
  }

 private:
  struct State {
    std::string name;
    TensorType type;
    Shape kept;                 // at least one dimension
    Tensor* initial = nullptr;  // in single precision; null: zeros
  };

  Status convert(Operation* read) {
    Tensor* initial = read->input(0);
    if (!has_half_form(initial) || !initial->type().is_static()) return {};
    const std::vector<int64_t> sizes = initial->shape()->sizes();
    std::vector<float> values(static_cast<size_t>(count_elements(sizes)));
    load<float>(ConstView{initial->dtype(), sizes, initial->data().bytes().data()}, values);
    const bool zeros = std::ranges::all_of(values, [](float v) { return v == 0; });
    if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) return {};
    State state{read->attrs_as<StateAttrs>().name, initial->type(), *initial->shape(), nullptr};
    if (state.kept.rank() == 0) state.kept = Shape{1};
    if (state.type.dtype == DType::F16 && zeros && sizes.size() == state.kept.rank()) return {};
    if (!zeros)
      state.initial = graph_.add_constant<float>("", state.kept, std::span<const float>(values));
    Operation* write = write_of(state.name);
    EC_CHECK_OK(convert_read(read, state));
    if (write != nullptr) EC_CHECK_OK(convert_write(write, state));
    tell(state);
    return {};
  }

  Operation* write_of(const std::string& name) const {
    for (Operation* op : graph_.topological())
      if (op->kind() == OpKind::WriteState && op->attrs_as<StateAttrs>().name == name) return op;
    return nullptr;
  }

  Result<Tensor*> cast(Tensor* x, DType to) {
    if (x->dtype() == to) return x;
    return graph_.add_single(OpKind::Cast, {x}, CastAttrs{.to = to});
  }
  Result<Tensor*> reshape(Tensor* x, const Shape& shape) {
    if (*x->shape() == shape) return x;
    const std::vector<int64_t> sizes = shape.sizes();
    return graph_.add_single(
        OpKind::Reshape, {x, graph_.add_ints("", std::span<const int64_t>(sizes))}, ReshapeAttrs{});
  }

  Status convert_read(Operation* read, const State& state) {
    const std::vector<int64_t> sizes = state.kept.sizes();
    const std::vector<uint16_t> zeros(static_cast<size_t>(count_elements(sizes)), 0);
    Tensor* start = graph_.add_constant("", TensorType(DType::F16, state.kept),
                                        Blob::copy_of(std::span<const uint16_t>(zeros)));
    EC_TRY(Tensor * value, graph_.add_single(OpKind::ReadState, {start},
                                             StateAttrs{.name = state.name}, read->location()));
    if (state.initial != nullptr || state.type.dtype != DType::F16) {
      EC_TRY(value, cast(value, DType::F32));
    }
    if (state.initial != nullptr) {
      EC_TRY(value, graph_.add_single(OpKind::Add, {value, state.initial}));
    }
    EC_TRY(value, cast(value, state.type.dtype));
    EC_TRY(value, reshape(value, *state.type.shape));
    Tensor* initial = read->input(0);
    graph_.replace_all_uses(read->output(), value);
    graph_.erase(read);
    if (graph_.is_unused(initial)) graph_.erase(initial);
    return {};
  }

  Status convert_write(Operation* write, const State& state) {
    Tensor* written = write->input(0);
    const Location location = write->location();
    graph_.replace_all_uses(write->output(), written);
    graph_.erase(write);
    EC_TRY(Tensor * value, reshape(written, state.kept));
    if (state.initial != nullptr || state.type.dtype != DType::F16) {
      EC_TRY(value, cast(value, DType::F32));
    }
    if (state.initial != nullptr) {
      EC_TRY(value, graph_.add_single(OpKind::Sub, {value, state.initial}));
    }
    EC_TRY(value, cast(value, DType::F16));
    EC_TRY(
        [[maybe_unused]] const Tensor* kept,
        graph_.add_single(OpKind::WriteState, {value}, StateAttrs{.name = state.name}, location));
    return {};
  }

  void tell(const State& state) {
    if (state.initial != nullptr)
      told_.push_back(fmt::format(
          "the state '{}' does not start from zeros: the package keeps its difference from where "
          "it starts",
          printable(state.name, 100)));
    else if (state.type.dtype == DType::F32)
      told_.push_back(fmt::format("the state '{}' is kept in half precision between runs",
                                  printable(state.name, 100)));
  }

  Graph& graph_;
  std::vector<std::string> told_;
};

}  // namespace

Result<std::vector<std::string>> give_half_states(Graph& graph) { return HalfStates(graph).run(); }

}  // namespace ec::metal
