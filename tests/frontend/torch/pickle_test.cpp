#include "formats/torch/pickle.h"

#include <gtest/gtest.h>

#include "formats/torch/tensor_data.h"
#include "frontend/torch/archive_builder.h"

namespace ec::torch::testing {
namespace {

Result<Pickle> read(const std::string& bytes, PickleMode mode = PickleMode::Load) {
  return Pickle::read(std::as_bytes(std::span<const char>(bytes.data(), bytes.size())), mode);
}

Code refusal(const std::string& bytes) {
  const auto result = read(bytes);
  return result.ok() ? Code{} : result.error().code();
}

TEST(Pickle, ReadsPlainValues) {
  const std::string body = "(" + text("a\xc3\xa4") + "K\x07M\x01\x02J\xff\xff\xff\xff" +
                           std::string("\x8a\x05\x00\x00\x00\x00\x01", 7) +
                           std::string("G\x3f\xf8\x00\x00\x00\x00\x00\x00", 9) + "N\x88\x89t";
  const auto pickle = read(testing::pickle(body));
  ASSERT_TRUE(pickle.ok()) << pickle.error().message();
  const PickleNode& root = (*pickle)[pickle->root()];
  ASSERT_EQ(root.kind, PickleKind::Tuple);
  ASSERT_EQ(root.items.size(), 9u);
  const auto item = [&](size_t i) -> const PickleNode& { return (*pickle)[root.items[i]]; };
  EXPECT_EQ(item(0).text, "a\xc3\xa4");
  EXPECT_EQ(item(1).integer, 7);
  EXPECT_EQ(item(2).integer, 513);
  EXPECT_EQ(item(3).integer, -1);
  EXPECT_EQ(item(4).integer, int64_t{1} << 32);
  EXPECT_EQ(item(5).real, 1.5);
  EXPECT_EQ(item(6).kind, PickleKind::None);
  EXPECT_TRUE(item(7).flag);
  EXPECT_FALSE(item(8).flag);
}

TEST(Pickle, SharesWhatTheMemoHolds) {
  const auto pickle = read(testing::pickle("(]q\x01h\x01t"));
  ASSERT_TRUE(pickle.ok());
  const PickleNode& root = (*pickle)[pickle->root()];
  EXPECT_EQ(root.items[0], root.items[1]);
}

TEST(Pickle, BuildsObjectsAndTensors) {
  const auto pickle =
      read(testing::pickle(object("M", {{"w", tensor("FloatStorage", "0", {2, 2}, {1, 2}, 4)}})));
  ASSERT_TRUE(pickle.ok()) << pickle.error().message();
  const PickleNode& root = (*pickle)[pickle->root()];
  ASSERT_EQ(root.kind, PickleKind::Object);
  EXPECT_EQ(root.text, "__torch__.M");
  const PickleNode* weight = pickle->find((*pickle)[root.items[0]], "w");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->kind, PickleKind::Tensor);
}

TEST(Pickle, RefusesWhatCouldRunCode) {
  EXPECT_EQ(refusal(pickle(global("os", "system") + tuple({text("true")}) + "R")),
            Code::UnsafePickle);
  EXPECT_EQ(refusal(pickle(global("builtins", "eval") + tuple({text("1")}) + "R")),
            Code::UnsafePickle);
  EXPECT_EQ(refusal(pickle(global("my.module", "Class") + ")\x81")), Code::UnsafePickle);
  // INST, OBJ, EXT1 and STACK_GLOBAL are instructions that PyTorch never writes.
  for (const char opcode : {'i', 'o', '\x82', '\x93'})
    EXPECT_EQ(refusal(pickle(std::string(1, opcode))), Code::UnsafePickle) << int{opcode};
  // A call of a value, and of a harmless class.
  EXPECT_EQ(refusal(pickle(text("system") + ")R")), Code::UnsafePickle);
  // Describing a file names classes, but never what runs programs.
  EXPECT_TRUE(read(pickle(global("my.module", "Class") + ")\x81"), PickleMode::Describe).ok());
  EXPECT_FALSE(read(pickle(global("posix", "system") + ")R"), PickleMode::Describe).ok());
}

TEST(Pickle, RefusesDamage) {
  for (const std::string& body :
       {std::string(""), std::string("t"), std::string("a"), std::string("s"), std::string("\x85"),
        std::string("b"), std::string("R"), std::string("Q"), std::string("h\x05"),
        std::string("X\xff\xff\xff\x7f"), std::string("cname without end"), std::string("NNs"),
        std::string("]K\x01Nu"),
        std::string("(K\x01"
                    "t"
                    "K\x01"
                    "Q")})
    EXPECT_EQ(refusal("\x80\x02" + body), Code::CorruptFile) << body;
}

TEST(Pickle, SurvivesDepth) {
  // A million lists inside each other, and a list that holds itself.
  std::string deep = "]";
  for (int i = 0; i < 1'000'000; ++i) deep += "]";
  for (int i = 0; i < 1'000'000; ++i) deep += "a";
  EXPECT_TRUE(read(pickle(deep)).ok());
  EXPECT_TRUE(read(pickle("]q\x01h\x01"
                          "a"))
                  .ok());
}

// --- tensors -------------------------------------------------------------------------------------

struct TensorFile {
  explicit TensorFile(const std::string& body, std::string data = {}) {
    if (data.empty())
      for (int i = 0; i < 6; ++i) data += little_endian(static_cast<float>(i));
    auto opened = Archive::open(blob_of(zip({{"m/data.pkl", pickle(body)}, {"m/data/0", data}})));
    archive = std::make_unique<Archive>(std::move(*opened));
    auto read_pickle = Pickle::read(archive->read("data.pkl")->bytes());
    this->read = std::make_unique<Pickle>(std::move(*read_pickle));
  }
  Result<TensorData> tensor() {
    return TensorReader(*archive, *read, "data").read((*read)[read->root()]);
  }
  std::unique_ptr<Archive> archive;
  std::unique_ptr<Pickle> read;
};

std::vector<float> floats(const TensorData& data) {
  std::vector<float> values(data.bytes.size() / sizeof(float));
  std::memcpy(values.data(), data.bytes.bytes().data(), data.bytes.size());
  return values;
}

TEST(TensorData, HonoursStridesAndOffsets) {
  const auto plain = TensorFile(tensor("FloatStorage", "0", {2, 3}, {3, 1}, 6)).tensor();
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(floats(*plain), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  const auto turned = TensorFile(tensor("FloatStorage", "0", {3, 2}, {1, 3}, 6)).tensor();
  ASSERT_TRUE(turned.ok());
  EXPECT_EQ(floats(*turned), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  const auto part = TensorFile(tensor("FloatStorage", "0", {2}, {2}, 6, 1)).tensor();
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(floats(*part), (std::vector<float>{1, 3}));
  const auto scalar = TensorFile(tensor("FloatStorage", "0", {}, {}, 6, 5)).tensor();
  ASSERT_TRUE(scalar.ok());
  EXPECT_EQ(floats(*scalar), (std::vector<float>{5}));
}

TEST(TensorData, RefusesWhatLeavesTheStorage) {
  const auto code = [](const std::string& body) {
    const auto result = TensorFile(body).tensor();
    return result.ok() ? Code{} : result.error().code();
  };
  EXPECT_EQ(code(tensor("FloatStorage", "0", {7}, {1}, 7)), Code::CorruptFile);
  EXPECT_EQ(code(tensor("FloatStorage", "0", {2}, {1}, 6, 5)), Code::CorruptFile);
  EXPECT_EQ(code(tensor("FloatStorage", "0", {-1}, {1}, 6)), Code::CorruptFile);
  EXPECT_EQ(code(tensor("FloatStorage", "0", {2}, {-1}, 6)), Code::CorruptFile);
  EXPECT_EQ(code(tensor("FloatStorage", "0", {2, 2}, {1}, 6)), Code::CorruptFile);
  EXPECT_EQ(code(tensor("FloatStorage", "9", {1}, {1}, 6)), Code::CorruptFile);
  EXPECT_EQ(code(tensor("WeirdStorage", "0", {1}, {1}, 6)), Code::UnsupportedType);
  // Strides of zero make a huge tensor of one element.
  EXPECT_EQ(code(tensor("FloatStorage", "0", {1 << 30, 1 << 10}, {0, 0}, 6)), Code::TooLarge);
}

TEST(Archive, RefusesNamesThatLeadOutside) {
  for (const char* name : {"/etc/passwd", "m/../../x", "..", "m/.."})
    EXPECT_FALSE(Archive::open(blob_of(zip({{"m/data.pkl", "x"}, {name, "y"}}))).ok()) << name;
  EXPECT_TRUE(Archive::open(blob_of(zip({{"m/a..b", "x"}}))).ok());
}

TEST(Archive, TakesItsFolderFromTheFirstEntry) {
  const auto archive = Archive::open(blob_of(zip({{"odd name.v2/version", "3\n"}})));
  ASSERT_TRUE(archive.ok());
  EXPECT_TRUE(archive->has("version"));
  EXPECT_FALSE(archive->has("odd name.v2/version"));
}

}  // namespace
}  // namespace ec::torch::testing
