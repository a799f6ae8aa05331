#include "frontend/turned_weights.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

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

// Part of a stored tensor: along each axis, where it begins and how many indices it has.
struct Box {
  std::vector<int64_t> begin, count;

  // The box that follows, the last axis first; false behind the last one. Boxes at the end of an
  // axis are smaller.
  bool advance(const std::vector<int64_t>& sizes, const std::vector<int64_t>& most) {
    for (size_t axis = sizes.size(); axis-- > 0;) {
      begin[axis] += count[axis];
      if (begin[axis] < sizes[axis]) {
        count[axis] = std::min(most[axis], sizes[axis] - begin[axis]);
        return true;
      }
      begin[axis] = 0;
      count[axis] = std::min(most[axis], sizes[axis]);
    }
    return false;
  }
};

// A tensor with its dimensions permuted. Parts of the stored tensor are turned one by one.
class Turn {
 public:
  Turn(std::vector<int64_t> sizes, std::vector<int64_t> perm, size_t element)
      : sizes_(std::move(sizes)),
        perm_(std::move(perm)),
        element_(element),
        from_(strides_of(sizes_)),
        to_(strides_of(in_order(sizes_, perm_))) {}

  // `stored`: the elements of the box alone, in the order of the stored tensor.
  void copy(std::byte* out, const std::byte* stored, const Box& box) const {
    int64_t offset = 0;
    for (size_t i = 0; i < perm_.size(); ++i)
      offset += box.begin[static_cast<size_t>(perm_[i])] * to_[i];
    strided_copy(out + offset * static_cast<int64_t>(element_), to_, stored,
                 in_order(strides_of(box.count), perm_), in_order(box.count, perm_), element_,
                 NextUse::Later);
  }
  // Calls f(offset, length) for each run of bytes of the box, in order.
  template <class F>
  Status for_each_run(const Box& box, F&& f) const {
    // Axes from `axis` on are one run.
    size_t axis = sizes_.size() - 1;
    while (axis > 0 && box.count[axis] == sizes_[axis]) --axis;
    const size_t length = step(axis) * static_cast<size_t>(box.count[axis]);
    std::vector<int64_t> index(axis, 0);
    for (;;) {
      size_t offset = static_cast<size_t>(box.begin[axis]) * step(axis);
      for (size_t i = 0; i < axis; ++i)
        offset += static_cast<size_t>(box.begin[i] + index[i]) * step(i);
      EC_CHECK_OK(f(offset, length));
      size_t i = axis;
      while (i > 0 && ++index[i - 1] == box.count[i - 1]) index[--i] = 0;
      if (i == 0) return {};
    }
  }
  // How many indices of each axis a part of at most `bytes` has: enough for runs of the turned
  // tensor that fill lines of the cache, then as many as fit of what is stored one after the other.
  std::vector<int64_t> part_sizes(size_t bytes) const {
    constexpr int64_t kRun = 64;
    std::vector<int64_t> part(sizes_.size(), 1);
    int64_t room = std::max<int64_t>(1, static_cast<int64_t>(bytes / element_));
    const auto grow = [&](size_t axis, int64_t most) {
      const int64_t others = volume(part) / part[axis];
      part[axis] = std::clamp(std::min(most, room / others), part[axis], sizes_[axis]);
    };
    for (size_t i = perm_.size(); i-- > 0 && volume(part) < kRun;) {
      const auto axis = static_cast<size_t>(perm_[i]);
      grow(axis, (kRun + volume(part) - 1) / volume(part));
    }
    for (size_t axis = sizes_.size(); axis-- > 0;) grow(axis, sizes_[axis]);
    // So that parts begin where lines of the cache do.
    constexpr int64_t kLine = 16;
    for (size_t axis = 0; axis < part.size(); ++axis)
      if (part[axis] < sizes_[axis] && part[axis] > kLine) part[axis] -= part[axis] % kLine;
    return part;
  }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  size_t bytes_of(const std::vector<int64_t>& count) const {
    return static_cast<size_t>(volume(count)) * element_;
  }

 private:
  static int64_t volume(const std::vector<int64_t>& count) {
    return std::accumulate(count.begin(), count.end(), int64_t{1}, std::multiplies<>());
  }
  // Bytes from one index of an axis to the next.
  size_t step(size_t axis) const { return static_cast<size_t>(from_[axis]) * element_; }

  std::vector<int64_t> sizes_, perm_;
  size_t element_;
  std::vector<int64_t> from_, to_;  // strides: stored by axis, turned in the new order
};

// Weights that are turned while they are read, a part that fits the cache after the other.
class TurnedSource final : public ByteSource {
 public:
  TurnedSource(std::shared_ptr<const ByteSource> stored, Turn turn)
      : stored_(std::move(stored)), turn_(std::move(turn)) {}

  Status read(size_t offset, std::span<std::byte> out) const override {
    const size_t whole = turn_.bytes_of(turn_.sizes());
    if (out.size() == whole) return fill(out);
    Buffer turned = Buffer::allocate(whole);
    if (!turned.ok()) return Error(Code::OutOfMemory, "no memory to turn the weights");
    EC_CHECK_OK(fill(turned.bytes()));
    std::memcpy(out.data(), turned.data() + offset, out.size());
    return {};
  }

 private:
  Status fill(std::span<std::byte> out) const {
    constexpr size_t kPart = size_t{512} << 10;
    const std::vector<int64_t> most = turn_.part_sizes(kPart);
    Buffer part = Buffer::allocate(turn_.bytes_of(most));
    if (!part.ok()) return Error(Code::OutOfMemory, "no memory to turn the weights");
    Box box{std::vector<int64_t>(most.size(), 0), most};
    do {
      std::byte* at = part.data();
      EC_CHECK_OK(turn_.for_each_run(box, [&](size_t offset, size_t length) {
        const std::span<std::byte> run(at, length);
        at += length;
        return stored_->read(offset, run);
      }));
      turn_.copy(out.data(), part.data(), box);
    } while (box.advance(turn_.sizes(), most));
    return {};
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
  turn.copy(place.bytes.data(), stored.bytes().data(),
            {std::vector<int64_t>(turn.sizes().size(), 0), turn.sizes()});
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
