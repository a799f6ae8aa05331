// Weight files and manifests from hand-made bytes.
#include <gtest/gtest.h>

#include <cstring>

#include "formats/coreml/package.h"

namespace ec::coreml {
namespace {

Blob blob(std::string_view text) {
  return Blob::copy_of(std::as_bytes(std::span(text.data(), text.size())));
}

template <class T>
void put(std::string& file, size_t offset, T value) {
  std::memcpy(file.data() + offset, &value, sizeof value);
}

// One blob: metadata at 64, data at 128.
std::string weight_file(uint32_t type, std::string_view data) {
  std::string file(128, '\0');
  put<uint32_t>(file, 0, 1);
  put<uint32_t>(file, 4, 2);
  put<uint32_t>(file, 64, 0xDEADBEEF);
  put<uint32_t>(file, 68, type);
  put<uint64_t>(file, 72, data.size());
  put<uint64_t>(file, 80, 128);
  return file + std::string(data);
}

const WeightRef kRef = {"@model_path/weights/weight.bin", 64};

TEST(CoremlWeights, ReadsElements) {
  const Blob file = blob(weight_file(1, "abcd"));
  const auto data = read_weight(file, kRef, ValueType::tensor(DataType::Float16, {2}));
  ASSERT_TRUE(data.ok()) << data.error().message();
  EXPECT_EQ(data->size(), 4u);
  EXPECT_EQ(data->bytes().data(), file.bytes().data() + 128) << "elements are copied";
  // Five elements of three bits take two bytes.
  EXPECT_TRUE(
      read_weight(blob(weight_file(12, "ab")), kRef, ValueType::tensor(DataType::UInt3, {5})).ok());
}

TEST(CoremlWeights, RefusesWhatDoesNotFit) {
  const auto code = [](const std::string& file, const WeightRef& ref, const ValueType& type) {
    const auto data = read_weight(blob(file), ref, type);
    return data.ok() ? Code::Internal : data.error().code();
  };
  const ValueType halves = ValueType::tensor(DataType::Float16, {2});
  const std::string good = weight_file(1, "abcd");
  EXPECT_EQ(code(good, {kRef.file, 128}, halves), Code::BadTensorData);  // the data's own offset
  EXPECT_EQ(code(good, {kRef.file, ~uint64_t{0}}, halves), Code::BadTensorData);
  EXPECT_EQ(code(good, {kRef.file, 132}, halves), Code::BadTensorData);
  EXPECT_EQ(code(good, kRef, ValueType::tensor(DataType::Float32, {1})), Code::BadTensorData);
  EXPECT_EQ(code(good, kRef, ValueType::tensor(DataType::Float16, {3})), Code::BadTensorData);
  EXPECT_EQ(code(good, kRef, ValueType::tensor(DataType::Float16, {kUnknownSize})),
            Code::BadTensorData);
  std::string behind = good;
  put<uint64_t>(behind, 80, 130);
  EXPECT_EQ(code(behind, kRef, halves), Code::BadTensorData);
  std::string other = good;
  put<uint32_t>(other, 4, 1);
  EXPECT_EQ(code(other, kRef, halves), Code::CorruptFile);
  EXPECT_EQ(code("", kRef, halves), Code::CorruptFile);
}

TEST(CoremlWeights, FillsValuesOfNestedBlocks) {
  Model model;
  model.program.emplace();
  Operation constant;
  constant.type = "const";
  Value value;
  value.type = ValueType::tensor(DataType::Float16, {2});
  value.weight = kRef;
  constant.attributes.emplace_back("val", value);
  Operation user;
  user.inputs.emplace_back("data",
                           std::vector<Binding>{{"", std::make_shared<const Value>(value)}});
  Operation loop;
  loop.blocks.emplace_back().operations = {constant, user};
  model.program->functions["main"].block.operations.push_back(loop);
  const Blob file = blob(weight_file(1, "abcd"));
  ASSERT_TRUE(resolve_weights(model, file).ok());
  const Block& nested = model.program->functions["main"].block.operations[0].blocks[0];
  EXPECT_EQ(nested.operations[0].attribute("val")->data.size(), 4u);
  EXPECT_EQ(nested.operations[1].input("data")->at(0).literal->data.size(), 4u);
}

std::string manifest(std::string_view path, std::string_view version = "1.0.0") {
  return R"({"fileFormatVersion": ")" + std::string(version) +
         R"(", "itemInfoEntries": {"A": {"path": ")" + std::string(path) +
         R"(", "name": "model.mlmodel", "author": "com.apple.CoreML", "description": ""}},
            "rootModelIdentifier": "A"})";
}

TEST(CoremlManifest, FindsTheModel) {
  const auto path = model_path_of(blob(manifest("com.apple.CoreML/model.mlmodel")));
  ASSERT_TRUE(path.ok()) << path.error().message();
  EXPECT_EQ(*path, kModelPath);
}

TEST(CoremlManifest, RefusesOthers) {
  for (const std::string& text :
       {manifest("../secret"), manifest("/etc/passwd"), manifest("a/../../b"), manifest(""),
        manifest("a", "2.0.0"), std::string("{"), std::string("[]"), std::string("{}"),
        std::string(R"({"fileFormatVersion": "1.0.0", "rootModelIdentifier": "B",
                        "itemInfoEntries": {"A": {"path": "x"}}})"),
        std::string(R"({"fileFormatVersion": "1.0.0", "rootModelIdentifier": "A",
                        "itemInfoEntries": {"A": 3}})")})
    EXPECT_FALSE(model_path_of(blob(text)).ok()) << text;
}

}  // namespace
}  // namespace ec::coreml
