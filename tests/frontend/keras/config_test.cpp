// Configurations: JSON as Python writes it, names of classes, places of tensors.
#include "frontend/keras/config.h"

#include <gtest/gtest.h>

namespace ec::keras {
namespace {

TEST(KerasValue, ReadsPythonJson) {
  const auto value = parse_json(R"({"a": [1, 2.5, NaN, -Infinity], "NaN": "Infinity \" NaN", "t":
    {"class_name": "__tuple__", "config": {"value": [3, 4]}}})");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ((*value)["a"].items().size(), 4u);
  EXPECT_TRUE((*value)["a"].items()[2].is_none());
  EXPECT_EQ((*value)["NaN"].as_text(), "Infinity \" NaN");
  EXPECT_EQ((*value)["t"].items()[1].as_int(), 4);
}

TEST(KerasValue, RefusesDepthAndDamage) {
  EXPECT_EQ(parse_json(std::string(100000, '[')).error().code(), Code::TooDeep);
  EXPECT_EQ(parse_json("{\"a\": ").error().code(), Code::CorruptFile);
  EXPECT_EQ(parse_json("").error().code(), Code::CorruptFile);
}

TEST(KerasConfig, NamesClassesAsKeras) {
  for (const auto& [name, snake] : {std::pair{"Conv2D", "conv2d"},
                                    {"PReLU", "p_re_lu"},
                                    {"UpSampling2D", "up_sampling2d"},
                                    {"ConvLSTM2D", "conv_lstm2d"},
                                    {"LeakyReLU", "leaky_re_lu"},
                                    {"LSTM", "lstm"},
                                    {"GroupedQueryAttention", "grouped_query_attention"},
                                    {"InputLayer", "input_layer"},
                                    {"TFOpLambda", "tf_op_lambda"}})
    EXPECT_EQ(snake_case(name), snake);
}

TEST(KerasConfig, ReadsTheReleaseThatWroteAFile) {
  EXPECT_EQ(read_release("3.15.1"), (Release{3, 15}));
  EXPECT_EQ(read_release("2.4.0"), (Release{2, 4}));
  EXPECT_EQ(read_release("1.2.2").generation, 2);
  EXPECT_LT(read_release("3.5.0"), (Release{3, 8}));
  for (const char* unknown : {"", "3", "new", "3.x", "3.-1"})
    EXPECT_GT(read_release(unknown), (Release{3, 15})) << unknown;
}

TEST(KerasConfig, TellsOperationsFromLayers) {
  const auto read = [](const char* text) { return read_layer(*parse_json(text)); };
  EXPECT_TRUE(
      read(R"({"module": "keras.src.ops.numpy", "class_name": "Add", "config": {"name": "add"},
                       "registered_name": "Add"})")
          .is_operation);
  EXPECT_FALSE(
      read(R"({"module": "keras.layers", "class_name": "Add", "config": {}})").is_operation);
  const LayerConfig custom = read(R"({"module": null, "class_name": "Net", "config": {},
                                      "registered_name": "demo>Net"})");
  EXPECT_EQ(custom.package, "demo");
  EXPECT_EQ(custom.class_name, "Net");
}

}  // namespace
}  // namespace ec::keras
