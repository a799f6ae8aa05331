#include "frontend/turned_weights.h"

#include <gtest/gtest.h>

namespace ec {
namespace {

// 0, 1, 2 ... as i32, lying `offset` bytes behind an aligned address.
Tensor* numbers(Graph& graph, const Shape& shape, size_t count, size_t offset) {
  std::vector<int32_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<int32_t>(i);
  Buffer buffer = Buffer::allocate(count * sizeof(int32_t) + offset);
  std::ranges::copy(std::as_bytes(std::span(values)), buffer.data() + offset);
  Blob blob = std::move(buffer).to_blob();
  return graph.add_constant("w", TensorType(DType::I32, shape),
                            blob.slice(offset, blob.size() - offset));
}

TEST(TurnedWeights, AreTurnedFromUnalignedBytesAndMadeOnce) {
  for (const size_t offset : {0u, 1u, 3u}) {
    Graph graph("g");
    Tensor* stored = numbers(graph, Shape{2, 3, 5}, 30, offset);
    WeightMemory memory(1000);
    size_t room = 200;
    TurnedWeights weights(room, memory);
    Tensor* turned = weights.permuted(graph, stored, {2, 0, 1});
    ASSERT_NE(turned, nullptr);
    EXPECT_EQ(turned->type().text(), "i32[5,2,3]");
    EXPECT_EQ(turned->name(), "w");
    const auto values = turned->values<int32_t>();
    for (int32_t k = 0; k < 5; ++k)
      for (int32_t i = 0; i < 2; ++i)
        for (int32_t j = 0; j < 3; ++j)
          EXPECT_EQ(values[static_cast<size_t>((k * 2 + i) * 3 + j)], (i * 3 + j) * 5 + k);
    EXPECT_EQ(weights.permuted(graph, stored, {2, 0, 1}), turned);
    // Another order is beyond the room, and no permutation is none.
    EXPECT_EQ(weights.permuted(graph, stored, {1, 0, 2}), nullptr);
    EXPECT_EQ(weights.permuted(graph, stored, {0, 0, 2}), nullptr);
    EXPECT_EQ(weights.permuted(graph, stored, {0, 1}), nullptr);
  }
}

TEST(WeightMemory, SharesPiecesWithinWhatIsExpected) {
  WeightMemory memory(1000);
  const auto first = memory.take(100), second = memory.take(100), large = memory.take(5000);
  EXPECT_EQ(second.bytes.data() - first.bytes.data(), 128);
  EXPECT_TRUE(second.blob.is_aligned(Blob::kAlignment));
  EXPECT_EQ(large.blob.size(), 5000u);
  EXPECT_GE(first.blob.use_count(), 2);
  EXPECT_TRUE(memory.take(0).blob.empty());
  EXPECT_TRUE(memory.take(SIZE_MAX - 8).blob.empty());
}

}  // namespace
}  // namespace ec
