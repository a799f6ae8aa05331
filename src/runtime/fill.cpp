#include "runtime/fill.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/convert.h"
#include "support/budget.h"

namespace ec {
namespace {

// splitmix64: the same values on every machine and with every standard library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

constexpr int64_t kBlock = 1 << 16;

double random_element(DType dtype, Random& random) {
  if (is_float(dtype)) return random.unit();
  const int bits = bit_width(dtype);
  if (dtype == DType::Bool || bits >= 32) return static_cast<double>(random.next() & 1);
  const double span = std::exp2(bits);
  const double base = is_signed_integer(dtype) ? -span / 2 : 0.0;
  return base + std::floor(random.unit() * span);
}

}  // namespace

std::optional<Fill> fill_from_name(std::string_view name) {
  if (name == "zeros") return Fill::Zeros;
  if (name == "ones") return Fill::Ones;
  if (name == "random") return Fill::Random;
  return std::nullopt;
}

Result<Value> make_value(DType dtype, std::span<const int64_t> shape, Fill fill, uint64_t seed) {
  const TensorType type(dtype, Shape::of(shape));
  const std::optional<int64_t> bytes = type.num_bytes();
  if (bytes) EC_CHECK_OK(check_room(static_cast<size_t>(*bytes)));
  Buffer buffer = bytes ? Buffer::allocate(static_cast<size_t>(*bytes)) : Buffer();
  if (!bytes || !buffer.ok())
    return Error(Code::OutOfMemory, "no memory for a value of type " + type.text());
  const std::vector<int64_t> sizes(shape.begin(), shape.end());
  // Block by block: a value of the largest size that fits must not need twice more on the way.
  const int64_t count = count_elements(sizes), block = bit_width(dtype) < 8 ? count : kBlock;
  Random random(seed);
  std::vector<double> elements;
  for (int64_t first = 0; first < count; first += block) {
    EC_CHECK_OK(check_budget());
    elements.assign(static_cast<size_t>(std::min(block, count - first)),
                    fill == Fill::Ones ? 1.0 : 0.0);
    if (fill == Fill::Random)
      for (double& element : elements) element = random_element(dtype, random);
    const int64_t part[] = {static_cast<int64_t>(elements.size())};
    const auto offset = static_cast<size_t>(first) * element_size(dtype);
    store<double>(MutableView{dtype, part, buffer.data() + offset, nullptr}, elements);
  }
  return Value(dtype, sizes, std::move(buffer).to_blob());
}

}  // namespace ec
