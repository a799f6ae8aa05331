// Random operands, attributes and extreme numbers for every op: inference and kernels must give a
// result or an error. What they compute is checked elsewhere; this finds crashes, undefined
// behaviour (under the sanitizers), endless loops and memory without bounds.
#include <gtest/gtest.h>

#include <random>

#include "ops/convert.h"
#include "ops/kernel.h"

namespace ec {
namespace {

constexpr size_t kMemoryLimit = size_t{1} << 22;

class Hostile {
 public:
  explicit Hostile(uint32_t seed) : random_(seed) {}

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(pick(0, static_cast<int64_t>(choices.size()) - 1))];
  }

  int64_t number() {
    if (pick(0, 3) > 0) return pick(-2, 4);
    return one_of<int64_t>({INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, int64_t{1} << 62,
                            -(int64_t{1} << 62), int64_t{1} << 32, INT32_MAX, INT32_MIN, 1000,
                            -1000, 65537});
  }

  double real() {
    if (pick(0, 3) > 0) return static_cast<double>(pick(-8, 8)) / 4;
    return one_of<double>({0.0, -0.0, 1e30, -1e30, 1e-30, INFINITY, -INFINITY, NAN, 9.3e18});
  }

  DType dtype() {
    if (pick(0, 2) > 0) return one_of<DType>({DType::F32, DType::I64});
    return one_of<DType>({DType::F32, DType::F16, DType::BF16, DType::F64, DType::I8, DType::U8,
                          DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64,
                          DType::Bool, DType::I4, DType::U2, DType::F8E4M3FN, DType::F8E8M0,
                          DType::F4E2M1});
  }

  std::vector<int64_t> shape(int64_t rank) {
    std::vector<int64_t> sizes;
    for (int64_t d = 0; d < rank; ++d) sizes.push_back(pick(0, 9) == 0 ? 0 : pick(1, 4));
    // Huge sizes need no memory where another one is zero.
    if (rank > 1 && pick(0, 20) == 0) {
      sizes[0] = int64_t{1} << 60;
      sizes[static_cast<size_t>(rank) - 1] = 0;
    }
    return sizes;
  }

  Value value(DType type, std::vector<int64_t> sizes) {
    const auto count = static_cast<size_t>(count_elements(sizes));
    Buffer buffer = Buffer::allocate(count * element_size(type));
    const MutableView view{type, sizes, buffer.data(), nullptr};
    if (is_float(type)) {
      std::vector<double> elements(count);
      for (double& element : elements) element = real();
      store<double>(view, elements);
    } else {
      std::vector<int64_t> elements(count);
      for (int64_t& element : elements) element = number();
      store<int64_t>(view, elements);
    }
    return Value(type, std::move(sizes), std::move(buffer).to_blob());
  }

  void fill(Attrs& attrs) {
    for (const Field& field : attrs.schema().fields)
      if (pick(0, 1) == 0) attrs.set(field, field_value(field));
  }

 private:
  FieldValue field_value(const Field& field) {
    const auto length = static_cast<size_t>(pick(0, 5));
    switch (field.kind) {
      case FieldKind::Int:
        return number();
      case FieldKind::Float:
        return real();
      case FieldKind::Bool:
        return pick(0, 1) == 1;
      case FieldKind::String:
        return one_of<std::string>({"", "ij,jk->ik", "->", "...", "i", "down", "ii->i"});
      case FieldKind::Ints: {
        std::vector<int64_t> list(length);
        for (int64_t& entry : list) entry = number();
        return list;
      }
      case FieldKind::Floats: {
        std::vector<double> list(length);
        for (double& entry : list) entry = real();
        return list;
      }
      case FieldKind::Strings:
        return std::vector<std::string>(length, one_of<std::string>({"Tanh", "Relu", "", "no"}));
      case FieldKind::DType:
        return std::string(dtype_name(dtype()));
      case FieldKind::Enum:
        return std::string(field.choices[static_cast<size_t>(
            pick(0, static_cast<int64_t>(field.choices.size()) - 1))]);
    }
    return int64_t{0};
  }

  std::mt19937 random_;
};

// One operation with random operands: some constants, some inputs, of one type more often than not.
void run_case(const OpDef& def, Hostile& hostile) {
  const Arity arity = def.inputs();
  const int64_t most = arity.max < 0 ? arity.min + 4 : arity.max;
  const int64_t count = hostile.pick(arity.min, most);
  const DType common = hostile.dtype();
  const int64_t rank = hostile.pick(0, 5);
  Graph graph;
  std::vector<Value> values;
  std::vector<Tensor*> operands;
  values.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    if (i >= arity.min && hostile.pick(0, 4) == 0) {
      values.emplace_back();
      operands.push_back(nullptr);
      continue;
    }
    const DType type = hostile.pick(0, 2) > 0 ? common : hostile.dtype();
    const int64_t own_rank = hostile.pick(0, 2) > 0 ? rank : hostile.pick(0, 2);
    values.push_back(hostile.value(type, hostile.shape(own_rank)));
    const Value& value = values.back();
    TensorType known = value.type();
    if (hostile.pick(0, 2) == 0) {
      operands.push_back(graph.add_constant("", std::move(known), value.data));
      continue;
    }
    if (hostile.pick(0, 3) == 0) known.shape.reset();
    for (size_t d = 0; known.shape && d < known.shape->rank(); ++d)
      if (hostile.pick(0, 3) == 0) (*known.shape)[d] = Dim::symbol("N");
    operands.push_back(graph.add_input("", std::move(known)));
  }
  OpSpec spec;
  spec.attrs = Attrs::defaults_of(def.attrs());
  hostile.fill(spec.attrs);
  const Arity results = def.outputs();
  spec.num_outputs =
      static_cast<size_t>(hostile.pick(results.min, results.max < 0 ? 3 : results.max));
  const auto added = graph.add(def.kind, operands, std::move(spec));
  if (!added.ok()) return;
  verify(graph);
  std::vector<const Value*> given;
  for (size_t i = 0; i < operands.size(); ++i)
    given.push_back(operands[i] == nullptr ? nullptr : &values[i]);
  const auto result = evaluate(**added, given, kMemoryLimit);
  if (!result.ok()) return;
  for (const Value& value : *result)
    EXPECT_EQ(value.data.size(),
              static_cast<size_t>(count_elements(value.shape)) * element_size(value.dtype))
        << def.name;
}

class HostileOperands : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(HostileOperands, GiveAResultOrAnError) {
  const OpDef& def = *GetParam();
  Hostile hostile(static_cast<uint32_t>(def.kind) + 1);
  for (int i = 0; i < 400; ++i) run_case(def, hostile);
}

INSTANTIATE_TEST_SUITE_P(Ops, HostileOperands,
                         ::testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& param) { return std::string(param.param->name); });

}  // namespace
}  // namespace ec
