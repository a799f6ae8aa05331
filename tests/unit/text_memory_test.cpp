#include "support/text_memory.h"

#include <gtest/gtest.h>

#include <string>

namespace ec {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

std::string repeated(std::string_view piece, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += piece;
  return text;
}

TEST(TextMemory, OrdinaryJsonPasses) {
  EXPECT_TRUE(check_json(R"({"a": [1, 2, {"b": "c"}], "d": null})", 40).ok());
  EXPECT_TRUE(check_json("", 0).ok());
  EXPECT_TRUE(check_json("\"", 1).ok());
  EXPECT_TRUE(check_json("\"\\", 2).ok());
  EXPECT_TRUE(check_json("]]]}}}", 6).ok());
  // Numbers of some digits, as in statistics.
  const std::string numbers = "[" + repeated("0.123456789012,", 2 * kMegabyte) + "0]";
  EXPECT_TRUE(check_json(numbers, numbers.size()).ok());
}

TEST(TextMemory, JsonThatBecomesFarMoreIsTooLarge) {
  const std::string lists = "[" + repeated("[],", kMegabyte) + "[]]";
  EXPECT_EQ(check_json(lists, lists.size()).error().code(), Code::TooLarge);
  // The file around it may be larger, as an archive with weights is.
  EXPECT_TRUE(check_json(lists, 100 * kMegabyte).ok());
  // Brackets in a text are text.
  const std::string text = "\"" + repeated("[],\\\"", kMegabyte) + "\"";
  EXPECT_TRUE(check_json(text, text.size()).ok());
}

TEST(TextMemory, MembersThatAreLeftOutDoNotCount) {
  const std::string outline = R"("segmentation": [)" + repeated("[],", kMegabyte) + "[]]";
  const std::string_view kept[] = {"images", "id"};
  const std::string text = R"({"images": [{"id": 1, )" + outline + R"(}, {"id": 2}]})";
  EXPECT_TRUE(check_json(text, text.size(), kept).ok());
  EXPECT_EQ(check_json(text, text.size()).error().code(), Code::TooLarge);
  const std::string after =
      R"({"images": [{"segmentation": 1, "id": [)" + repeated("[],", kMegabyte) + "[]]}]}";
  EXPECT_EQ(check_json(after, after.size(), kept).error().code(), Code::TooLarge);
}

TEST(TextMemory, DeepJsonIsTooDeep) {
  EXPECT_TRUE(check_json(repeated("[", 200) + repeated("]", 200), 400).ok());
  EXPECT_EQ(check_json(repeated("[", 201), 201).error().code(), Code::TooDeep);
  EXPECT_EQ(check_json(repeated("{\"a\":", 300), 1500).error().code(), Code::TooDeep);
}

TEST(TextMemory, LinesOneByOne) {
  LineReader reader("a\n\nb");
  std::string_view line;
  std::vector<std::string> lines;
  while (reader.next(line)) lines.emplace_back(line);
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(reader.number(), 3u);
}

}  // namespace
}  // namespace ec
