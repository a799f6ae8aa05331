#include "support/utf8.h"

#include <gtest/gtest.h>

#include "ir/graph.h"

namespace ec {
namespace {

TEST(Utf8, KeepsWhatIsValid) {
  for (const char* text : {"", "plain", "gr\xC3\xBC\xC3\x9F", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"})
    EXPECT_EQ(valid_utf8(text), text);
}

TEST(Utf8, ReplacesWhatIsNot) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(valid_utf8("a\xFF"), "a" + mark);
  EXPECT_EQ(valid_utf8("\xC3"), mark);                        // cut off
  EXPECT_EQ(valid_utf8("\xC0\x80"), mark + mark);             // overlong
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), mark + mark + mark);  // a surrogate
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), mark + mark + mark + mark);
  EXPECT_FALSE(is_valid_utf8("\xE2\x82"));
}

TEST(Utf8, NamesOfAGraphAreText) {
  Graph graph("g\xFF");
  const Tensor* a = graph.add_input("\xFF", TensorType(DType::F32, Shape{1}));
  const Tensor* b = graph.add_input("\xFE", TensorType(DType::F32, Shape{1}));
  EXPECT_TRUE(is_valid_utf8(graph.name()));
  EXPECT_TRUE(is_valid_utf8(a->name()));
  EXPECT_TRUE(is_valid_utf8(b->name()));
  EXPECT_NE(a->name(), b->name());
}

}  // namespace
}  // namespace ec
