#include "analysis/costs.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <unordered_set>

#include "ops/attrs.h"

namespace ec {
namespace {

using Count = std::optional<int64_t>;

Count times(Count a, Count b) { return a && b ? checked_mul(*a, *b) : std::nullopt; }
Count plus(Count a, Count b) { return a && b ? checked_add(*a, *b) : std::nullopt; }

Count elements(const Tensor* tensor) {
  return tensor ? tensor->type().num_elements() : std::nullopt;
}

// Dimension i, counted from the back when negative.
Count dim(const Tensor* tensor, int64_t i) {
  if (!tensor || !tensor->shape()) return std::nullopt;
  const Shape& shape = *tensor->shape();
  if (i < 0) i += static_cast<int64_t>(shape.rank());
  if (i < 0 || i >= static_cast<int64_t>(shape.rank())) return std::nullopt;
  const Dim& d = shape[static_cast<size_t>(i)];
  return d.is_static() ? Count(d.size()) : std::nullopt;
}

// Weights are [O, I/g, k...] or [O, k..., I/g]: each output element reads one filter.
Count conv_macs(const Operation& op) {
  const Count filters = dim(op.input(1), 0), weights = elements(op.input(1));
  if (!filters || !weights || *filters <= 0) return std::nullopt;
  return times(elements(op.output()), *weights / *filters);
}

// Weights are [I, ...]: each input element meets the filters of its channel.
Count conv_transpose_macs(const Operation& op) {
  const Count channels = dim(op.input(1), 0), weights = elements(op.input(1));
  if (!channels || !weights || *channels <= 0) return std::nullopt;
  return times(elements(op.input(0)), *weights / *channels);
}

Count matmul_macs(const Operation& op) {
  const bool transposed = op.attrs_as<MatMulAttrs>().transpose_a;
  const bool vector = op.input(0)->shape() && op.input(0)->shape()->rank() == 1;
  return times(elements(op.output()), dim(op.input(0), transposed && !vector ? -2 : -1));
}

Count gemm_macs(const Operation& op) {
  return times(elements(op.output()),
               dim(op.input(0), op.attrs_as<GemmAttrs>().transpose_a ? 0 : 1));
}

// The product of all index sizes, for two operands and plain letters; others count as unknown.
Count einsum_macs(const Operation& op) {
  const std::string& equation = op.attrs_as<EinsumAttrs>().equation;
  if (op.inputs().size() != 2) return op.inputs().size() == 1 ? Count(0) : std::nullopt;
  std::array<int64_t, 128> sizes;
  sizes.fill(-1);
  size_t operand = 0, axis = 0;
  for (const char c : std::string_view(equation).substr(0, equation.find("->"))) {
    if (c == ' ') continue;
    if (c == ',') {
      ++operand, axis = 0;
      continue;
    }
    const auto letter = static_cast<unsigned char>(c);
    const Count size = dim(op.input(operand), static_cast<int64_t>(axis++));
    if (!size || letter >= sizes.size() || c == '.') return std::nullopt;
    sizes[letter] = std::max(sizes[letter], *size);
  }
  Count product = 1;
  for (const int64_t size : sizes)
    if (size >= 0) product = times(product, size);
  return product;
}

// Scores: query elements x keys. Weighted values: output elements x keys. Heads share the last
// dimension of the packed form [batch, length, heads * size], which changes no product.
Count attention_macs(const Operation& op) {
  const Tensor *q = op.input(0), *k = op.input(1), *past = op.input(4);
  if (!q || !q->shape() || !k) return std::nullopt;
  Count keys = dim(k, q->shape()->rank() == 3 ? 1 : 2);
  if (past) keys = plus(keys, dim(past, 2));
  return times(plus(elements(q), elements(op.output())), keys);
}

// Per step, direction and batch element: gates x hidden x (input + hidden).
Count recurrent_macs(const Operation& op) {
  const Tensor* x = op.input(0);
  const bool batch_first = op.attrs_as<RecurrentAttrs>().batch_first;
  const Count steps = dim(x, batch_first ? 1 : 0), batch = dim(x, batch_first ? 0 : 1);
  // w: [directions, gates * hidden, input], r: [directions, gates * hidden, hidden].
  return times(times(steps, batch), plus(elements(op.input(1)), elements(op.input(2))));
}

// Every row of x, a batch element at a step, meets each matrix once.
Count rows_times_matrices(const Operation& op, std::initializer_list<size_t> matrices) {
  const Count all = elements(op.input(0)), row = dim(op.input(0), -1);
  if (!all || !row || *row <= 0) return std::nullopt;
  Count weights = 0;
  for (const size_t i : matrices)
    if (op.input(i) != nullptr) weights = plus(weights, elements(op.input(i)));
  return times(*all / *row, weights);
}

// Operands 1 to 8 are the gates' matrices, 16 is the projection.
Count lstm_sequence_macs(const Operation& op) {
  return rows_times_matrices(op, {1, 2, 3, 4, 5, 6, 7, 8, 16});
}

}  // namespace

std::optional<int64_t> count_macs(const Operation& op) {
  switch (op.kind()) {
    case OpKind::Conv:
    case OpKind::DeformConv:
      return conv_macs(op);
    case OpKind::ConvTranspose:
      return conv_transpose_macs(op);
    case OpKind::MatMul:
      return matmul_macs(op);
    case OpKind::Gemm:
      return gemm_macs(op);
    case OpKind::Einsum:
      return einsum_macs(op);
    case OpKind::Attention:
      return attention_macs(op);
    case OpKind::Lstm:
    case OpKind::Gru:
    case OpKind::Rnn:
      return recurrent_macs(op);
    case OpKind::LstmSequence:
      return lstm_sequence_macs(op);
    case OpKind::RnnSequence:
    case OpKind::Svdf:
      return rows_times_matrices(op, {1, 2});
    case OpKind::Custom:
      return std::nullopt;  // nobody knows what it computes
    default:
      return 0;
  }
}

int64_t constant_bytes(const Operation& op) {
  int64_t bytes = 0;
  for (const Tensor* input : op.inputs())
    if (input != nullptr && input->is_constant())
      bytes += static_cast<int64_t>(input->raw_data().size());
  return bytes;
}

int64_t constant_bytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Tensor* tensor : graph.tensors())
    if (tensor->is_constant()) bytes += static_cast<int64_t>(tensor->raw_data().size());
  for (const Operation* op : graph.topological())
    for (const auto& body : op->bodies()) bytes += constant_bytes(*body);
  return bytes;
}

namespace {

int64_t add_memory(const Graph& graph, std::unordered_set<const std::byte*>& seen) {
  int64_t bytes = 0;
  for (const Tensor* tensor : graph.tensors())
    if (tensor->is_constant() && seen.insert(tensor->raw_data().bytes().data()).second)
      bytes += static_cast<int64_t>(tensor->raw_data().size());
  for (const Operation* op : graph.topological())
    for (const auto& body : op->bodies()) bytes += add_memory(*body, seen);
  return bytes;
}

}  // namespace

int64_t constant_memory(const Graph& graph) {
  std::unordered_set<const std::byte*> seen;
  return add_memory(graph, seen);
}

}  // namespace ec
