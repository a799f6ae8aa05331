#include "frontend/turned_weights.h"

#include <algorithm>
#include <cstring>

#include "ops/strided_copy.h"
#include "support/deferred_bytes.h"

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

template <class T>
std::vector<T> in_order(const std::vector<T>& values, const std::vector<int64_t>& perm) {
  std::vector<T> moved;
  for (const int64_t axis : perm) moved.push_back(values[static_cast<size_t>(axis)]);
  return moved;
}

// A tensor with its dimensions permuted. Parts of the stored tensor are turned one by one.
class Turn {
 public:
  Turn(std::vector<int64_t> sizes, std::vector<int64_t> perm, size_t element)
      : sizes_(std::move(sizes)),
        perm_(std::move(perm)),
        element_(element),
        from_(strides_of(sizes_)),
        to_(strides_of(in_order(sizes_, perm_))) {}

  // The stored elements from index `begin` on, as many along each axis as `count` says.
  void copy(std::byte* out, const std::byte* stored, const std::vector<int64_t>& begin,
            const std::vector<int64_t>& count) const {
    int64_t offset = 0;
    for (size_t i = 0; i < perm_.size(); ++i)
      offset += begin[static_cast<size_t>(perm_[i])] * to_[i];
    strided_copy(out + offset * static_cast<int64_t>(element_), to_, stored, in_order(from_, perm_),
                 in_order(count, perm_), element_);
  }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  // Bytes from one index of an axis to the next.
  size_t step(size_t axis) const { return static_cast<size_t>(from_[axis]) * element_; }

 private:
  std::vector<int64_t> sizes_, perm_;
  size_t element_;
  std::vector<int64_t> from_, to_;  // strides: stored by axis, turned in the new order
};

// Weights that are turned while they are read, a slab that fits the cache after the other.
class TurnedSource final : public ByteSource {
 public:
  TurnedSource(std::shared_ptr<const ByteSource> stored, Turn turn)
      : stored_(std::move(stored)), turn_(std::move(turn)) {}

  Status read(size_t offset, std::span<std::byte> out) const override {
    const size_t whole = turn_.step(0) * static_cast<size_t>(turn_.sizes()[0]);
    if (out.size() == whole) return fill(out);
    Buffer turned = Buffer::allocate(whole);
    if (!turned.ok()) return Error(Code::OutOfMemory, "no memory to turn the weights");
    EC_CHECK_OK(fill(turned.bytes()));
    std::memcpy(out.data(), turned.data() + offset, out.size());
    return {};
  }

 private:
  Status fill(std::span<std::byte> out) const {
    const std::vector<int64_t>& sizes = turn_.sizes();
    // Slabs are some indices of the first axis of which one index is small enough.
    constexpr size_t kSlab = size_t{512} << 10;
    size_t axis = 0;
    while (axis + 1 < sizes.size() && turn_.step(axis) > kSlab) ++axis;
    const int64_t most = std::max<int64_t>(1, static_cast<int64_t>(kSlab / turn_.step(axis)));
    Buffer slab =
        Buffer::allocate(static_cast<size_t>(std::min(most, sizes[axis])) * turn_.step(axis));
    if (!slab.ok()) return Error(Code::OutOfMemory, "no memory to turn the weights");
    std::vector<int64_t> begin(sizes.size(), 0), count = sizes;
    std::fill(count.begin(), count.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    for (size_t at = 0; at < out.size();) {
      count[axis] = std::min(most, sizes[axis] - begin[axis]);
      const std::span<std::byte> part =
          slab.bytes().first(static_cast<size_t>(count[axis]) * turn_.step(axis));
      EC_CHECK_OK(stored_->read(at, part));
      turn_.copy(out.data(), part.data(), begin, count);
      at += part.size();
      advance(begin, axis, count[axis]);
    }
    return {};
  }

  void advance(std::vector<int64_t>& index, size_t axis, int64_t by) const {
    index[axis] += by;
    for (; axis > 0 && index[axis] == turn_.sizes()[axis]; --axis) {
      index[axis] = 0;
      ++index[axis - 1];
    }
  }

  std::shared_ptr<const ByteSource> stored_;
  Turn turn_;
};

}  // namespace

Blob turned_bytes(const Tensor& constant, const std::vector<int64_t>& perm, WeightMemory& memory) {
  Turn turn(constant.shape()->sizes(), perm, element_size(constant.dtype()));
  auto source = unread_source(constant.raw_data());
  // What is turned already is read before it is turned again.
  if (source != nullptr && dynamic_cast<const TurnedSource*>(source.get()) == nullptr)
    return deferred_blob(constant.raw_data().size(),
                         std::make_shared<TurnedSource>(std::move(source), std::move(turn)));
  static_cast<void>(read_deferred(constant.raw_data()));  // the file remembers a fault
  const Blob& stored = constant.raw_data();
  const WeightMemory::Place place = memory.take(stored.size());
  if (place.bytes.empty()) return {};
  turn.copy(place.bytes.data(), stored.bytes().data(), std::vector<int64_t>(turn.sizes().size(), 0),
            turn.sizes());
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
