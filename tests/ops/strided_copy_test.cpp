#include "ops/strided_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "ops/convert.h"
#include "support/blob.h"

namespace ec {
namespace {

// The definition, element by element.
void plain_copy(std::byte* dst, const std::vector<int64_t>& dst_strides, const std::byte* src,
                const std::vector<int64_t>& src_strides, const std::vector<int64_t>& shape,
                size_t bytes) {
  if (count_elements(shape) == 0) return;
  IndexWalker walker(shape);
  do {
    std::memcpy(dst + walker.offset(dst_strides) * static_cast<int64_t>(bytes),
                src + walker.offset(src_strides) * static_cast<int64_t>(bytes), bytes);
  } while (walker.next());
}

std::vector<std::byte> random_bytes(size_t n, std::mt19937& random) {
  std::vector<std::byte> bytes(n);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

TEST(StridedCopy, EveryPermutationOfFourDimensions) {
  std::mt19937 random(1);
  const std::vector<std::vector<int64_t>> shapes = {{2, 3, 5, 4},   {1, 17, 33, 3}, {2, 16, 8, 32},
                                                    {3, 1, 20, 19}, {1, 64, 1, 67}, {3, 3, 16, 80}};
  for (const size_t bytes : {1, 2, 4, 8}) {
    for (const auto& shape : shapes) {
      const auto n = static_cast<size_t>(count_elements(shape)) * bytes;
      const std::vector<std::byte> src = random_bytes(n, random);
      const std::vector<int64_t> strides = row_major_strides(shape);
      std::vector<size_t> perm = {0, 1, 2, 3};
      do {
        std::vector<int64_t> out_shape, from;
        for (const size_t axis : perm) {
          out_shape.push_back(shape[axis]);
          from.push_back(strides[axis]);
        }
        std::vector<std::byte> got(n), expected(n);
        const std::vector<int64_t> to = row_major_strides(out_shape);
        strided_copy(got.data(), to, src.data(), from, out_shape, bytes);
        plain_copy(expected.data(), to, src.data(), from, out_shape, bytes);
        ASSERT_EQ(got, expected) << bytes << " bytes, perm " << perm[0] << perm[1] << perm[2]
                                 << perm[3];
        // Lines of the cache are only whole where the bytes are aligned like them.
        Buffer past = Buffer::allocate(n);
        strided_copy(past.data(), to, src.data(), from, out_shape, bytes, NextUse::Later);
        ASSERT_TRUE(std::ranges::equal(past.bytes(), expected));
      } while (std::next_permutation(perm.begin(), perm.end()));
    }
  }
}

TEST(StridedCopy, RandomStridesOnTheSource) {
  std::mt19937 random(2);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 500; ++round) {
    const size_t bytes = size_t{1} << pick(0, 3);
    std::vector<int64_t> shape(static_cast<size_t>(pick(0, 4)));
    std::vector<int64_t> from;
    int64_t low = 0, high = 0;
    for (int64_t& size : shape) {
      size = pick(1, 20);
      from.push_back(pick(-6, 6));
      (from.back() < 0 ? low : high) += from.back() * (size - 1);
    }
    const std::vector<std::byte> src =
        random_bytes(static_cast<size_t>(high - low + 1) * bytes, random);
    const std::byte* base = src.data() - low * static_cast<int64_t>(bytes);
    const auto n = static_cast<size_t>(count_elements(shape)) * bytes;
    std::vector<std::byte> got(n), expected(n);
    const std::vector<int64_t> to = row_major_strides(shape);
    strided_copy(got.data(), to, base, from, shape, bytes);
    plain_copy(expected.data(), to, base, from, shape, bytes);
    ASSERT_EQ(got, expected) << "round " << round;
  }
}

TEST(StridedCopy, EmptyShapesTouchNothing) {
  const int64_t shape[] = {4, 0, INT64_MAX};
  const int64_t strides[] = {1, 1, 1};
  strided_copy(nullptr, strides, nullptr, strides, shape, 4);
}

TEST(FillElements, AnySizeAndCount) {
  const std::byte element[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  for (const int64_t count : {0, 1, 2, 5, 6000, 20000}) {
    std::vector<std::byte> got(static_cast<size_t>(count) * 3 + 1, std::byte{9});
    fill_elements(got.data(), element, 3, count);
    for (size_t i = 0; i + 1 < got.size(); ++i) ASSERT_EQ(got[i], element[i % 3]) << i;
    EXPECT_EQ(got.back(), std::byte{9});
  }
}

}  // namespace
}  // namespace ec
