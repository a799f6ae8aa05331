#include "formats/tflite/sparse.h"

#include <algorithm>
#include <cstring>

#include "formats/tflite/check_tensor.h"

namespace ec::tflite {
namespace {

Error bad(std::string message) {
  return Error(Code::BadTensorData, "sparse tensor: " + std::move(message));
}

// One of the three widths that index lists are stored in.
std::vector<int64_t> read_indices(SparseIndexVector type, const void* list) {
  std::vector<int64_t> out;
  const auto copy = [&](const auto* table) {
    if (table != nullptr && table->values() != nullptr)
      out.assign(table->values()->begin(), table->values()->end());
  };
  if (type == SparseIndexVector::Int32Vector) copy(static_cast<const Int32Vector*>(list));
  if (type == SparseIndexVector::Uint16Vector) copy(static_cast<const Uint16Vector*>(list));
  if (type == SparseIndexVector::Uint8Vector) copy(static_cast<const Uint8Vector*>(list));
  return out;
}

struct Level {
  bool dense = true;
  int64_t size = 0;               // of dense levels, and the bound of indices of the others
  std::vector<int64_t> segments;  // children of node i: indices[segments[i]..segments[i + 1])
  std::vector<int64_t> indices;
};

class Densifier {
 public:
  Densifier(const Tensor& tensor, const Blob& values)
      : tensor_(tensor), sparsity_(*tensor.sparsity()), values_(values) {}

  Result<Blob> run(size_t limit) {
    const int bits = element_bits(tensor_.type());
    if (bits < 8) return bad("elements of less than a byte");
    width_ = static_cast<size_t>(bits) / 8;
    const int64_t elements = *count_elements(tensor_.shape());
    if (static_cast<uint64_t>(elements) > limit / width_)
      return Error(Code::TooLarge,
                   "sparse tensor: its dense form exceeds " + std::to_string(limit) + " bytes");
    EC_CHECK_OK(read_levels());
    ec::Buffer buffer = ec::Buffer::allocate(static_cast<size_t>(elements) * width_);
    if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for a sparse tensor");
    out_ = buffer.bytes();
    position_.resize(levels_.size());
    EC_CHECK_OK(walk(0, 0));
    return std::move(buffer).to_blob();
  }

 private:
  Status read_levels() {
    const auto* shape = tensor_.shape();
    rank_ = size_of(shape);
    const size_t blocks = size_of(sparsity_.block_map());
    const size_t count = size_of(sparsity_.dim_metadata());
    if (count != rank_ + blocks || size_of(sparsity_.traversal_order()) != count)
      return bad("the numbers of levels and dimensions differ");
    std::vector<bool> seen(count);
    for (const int32_t dim : *sparsity_.traversal_order()) {
      if (dim < 0 || static_cast<size_t>(dim) >= count || seen[static_cast<size_t>(dim)])
        return bad("the traversal order is no permutation");
      seen[static_cast<size_t>(dim)] = true;
    }
    for (uint32_t i = 0; i < blocks; ++i) {
      const int32_t dim = sparsity_.block_map()->Get(i);
      if (dim < 0 || static_cast<size_t>(dim) >= rank_) return bad("a block has no dimension");
      block_map_.push_back(static_cast<size_t>(dim));
    }
    return read_metadata();
  }

  Status read_metadata() {
    for (const DimensionMetadata* meta : *sparsity_.dim_metadata()) {
      Level level;
      level.dense = meta->format() == DimensionType::DENSE;
      level.size = meta->dense_size();
      // Without empty levels every step of the walk ends at a value, of which the file has as many.
      if (level.dense && level.size < 1) return bad("a level is empty");
      if (!level.dense) {
        level.segments = read_indices(meta->array_segments_type(), meta->array_segments());
        level.indices = read_indices(meta->array_indices_type(), meta->array_indices());
        const auto end = static_cast<int64_t>(level.indices.size());
        for (size_t i = 0; i < level.segments.size(); ++i)
          if (level.segments[i] < (i > 0 ? level.segments[i - 1] : 0) || level.segments[i] > end)
            return bad("segments are out of order");
      }
      levels_.push_back(std::move(level));
    }
    return {};
  }

  Status walk(size_t depth, int64_t node) {
    if (depth == levels_.size()) return store(node);
    const Level& level = levels_[depth];
    if (level.dense) {
      for (int64_t i = 0; i < level.size; ++i) {
        position_[depth] = i;
        EC_CHECK_OK(walk(depth + 1, node * level.size + i));
      }
      return {};
    }
    const auto at = static_cast<size_t>(node);
    if (at + 1 >= level.segments.size()) return bad("a segment is missing");
    for (int64_t i = level.segments[at]; i < level.segments[at + 1]; ++i) {
      position_[depth] = level.indices[static_cast<size_t>(i)];
      EC_CHECK_OK(walk(depth + 1, i));
    }
    return {};
  }

  // The element that the path leads to. Values are stored in the order of the walk; every visit
  // consumes one, so that the walk ends with the values.
  Status store(int64_t node) {
    const auto value = static_cast<size_t>(node);
    if (value >= values_.size() / width_) return bad("fewer values than the levels need");
    std::vector<int64_t> index(rank_, 0);
    const auto order = [&](size_t i) {
      return static_cast<size_t>(
          sparsity_.traversal_order()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    };
    for (size_t i = 0; i < levels_.size(); ++i)
      if (order(i) < rank_) index[order(i)] = position_[i];
    for (size_t i = 0; i < levels_.size(); ++i) {
      if (order(i) < rank_) continue;
      int64_t& dim = index[block_map_[order(i) - rank_]];
      if (dim > INT32_MAX) return bad("an index leaves the shape");
      dim = dim * levels_[i].size + position_[i];
    }
    size_t offset = 0;
    for (size_t d = 0; d < rank_; ++d) {
      const int64_t size = tensor_.shape()->Get(static_cast<flatbuffers::uoffset_t>(d));
      if (index[d] < 0 || index[d] >= size) return bad("an index leaves the shape");
      offset = offset * static_cast<size_t>(size) + static_cast<size_t>(index[d]);
    }
    std::memcpy(out_.data() + offset * width_, values_.bytes().data() + value * width_, width_);
    return {};
  }

  const Tensor& tensor_;
  const SparsityParameters& sparsity_;
  const Blob& values_;
  size_t rank_ = 0, width_ = 1;
  std::vector<size_t> block_map_;
  std::vector<Level> levels_;
  std::vector<int64_t> position_;
  std::span<std::byte> out_;
};

}  // namespace

Result<Blob> dense_data(const Tensor& tensor, const Blob& values, size_t limit) {
  return Densifier(tensor, values).run(limit);
}

}  // namespace ec::tflite
