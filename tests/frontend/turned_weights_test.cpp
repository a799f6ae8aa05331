#include "frontend/turned_weights.h"

#include <gtest/gtest.h>

#include <cstring>

#include "frontend/load_weights.h"
#include "frontend/op_builder.h"
#include "support/deferred_bytes.h"

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

// Numbers as they would stand in a file.
class NumberFile final : public ByteSource {
 public:
  Status read(size_t offset, std::span<std::byte> out) const override {
    if (broken) return Error(Code::FileUnreadable, "gone");
    largest_read = std::max(largest_read, out.size());
    bytes_read += out.size();
    for (size_t i = 0; i < out.size(); i += sizeof(int32_t)) {
      const auto number = static_cast<int32_t>((offset + i) / sizeof(int32_t));
      std::memcpy(out.data() + i, &number, sizeof number);
    }
    return {};
  }
  bool broken = false;
  mutable size_t largest_read = 0, bytes_read = 0;
};

Tensor* deferred_numbers(Graph& graph, const Shape& shape,
                         const std::shared_ptr<const NumberFile>& file) {
  const TensorType type(DType::I32, shape);
  return graph.add_constant("w", type, deferred_blob(static_cast<size_t>(*type.num_bytes()), file));
}

// Kernels of several slabs, with slabs that end inside an axis, and one that is a single row.
TEST(TurnedWeights, OfAFileAreReadOnceIntoTheirNewOrder) {
  const std::pair<std::vector<int64_t>, std::vector<int64_t>> kCases[] = {
      {{3, 3, 190, 170}, {3, 0, 1, 2}},
      {{1, 1, 700, 601}, {3, 2, 0, 1}},
      {{2, 2, 50, 60}, {2, 3, 0, 1}},
      {{400001, 2}, {1, 0}},
      {{2, 300007}, {1, 0}}};
  for (const auto& [sizes, perm] : kCases) {
    const auto file = std::make_shared<const NumberFile>();
    Graph graph("g"), plain("p");
    WeightMemory memory(1000);
    size_t room = size_t{64} << 20;
    TurnedWeights weights(room, memory);
    const Shape shape = Shape::of(sizes);
    Tensor* turned = weights.permuted(graph, deferred_numbers(graph, shape, file), perm);
    ASSERT_NE(turned, nullptr);
    EXPECT_EQ(file->bytes_read, 0u);
    graph.add_output("y", turned);
    erase_unused_constants(graph);
    ASSERT_TRUE(load_weights(graph).ok());
    const size_t bytes = turned->raw_data().size();
    EXPECT_EQ(file->bytes_read, bytes);
    EXPECT_LE(file->largest_read, size_t{512} << 10);
    EXPECT_EQ(unread_source(turned->raw_data()), nullptr);
    Tensor* stored = numbers(plain, shape, bytes / sizeof(int32_t), 0);
    Tensor* expected = TurnedWeights(room, memory).permuted(plain, stored, perm);
    EXPECT_TRUE(turned->raw_data() == expected->raw_data()) << shape.text();
  }
}

TEST(TurnedWeights, OfTurnedOnesAreRight) {
  const auto file = std::make_shared<const NumberFile>();
  Graph graph("g");
  WeightMemory memory(1000);
  size_t room = 1 << 20;
  TurnedWeights weights(room, memory);
  Tensor* stored = deferred_numbers(graph, Shape{20, 30, 40}, file);
  Tensor* turned = weights.permuted(graph, stored, {2, 0, 1});
  Tensor* back = weights.permuted(graph, turned, {1, 2, 0});
  EXPECT_EQ(back->values<int32_t>()[12345], 12345);
  EXPECT_EQ(stored->values<int32_t>()[12345], 12345) << "typed access reads the bytes";
}

TEST(LoadWeights, ReadsSharedBytesOnceInGraphsOfAllDepths) {
  const auto file = std::make_shared<const NumberFile>();
  Graph graph("g");
  Tensor* first = deferred_numbers(graph, Shape{100, 100}, file);
  Tensor* second = graph.add_constant("v", first->type(), first->raw_data());
  auto body = std::make_unique<Graph>("b");
  Tensor* inner = body->add_constant("w", first->type(), first->raw_data());
  body->add_output("y", inner);
  auto other = body->clone();
  OpSpec spec;
  spec.bodies.push_back(std::move(body));
  spec.bodies.push_back(std::move(other));
  const auto branch = graph.add(
      OpKind::If, {graph.add_input("x", TensorType(DType::Bool, Shape{}))}, std::move(spec));
  ASSERT_TRUE(branch.ok()) << branch.error().message();
  ASSERT_TRUE(load_weights(graph).ok());
  EXPECT_EQ(file->bytes_read, 40000u);
  EXPECT_EQ(first->values<int32_t>()[9999], 9999);
  EXPECT_EQ(first->raw_data().bytes().data(), second->raw_data().bytes().data());
  EXPECT_EQ(first->raw_data().bytes().data(), inner->raw_data().bytes().data());
}

TEST(LoadWeights, TellsWhatCannotBeRead) {
  const auto file = std::make_shared<NumberFile>();
  file->broken = true;
  Graph graph("g");
  deferred_numbers(graph, Shape{100, 100}, file);
  const Status status = load_weights(graph);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::FileUnreadable);
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
