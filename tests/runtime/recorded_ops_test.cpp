// Single TFLite operators with the results of LiteRT's reference kernels, recorded by
// tests/interop/op_sweep.py --record. Integers must be equal bit by bit, with the kernels of the op
// table and with the fast ones of every instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "formats/npy/npy.h"
#include "frontend/tflite/tflite.h"
#include "recorded_dir.h"
#include "runtime/session.h"
#include "support/input_file.h"

namespace ec {
namespace {

DType dtype_of(const npy::Array& array) {
  if (array.kind == 'b') return DType::Bool;
  if (array.kind == 'f') return DType::F32;
  const bool is_signed = array.kind == 'i';
  switch (array.item_size) {
    case 1:
      return is_signed ? DType::I8 : DType::U8;
    case 2:
      return DType::I16;
    case 4:
      return DType::I32;
    default:
      return DType::I64;
  }
}

Value load_value(const std::filesystem::path& file, const std::string& name) {
  auto array = npy::load_from_npz(file, name);
  EXPECT_TRUE(array.ok()) << name;
  return Value(dtype_of(*array), array->shape, array->data.aligned());
}

void expect_same(const Value& got, const Value& expected, const std::string& name) {
  ASSERT_EQ(got.type().text(), expected.type().text()) << name;
  if (got.dtype != DType::F32) {
    EXPECT_TRUE(got.data == expected.data) << name << " differs";
    return;
  }
  float largest = 0.0f, worst = 0.0f;
  const auto a = got.as<float>(), b = expected.as<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(b[i]));
    worst = std::max(worst, std::fabs(a[i] - b[i]));
  }
  EXPECT_LE(worst, 1e-5f * largest) << name;
}

struct How {
  std::string name;
  SessionOptions options;
};

std::vector<How> ways() {
  std::vector<How> all{{"reference", {}}};
  all[0].options.reference = true;
  for (const auto isa : {kernels::Isa::Generic, kernels::Isa::Avx2, kernels::Isa::Avx512}) {
    if (!kernels::isa_available(isa)) continue;
    SessionOptions options;
    options.isa = isa;
    all.push_back({std::string(kernels::isa_name(isa)), options});
  }
  return all;
}

class Recorded : public testing::TestWithParam<std::string> {};

TEST_P(Recorded, EqualsLiteRt) {
  const std::filesystem::path model = EC_RECORDED_DIR "/" + GetParam() + ".tflite";
  const std::filesystem::path arrays = EC_RECORDED_DIR "/" + GetParam() + ".npz";
  const auto file = read_file(model);
  ASSERT_TRUE(file.ok());
  const auto names = npy::npz_names(arrays);
  ASSERT_TRUE(names.ok());
  std::vector<NamedValue> inputs;
  for (const std::string& name : *names)
    if (name.starts_with("in/")) inputs.push_back({name.substr(3), load_value(arrays, name)});
  for (const How& how : ways()) {
    SCOPED_TRACE(how.name);
    DiagnosticSink sink;
    auto graph = import_tflite(*file, model, {}, sink);
    ASSERT_TRUE(graph.ok()) << format_diagnostic(graph.error().diagnostic());
    auto session = Session::create(std::move(*graph), how.options);
    ASSERT_TRUE(session.ok()) << format_diagnostic(session.error().diagnostic());
    const auto results = (*session)->run(inputs);
    ASSERT_TRUE(results.ok()) << format_diagnostic(results.error().diagnostic());
    for (size_t i = 0; i < results->size(); ++i) {
      const std::string& name = (*session)->outputs()[i].name;
      expect_same((*results)[i], load_value(arrays, "out/" + name), name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Recorded, testing::Values("i8", "u8", "i16", "hybrid"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace ec
