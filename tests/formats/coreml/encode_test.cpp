// Models to bytes: hand-made bytes come back as they were, every field survives a round trip, and
// weight files share equal contents.
#include <gtest/gtest.h>

#include "formats/coreml/package.h"
#include "message.h"

namespace ec::coreml {
namespace {

Blob blob(std::string_view text) {
  return Blob::copy_of(std::as_bytes(std::span(text.data(), text.size())));
}

Value number_value(DataType type, std::vector<int64_t> dims, std::string_view bytes) {
  Value value;
  value.type = ValueType::tensor(type, std::move(dims));
  value.data = blob(bytes);
  return value;
}

Value text_of(const std::string& text) {
  Value value;
  value.type = ValueType::tensor(DataType::String);
  value.strings = {text};
  return value;
}

// The value as it is after writing and reading, as attribute of the only operation.
Value round_trip(const Value& value) {
  Model model;
  model.specification_version = 7;
  Function& main = model.program.emplace().functions["main"];
  main.opset = "CoreML6";
  Operation& op = main.block.operations.emplace_back();
  op.type = "const";
  op.attributes.emplace_back("val", value);
  const auto read = decode_model(blob(encode_model(model)));
  if (!read.ok()) {
    ADD_FAILURE() << read.error().message();
    return {};
  }
  return *read->program->functions.at("main").block.operations.at(0).attribute("val");
}

TEST(EncodeCoreml, KeepsHandMadeBytes) {
  const Message relu = Message()
                           .bytes(1, "relu")
                           .message(2, entry("x", argument("x")))
                           .message(3, named_type("y", tensor_type(11, {1, 3})));
  const Message bytes = model(
      program(Message().bytes(2, "y").message(3, relu), named_type("x", tensor_type(11, {1, 3}))));
  const auto read = decode_model(bytes.blob());
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(encode_model(*read), bytes.text());
}

TEST(EncodeCoreml, KeepsNumbersOfEveryType) {
  struct Case {
    DataType type;
    int64_t elements;
    size_t bytes;
  };
  for (const Case& c : std::initializer_list<Case>{{DataType::Bool, 3, 3},
                                                   {DataType::Float16, 3, 6},
                                                   {DataType::Float32, 3, 12},
                                                   {DataType::Float64, 3, 24},
                                                   {DataType::Int8, 3, 3},
                                                   {DataType::UInt8, 3, 3},
                                                   {DataType::Int16, 3, 6},
                                                   {DataType::UInt16, 3, 6},
                                                   {DataType::Int32, 3, 12},
                                                   {DataType::UInt32, 3, 12},
                                                   {DataType::Int64, 3, 24},
                                                   {DataType::UInt64, 3, 24},
                                                   {DataType::Int4, 3, 2},
                                                   {DataType::UInt3, 5, 2},
                                                   {DataType::Float32, 0, 0},
                                                   {DataType::Int32, 0, 0}}) {
    std::string bytes(c.bytes, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(251 - 37 * i);
    if (c.type == DataType::Bool) bytes = std::string("\1\0\1", 3);
    const Value value = number_value(c.type, {c.elements}, bytes);
    const Value read = round_trip(value);
    EXPECT_EQ(read.type, value.type);
    EXPECT_EQ(read.data, value.data) << name_of(c.type);
  }
}

TEST(EncodeCoreml, KeepsNestedValues) {
  Value list;
  list.type.kind = ValueType::Kind::List;
  list.type.nested = {ValueType::tensor(DataType::String)};
  list.type.list_length = 2;
  list.items = {text_of("cat"), text_of("")};
  const Value read = round_trip(list);
  EXPECT_EQ(read.type, list.type);
  ASSERT_EQ(read.items.size(), 2u);
  EXPECT_EQ(read.items[0].strings, list.items[0].strings);
  EXPECT_EQ(read.items[1].strings, list.items[1].strings);

  Value dictionary;
  dictionary.type.kind = ValueType::Kind::Dictionary;
  dictionary.type.nested = {ValueType::tensor(DataType::String),
                            ValueType::tensor(DataType::Float64)};
  dictionary.items = {text_of("a"), number_value(DataType::Float64, {}, "01234567")};
  const Value again = round_trip(dictionary);
  EXPECT_EQ(again.type, dictionary.type);
  ASSERT_EQ(again.items.size(), 2u);
  EXPECT_EQ(again.items[1].data, dictionary.items[1].data);

  Value weight;
  weight.type = ValueType::tensor(DataType::Float16, {2});
  weight.weight = WeightRef{.offset = 64};
  const Value referred = round_trip(weight);
  ASSERT_TRUE(referred.weight);
  EXPECT_EQ(referred.weight->offset, 64u);
  EXPECT_EQ(referred.weight->file, "@model_path/weights/weight.bin");
}

Feature array(const std::string& name, ArrayType type, std::vector<int64_t> shape) {
  Feature feature;
  feature.name = name;
  feature.kind = Feature::Kind::MultiArray;
  feature.array = type;
  feature.shape = std::move(shape);
  return feature;
}

// One feature of each kind.
Interface rich_interface() {
  Interface interface;
  Feature x = array("x", ArrayType::Float16, {1, 3});
  x.description = "what comes in";
  x.shape_range = {{1, 8}, {3, -1}};
  x.optional = true;
  x.default_value = 0.5;
  Feature choice = array("choice", ArrayType::Int32, {4});
  choice.enumerated_shapes = {{4}, {8}};
  Feature image;
  image.name = "image";
  image.kind = Feature::Kind::Image;
  image.width = 640;
  image.height = 480;
  image.color = ColorSpace::Bgr;
  image.enumerated_sizes = {{640, 480}, {320, 240}};
  image.size_range = {{{1, 2}, {3, -1}}};
  interface.inputs = {x, choice, image};
  Feature label;
  label.name = "label";
  label.kind = Feature::Kind::String;
  Feature scores;
  scores.name = "scores";
  scores.kind = Feature::Kind::Dictionary;
  scores.string_keys = false;
  interface.outputs = {label, scores};
  Feature state = array("memory", ArrayType::Float16, {2});
  state.kind = Feature::Kind::State;
  interface.states = {state};
  interface.predicted_feature = "label";
  interface.predicted_probabilities = "scores";
  return interface;
}

TEST(EncodeCoreml, KeepsTheInterface) {
  Model model;
  model.specification_version = 9;
  model.interface = rich_interface();
  model.functions["other"] = rich_interface();
  model.default_function = "other";
  model.metadata = {"what it is", "1.2", "somebody", "free", {{"key", "value"}, {"void", ""}}};
  model.program.emplace().functions["main"].opset = "CoreML8";
  const std::string bytes = encode_model(model);
  const auto read = decode_model(blob(bytes));
  ASSERT_TRUE(read.ok()) << read.error().message();
  for (const Interface* kept : {&read->interface, &read->functions.at("other")}) {
    ASSERT_EQ(kept->inputs.size(), 3u);
    const Feature& x = kept->inputs[0];
    EXPECT_EQ(x.name, "x");
    EXPECT_EQ(x.description, "what comes in");
    EXPECT_EQ(x.array, ArrayType::Float16);
    EXPECT_TRUE(x.optional);
    EXPECT_EQ(x.default_value, 0.5);
    ASSERT_EQ(x.shape_range.size(), 2u);
    EXPECT_EQ(x.shape_range[1].upper, -1);
    EXPECT_EQ(kept->inputs[1].enumerated_shapes, (std::vector<std::vector<int64_t>>{{4}, {8}}));
    const Feature& image = kept->inputs[2];
    EXPECT_EQ(image.color, ColorSpace::Bgr);
    EXPECT_EQ(image.enumerated_sizes.at(1).first, 320);
    ASSERT_TRUE(image.size_range);
    EXPECT_EQ(image.size_range->first.upper, 2);
    EXPECT_FALSE(kept->outputs.at(1).string_keys);
    EXPECT_EQ(kept->states.at(0).shape, std::vector<int64_t>{2});
    EXPECT_EQ(kept->predicted_probabilities, "scores");
  }
  EXPECT_EQ(read->default_function, "other");
  EXPECT_EQ(read->metadata.user_defined, model.metadata.user_defined);
  EXPECT_EQ(read->metadata.license, "free");
  EXPECT_EQ(encode_model(*read), bytes);
}

TEST(EncodeCoreml, KeepsBlocksAndOpenSizes) {
  Model model;
  model.specification_version = 7;
  Function& main = model.program.emplace().functions["main"];
  main.opset = "CoreML6";
  ValueType anything = ValueType::tensor(DataType::Float32);
  anything.variadic = true;
  main.inputs = {{"x", ValueType::tensor(DataType::Float32, {kUnknownSize, 0, 3})},
                 {"y", anything}};
  Operation loop;
  loop.type = "while_loop";
  Block body;
  body.inputs = {{"i", ValueType::tensor(DataType::Int32)}};
  body.outputs = {"i", "x"};
  Operation inner;
  inner.type = "concat";
  inner.inputs.emplace_back(
      "values", std::vector<Binding>{{"x", nullptr},
                                     {"", std::make_shared<const Value>(text_of("literal"))}});
  body.operations.push_back(inner);
  loop.blocks.push_back(body);
  main.block.operations.push_back(loop);
  const auto read = decode_model(blob(encode_model(model)));
  ASSERT_TRUE(read.ok()) << read.error().message();
  const Function& kept = read->program->functions.at("main");
  EXPECT_EQ(kept.inputs[0].type, main.inputs[0].type);
  EXPECT_TRUE(kept.inputs[1].type.variadic);
  const Block& block = kept.block.operations.at(0).blocks.at(0);
  EXPECT_EQ(block.outputs, body.outputs);
  EXPECT_EQ(block.inputs.at(0).name, "i");
  const auto* values = block.operations.at(0).input("values");
  ASSERT_NE(values, nullptr);
  ASSERT_EQ(values->size(), 2u);
  EXPECT_EQ(values->at(0).name, "x");
  EXPECT_EQ(values->at(1).literal->strings, std::vector<std::string>{"literal"});
}

TEST(WeightFile, SharesEqualContents) {
  WeightFile file;
  EXPECT_TRUE(file.empty());
  const WeightRef a = file.add(DataType::Float16, 2, blob("abcd"));
  const WeightRef b = file.add(DataType::Float16, 2, blob("abcd"));
  const WeightRef other_type = file.add(DataType::Int16, 2, blob("abcd"));
  const WeightRef packed = file.add(DataType::UInt3, 5, blob("xy"));
  EXPECT_EQ(a.offset, 64u);
  EXPECT_EQ(b.offset, a.offset);
  EXPECT_EQ(other_type.offset, 192u);  // behind 64 of metadata and 4 of data, at a multiple of 64
  const std::vector<Blob> parts = std::move(file).finish();
  const Blob whole = Blob::joined(parts);
  EXPECT_EQ(whole.size(), 320u + 64 + 2);  // nothing follows the last one
  const auto data = read_weight(whole, packed, ValueType::tensor(DataType::UInt3, {5}));
  ASSERT_TRUE(data.ok()) << data.error().message();
  EXPECT_EQ(*data, blob("xy"));
  EXPECT_EQ(static_cast<int>(whole.bytes()[320 + 24]), 1);  // one unused bit
  EXPECT_TRUE(read_weight(whole, a, ValueType::tensor(DataType::Float16, {2})).ok());
  EXPECT_TRUE(read_weight(whole, other_type, ValueType::tensor(DataType::Int16, {2})).ok());
}

TEST(WeightFile, IsAHeaderAloneWhenEmpty) {
  const Blob whole = Blob::joined(WeightFile().finish());
  EXPECT_EQ(whole.size(), 64u);
}

TEST(CoremlManifest, IsFoundAgainAndFollowsFromTheContent) {
  const std::string text = encode_manifest("abc", true);
  const auto path = model_path_of(blob(text));
  ASSERT_TRUE(path.ok()) << path.error().message();
  EXPECT_EQ(*path, kModelPath);
  EXPECT_EQ(text, encode_manifest("abc", true));
  EXPECT_NE(text, encode_manifest("abd", true));
  EXPECT_NE(text.find("com.apple.CoreML/weights"), std::string::npos);
  EXPECT_EQ(encode_manifest("abc", false).find("com.apple.CoreML/weights"), std::string::npos);
}

}  // namespace
}  // namespace ec::coreml
