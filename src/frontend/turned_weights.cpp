#include "frontend/turned_weights.h"

#include <algorithm>

#include "ops/strided_copy.h"

namespace ec {
namespace {

bool is_permutation(std::vector<int64_t> perm, size_t rank) {
  std::ranges::sort(perm);
  for (size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<int64_t>(i)) return false;
  return perm.size() == rank;
}

TensorType turned_type(const TensorType& type, const std::vector<int64_t>& perm) {
  TensorType turned = type;
  for (size_t i = 0; i < perm.size(); ++i)
    (*turned.shape)[i] = (*type.shape)[static_cast<size_t>(perm[i])];
  return turned;
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

}  // namespace

Blob turned_bytes(const Tensor& constant, const std::vector<int64_t>& perm, WeightMemory& memory) {
  const Blob& stored = constant.raw_data();
  const WeightMemory::Place place = memory.take(stored.size());
  if (place.bytes.empty()) return {};
  const std::vector<int64_t> sizes = constant.shape()->sizes(), from = strides_of(sizes);
  std::vector<int64_t> shape, source;
  for (const int64_t axis : perm) {
    shape.push_back(sizes[static_cast<size_t>(axis)]);
    source.push_back(from[static_cast<size_t>(axis)]);
  }
  strided_copy(place.bytes.data(), strides_of(shape), stored.bytes().data(), source, shape,
               element_size(constant.dtype()));
  return place.blob;
}

Tensor* TurnedWeights::permuted(Graph& graph, Tensor* tensor, const std::vector<int64_t>& perm) {
  const auto found = known_.find({tensor, perm});
  if (found != known_.end()) return found->second;
  const size_t bytes = tensor->raw_data().size();
  if (bytes > room_ || !tensor->type().is_static() || tensor->type().quant ||
      !is_permutation(perm, tensor->shape()->rank()))
    return nullptr;
  Blob data = turned_bytes(*tensor, perm, memory_);
  if (data.size() != bytes) return nullptr;
  room_ -= bytes;
  std::string name = tensor->name();
  // The turned form takes the name over: the other one is rarely read.
  graph.rename(tensor, name + "/stored");
  Tensor* moved =
      graph.add_constant(std::move(name), turned_type(tensor->type(), perm), std::move(data));
  known_.emplace(std::pair(tensor, perm), moved);
  return moved;
}

}  // namespace ec
