#include "api/arrays.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/fill.h"

namespace ec {
namespace {

constexpr DType kAllTypes[] = {
#define EC_DTYPE(name, text, bytes, bits) DType::name,
    EC_FOR_EACH_DTYPE(EC_DTYPE)
#undef EC_DTYPE
};

TEST(Arrays, EveryElementTypeGoesThroughAFile) {
  const std::vector<int64_t> shape{2, 3};
  for (const DType dtype : kAllTypes) {
    const auto value = make_value(dtype, shape, Fill::Random, 5);
    ASSERT_TRUE(value.ok()) << dtype_name(dtype);
    const npy::Array array = array_from_value(*value);
    EXPECT_EQ(array.item_size, static_cast<int64_t>(element_size(dtype)));
    const auto back = value_from_array(array, dtype);
    ASSERT_TRUE(back.ok()) << dtype_name(dtype) << ": " << back.error().message();
    EXPECT_EQ(back->dtype, dtype);
    EXPECT_EQ(back->shape, shape);
    EXPECT_TRUE(back->data == value->data);
  }
}

TEST(Arrays, AnotherTypeKeepsItsName) {
  const auto value = make_value(DType::F64, std::vector<int64_t>{2}, Fill::Ones, 0);
  const auto back = value_from_array(array_from_value(*value), DType::F32);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->dtype, DType::F64);  // the session refuses it by this name
}

TEST(Arrays, SmallIntegersAreChecked) {
  const int8_t good[] = {-8, 7}, bad[] = {0, 8};
  const std::vector<int64_t> shape{2};
  EXPECT_TRUE(value_from_array({'i', 1, shape, Blob::copy_of<int8_t>(good)}, DType::I4).ok());
  const auto refused = value_from_array({'i', 1, shape, Blob::copy_of<int8_t>(bad)}, DType::I4);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::InputTypeMismatch);
}

TEST(Fill, IsRepeatableAndInRange) {
  const std::vector<int64_t> shape{1000};
  const auto a = make_value(DType::F32, shape, Fill::Random, 1);
  const auto b = make_value(DType::F32, shape, Fill::Random, 1);
  const auto c = make_value(DType::F32, shape, Fill::Random, 2);
  EXPECT_TRUE(a->data == b->data);
  EXPECT_FALSE(a->data == c->data);
  const ValueStatistics floats = value_statistics(*a);
  EXPECT_GE(floats.min, 0.0);
  EXPECT_LT(floats.max, 1.0);
  EXPECT_NEAR(floats.mean, 0.5, 0.05);
  const auto bytes = make_value(DType::I8, shape, Fill::Random, 1);
  EXPECT_LT(value_statistics(*bytes).min, -100);
  EXPECT_GT(value_statistics(*bytes).max, 100);
  const auto indices = make_value(DType::I64, shape, Fill::Random, 1);
  EXPECT_EQ(value_statistics(*indices).min, 0);
  EXPECT_EQ(value_statistics(*indices).max, 1);
}

TEST(Fill, TooLargeIsAnError) {
  const std::vector<int64_t> shape{int64_t{1} << 40, int64_t{1} << 20};
  EXPECT_EQ(make_value(DType::F32, shape, Fill::Zeros, 0).error().code(), Code::OutOfMemory);
}

TEST(Statistics, LeavesOutWhatIsNotFinite) {
  const float values[] = {1, 3, std::numeric_limits<float>::infinity(), std::nanf("")};
  const ValueStatistics s = value_statistics(Value::of<float>({4}, values));
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 3);
  EXPECT_EQ(s.mean, 2);
  EXPECT_EQ(s.not_finite, 2);
  EXPECT_EQ(s.count, 4);
  EXPECT_EQ(value_statistics(Value::of<float>({0}, {})).max, 0);
}

}  // namespace
}  // namespace ec
