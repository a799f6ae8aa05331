// Models from hand-made bytes: every field in its place, and what breaks the rules is told.
#include <gtest/gtest.h>

#include "formats/coreml/package.h"
#include "message.h"

namespace ec::coreml {
namespace {

constexpr int32_t kFloat = 11, kInt = 23, kHalf = 10;

Message relu(std::string_view input, std::string_view output) {
  return Message()
      .bytes(1, "relu")
      .message(2, entry("x", argument(input)))
      .message(3, named_type(output, tensor_type(kFloat, {1, 3})))
      .message(5, entry("name", text_value("act")));
}

Message one_operation(const Message& operation) {
  return model(program(Message().bytes(2, "y").message(3, operation),
                       named_type("x", tensor_type(kFloat, {1, 3}))));
}

Result<Model> decoded(const Message& message) { return decode_model(message.blob()); }

// The value of attribute "val" of the only operation.
Result<Value> decoded_value(const Message& value) {
  auto result = decoded(one_operation(Message().bytes(1, "const").message(5, entry("val", value))));
  if (!result.ok()) return std::move(result).error();
  return *result->program->functions.at("main").block.operations.at(0).attribute("val");
}

TEST(DecodeCoreml, ReadsAProgram) {
  auto model = decoded(one_operation(relu("x", "y")));
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_EQ(model->specification_version, 7);
  const Function& main = model->program->functions.at("main");
  EXPECT_EQ(main.opset, "CoreML6");
  ASSERT_EQ(main.inputs.size(), 1u);
  EXPECT_EQ(main.inputs[0].type, ValueType::tensor(DataType::Float32, {1, 3}));
  EXPECT_EQ(main.block.outputs, std::vector<std::string>{"y"});
  const Operation& op = main.block.operations.at(0);
  EXPECT_EQ(op.type, "relu");
  ASSERT_NE(op.input("x"), nullptr);
  EXPECT_EQ(op.input("x")->at(0).name, "x");
  EXPECT_EQ(op.input("y"), nullptr);
  ASSERT_NE(op.attribute("name"), nullptr);
  EXPECT_EQ(op.attribute("name")->strings, std::vector<std::string>{"act"});
}

TEST(DecodeCoreml, ReadsNumbersOfEveryKind) {
  const auto floats = decoded_value(tensor_value(tensor_type(kFloat, {1}), 1, {"\0\0\x80?", 4}));
  ASSERT_TRUE(floats.ok()) << floats.error().message();
  float one = 0;
  std::memcpy(&one, floats->data.bytes().data(), 4);
  EXPECT_EQ(one, 1.0f);

  // -1 takes ten bytes as a varint and four as an element.
  const auto ints = decoded_value(
      tensor_value(tensor_type(kInt, {2}), 2, varint(7) + varint(static_cast<uint64_t>(-1))));
  ASSERT_TRUE(ints.ok()) << ints.error().message();
  int32_t numbers[2];
  ASSERT_EQ(ints->data.size(), sizeof numbers);
  std::memcpy(numbers, ints->data.bytes().data(), sizeof numbers);
  EXPECT_EQ(numbers[0], 7);
  EXPECT_EQ(numbers[1], -1);

  const auto narrow = decoded_value(tensor_value(tensor_type(32, {1}), 2, varint(65535)));
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ(narrow->data.size(), 2u);
  const auto halves = decoded_value(tensor_value(tensor_type(kHalf, {2}), 7, "abcd"));
  ASSERT_TRUE(halves.ok());
  EXPECT_EQ(halves->data.size(), 4u);
  const auto packed = decoded_value(tensor_value(tensor_type(39, {5}), 7, "ab"));  // 15 bits
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->data.size(), 2u);
}

TEST(DecodeCoreml, RefusesElementsThatDoNotFit) {
  EXPECT_EQ(decoded_value(tensor_value(tensor_type(kHalf, {3}), 7, "abcd")).error().code(),
            Code::BadTensorData);
  EXPECT_EQ(decoded_value(tensor_value(tensor_type(kFloat, {1}), 2, varint(1))).error().code(),
            Code::BadTensorData);
  EXPECT_EQ(decoded_value(Message().message(2, tensor_type(kFloat, {1}))).error().code(),
            Code::CorruptFile);
  EXPECT_EQ(decoded_value(tensor_value(tensor_type(99, {1}), 7, "a")).error().code(),
            Code::UnsupportedType);
}

TEST(DecodeCoreml, ReadsListsAndDictionaries) {
  const Message list_type =
      Message().message(2, Message().message(1, tensor_type(2, {})).message(2, dimension(2)));
  const Message list =
      Message()
          .message(2, list_type)
          .message(3,
                   Message().message(
                       3, Message().message(1, text_value("cat")).message(1, text_value("dog"))));
  const auto value = decoded_value(list);
  ASSERT_TRUE(value.ok()) << value.error().message();
  EXPECT_EQ(value->type.kind, ValueType::Kind::List);
  EXPECT_EQ(value->type.list_length, 2);
  ASSERT_EQ(value->items.size(), 2u);
  EXPECT_EQ(value->items[1].strings, std::vector<std::string>{"dog"});
}

TEST(DecodeCoreml, ReadsOpenSizes) {
  const Message open = Message().message(2, Message());
  const Message type = Message().message(
      1, Message().number(1, 11).number(2, 2).message(3, open).message(3, dimension(3)));
  auto model = decoded(coreml::model(program(Message(), named_type("x", type))));
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_EQ(model->program->functions.at("main").inputs[0].type.dims,
            (std::vector<int64_t>{kUnknownSize, 3}));
}

TEST(DecodeCoreml, ReadsTheInterface) {
  const Message range = Message().number(1, 1).number(2, static_cast<uint64_t>(-1));
  const Message array = Message()
                            .bytes(1, varint(1) + varint(8))
                            .number(2, 65568)
                            .message(31, Message().message(1, range))
                            .real(51, 0.5f);
  const Message image = Message().number(1, 32).number(2, 16).number(3, 30);
  const auto feature = [](std::string_view name, uint32_t kind, const Message& type) {
    return Message().bytes(1, name).message(3, Message().message(kind, type).number(1000, 1));
  };
  const Message description = Message()
                                  .message(1, feature("a", 5, array))
                                  .message(1, feature("b", 4, image))
                                  .bytes(11, "label")
                                  .message(100, Message().bytes(3, "me").message(
                                                    100, Message().bytes(1, "k").bytes(2, "v")));
  auto model =
      decode_model(Message()
                       .number(1, 7)
                       .message(2, description)
                       .message(502, program(Message(), named_type("x", tensor_type(11, {}))))
                       .blob());
  ASSERT_TRUE(model.ok()) << model.error().message();
  const Feature& a = model->interface.inputs.at(0);
  EXPECT_EQ(a.kind, Feature::Kind::MultiArray);
  EXPECT_EQ(a.array, ArrayType::Float32);
  EXPECT_EQ(a.shape, (std::vector<int64_t>{1, 8}));
  ASSERT_EQ(a.shape_range.size(), 1u);
  EXPECT_EQ(a.shape_range[0].upper, -1);
  EXPECT_EQ(a.default_value, 0.5);
  EXPECT_TRUE(a.optional);
  const Feature& b = model->interface.inputs.at(1);
  EXPECT_EQ(b.kind, Feature::Kind::Image);
  EXPECT_EQ(b.width, 32);
  EXPECT_EQ(b.height, 16);
  EXPECT_EQ(b.color, ColorSpace::Bgr);
  EXPECT_EQ(model->interface.predicted_feature, "label");
  EXPECT_EQ(model->metadata.user_defined.at("k"), "v");
}

TEST(DecodeCoreml, NamesModelsThatAreNoPrograms) {
  auto model = decode_model(Message().number(1, 4).message(500, Message()).blob());
  ASSERT_TRUE(model.ok());
  EXPECT_FALSE(model->program);
  EXPECT_EQ(model->other_kind, "neuralNetwork");
  EXPECT_EQ(decode_model(Message().number(1, 4).blob()).error().code(), Code::CorruptFile);
}

TEST(DecodeCoreml, BoundsDepth) {
  Message block;
  for (int i = 0; i < 200; ++i)
    block = Message().message(3, Message().bytes(1, "cond").message(4, block));
  EXPECT_EQ(decoded(model(program(block, named_type("x", tensor_type(11, {}))))).error().code(),
            Code::TooDeep);
  Message type = tensor_type(11, {});
  for (int i = 0; i < 200; ++i) type = Message().message(5, Message().message(1, type));
  EXPECT_EQ(decoded(model(program(Message(), named_type("x", type)))).error().code(),
            Code::TooDeep);
}

TEST(DecodeCoreml, BoundsMemory) {
  // Two bytes of the file would become an operation of more than a hundred.
  std::string operations;
  for (int i = 0; i < 4'000'000; ++i) operations += "\x1a\x00";
  Message block;
  std::string text(operations.begin(), operations.end());
  for (size_t i = 1; i < text.size(); i += 2) text[i] = '\0';
  const Message function =
      Message().bytes(2, "CoreML6").message(3, Message().bytes(1, "CoreML6").bytes(2, text));
  const Message program = Message().number(1, 1).message(2, entry("main", function));
  EXPECT_EQ(decoded(model(program)).error().code(), Code::TooLarge);
}

TEST(DecodeCoreml, RefusesBrokenPrograms) {
  const Message input = named_type("x", tensor_type(11, {}));
  // Another version, no block for the opset, two parameters of one name, a rank that does not fit.
  EXPECT_EQ(decoded(model(Message().number(1, 2))).error().code(), Code::UnsupportedFormat);
  EXPECT_EQ(decoded(model(Message().number(1, 1).message(
                        2, entry("main", Message().bytes(2, "CoreML6")))))
                .error()
                .code(),
            Code::CorruptFile);
  EXPECT_EQ(
      decoded(one_operation(relu("x", "y").message(2, entry("x", argument("z"))))).error().code(),
      Code::CorruptFile);
  const Message wrong_rank = Message().message(1, Message().number(1, 11).number(2, 3));
  EXPECT_EQ(decoded(model(program(Message(), named_type("x", wrong_rank)))).error().code(),
            Code::CorruptFile);
  EXPECT_FALSE(decode_model(Message().bytes(502, "\x0a\xff").blob()).ok());
}

}  // namespace
}  // namespace ec::coreml
