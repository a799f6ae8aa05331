// Well-formed files whose calls and configurations do not fit each other end in an error that has a
// name: converters go on with placeholders after a failure, which must not be used as indices.
#include <gtest/gtest.h>

#include "frontend/keras/keras.h"
#include "frontend/torch/archive_builder.h"
#include "fuzz/op/hdf5_writer.h"
#include "ir/graph.h"
#include "support/budget.h"

namespace ec {
namespace {

std::string tensor(const std::string& layer) {
  return R"({"class_name": "__keras_tensor__", "config": {"keras_history": [")" + layer +
         R"(", 0, 0]}})";
}
const std::string kX = tensor("x");

std::string input(const std::string& name, const std::string& shape,
                  const std::string& dtype = "float32") {
  return R"({"module": "keras.layers", "class_name": "InputLayer", "registered_name": null, "name": ")" +
         name + R"(", "config": {"batch_shape": )" + shape + R"(, "dtype": ")" + dtype +
         R"("}, "inbound_nodes": []})";
}

std::string call(const std::string& module, const std::string& class_name, const std::string& name,
                 const std::string& config, const std::string& args) {
  return R"({"module": "keras.)" + module + R"(", "class_name": ")" + class_name +
         R"(", "registered_name": null, "name": ")" + name + R"(", "config": {)" + config +
         R"(}, "inbound_nodes": [{"args": [)" + args + R"(], "kwargs": {}}]})";
}

Result<std::unique_ptr<Graph>> import(const std::string& layers, const std::string& output = "y") {
  const std::string config =
      R"({"module": "keras", "class_name": "Functional", "registered_name": "Functional", "config":
         {"name": "m", "layers": [)" +
      layers + R"(], "input_layers": [["x", 0, 0]], "output_layers": [[")" + output +
      R"(", 0, 0]]}})";
  fuzz::Hdf5Writer weights;
  weights.add_group("layers");
  const std::string bytes =
      torch::testing::zip({{"config.json", config}, {"model.weights.h5", weights.file()}});
  DiagnosticSink sink;
  return import_keras(torch::testing::blob_of(bytes), "m.keras", {}, sink);
}

struct Case {
  std::string module, class_name, config, args;
  Code code;
  std::string shape = "[2, 3]";
};

class KerasWrongCall : public ::testing::TestWithParam<Case> {};

TEST_P(KerasWrongCall, EndsInAnError) {
  const Case& p = GetParam();
  const auto graph =
      import(input("x", p.shape) + "," + call(p.module, p.class_name, "y", p.config, p.args));
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code(), p.code) << graph.error().message();
}

const std::string kNumber = "1.5";

INSTANTIATE_TEST_SUITE_P(
    Calls, KerasWrongCall,
    ::testing::Values(
        // No tensor at all, or not where the first one is needed.
        Case{"layers", "Normalization", R"("axis": [-1], "mean": [1, 2], "variance": [1, 2])",
             R"({"class_name": "__nothing__"})", Code::BadArity},
        Case{"layers", "Normalization", R"("axis": [0], "mean": [1, 2], "variance": [1, 2])",
             kNumber + "," + kX, Code::BadArity},
        // Axes that do not exist, used as an index all the same.
        Case{"layers", "Normalization", R"("axis": [0, 5], "mean": [1, 2], "variance": [1, 2])", kX,
             Code::BadValue, "[]"},
        Case{"ops", "Average", R"("axis": [3])", kX + ", [1, 2, 3]", Code::BadValue, "[]"},
        Case{"ops", "Repeat", R"("axis": 2, "repeats": 2)", kX, Code::BadValue, "[]"},
        Case{"ops", "Swapaxes", R"("axis1": 7, "axis2": 1)", kX, Code::BadValue, "[]"},
        Case{"ops", "Moveaxis", R"("source": 7, "destination": 7)", kX, Code::BadValue, "[]"},
        Case{"ops", "Rot90", R"("axes": [4, 5])", kX, Code::BadValue, "[]"},
        Case{"ops", "Tensordot", R"("axes": [[0], [0]])", kX + "," + kX, Code::BadValue, "[]"},
        Case{"ops", "Sparsemax", R"("axis": 2)", kX, Code::BadValue, "[]"},
        // Lists that do not fit.
        Case{"ops", "Roll", R"("axis": [0, 1], "shift": [])", kX, Code::BadAttribute},
        Case{"ops", "Transpose", R"("axes": [0, 0])", kX, Code::BadValue},
        Case{"ops", "Tensordot", R"("axes": 5)", kX + "," + kX, Code::BadAttribute},
        Case{"layers", "Conv1DTranspose",
             R"("strides": 1, "use_bias": false, "output_padding": -9223372036854775808)", kX,
             Code::BadTensorData, "[1, 4, 2]"},
        // Sizes beyond 64 bits.
        Case{"ops", "Repeat", R"("axis": 0, "repeats": 1048576)", tensor("x"), Code::TooLarge,
             "[1099511627776, 1099511627776]"},
        Case{"layers", "UpSampling1D", R"("size": 16777216, "interpolation": "bilinear")", kX,
             Code::TooLarge, "[1, 1099511627776, 2]"},
        Case{"layers", "TimeDistributed",
             R"("layer": {"class_name": "ReLU", "module": "keras.layers", "config": {}})", kX,
             Code::TooLarge, "[1099511627776, 1099511627776, 2]"},
        Case{"layers", "Resizing", R"("height": 4, "width": 4, "crop_to_aspect_ratio": true)", kX,
             Code::ShapeMismatch, "[1, 0, 4, 3]"},
        // Tables as large as a number of the file.
        Case{"layers", "GroupNormalization", R"("scale": false, "center": false, "groups": 1)", kX,
             Code::TooLarge, "[1, 2, 268435456]"},
        Case{"layers", "MelSpectrogram", R"("fft_length": 65536, "num_mel_bins": 4096)", kX,
             Code::TooLarge, "[1, 65536]"},
        Case{"ops", "Sparsemax", R"("axis": 0)", kX, Code::TooLarge, "[1099511627776]"}),
    [](const auto& test) { return test.param.class_name + "_" + std::to_string(test.index); });

// Slices whose end leaves 64 bits reach to the end of the tensor.
TEST(KerasCalls, TakeEndsBeyond64BitsAsTheEnd) {
  const auto graph =
      import(input("x", "[4]") + "," +
             call("ops", "Slice", "y", R"("shape": [9223372036854775807])", kX + ", [1]"));
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  EXPECT_EQ((*graph)->outputs()[0]->type().text(), "f32[3]");
  const auto item = import(input("x", "[4]") + "," +
                           call("ops", "GetItem", "y", "", kX + ", [9223372036854775807]"));
  ASSERT_FALSE(item.ok());
}

// Many parts are one operation, whether they are equal or not.
TEST(KerasCalls, SplitIntoManyPartsAtOnce) {
  const auto graph = import(input("x", "[50]") + "," +
                            call("ops", "ArraySplit", "y", R"("indices_or_sections": 20)", kX));
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  EXPECT_EQ((*graph)->topological().size(), 1u);
  EXPECT_EQ((*graph)->outputs()[0]->type().text(), "f32[3]");
}

// Few bytes that ask for many operations again and again.
TEST(KerasCalls, UnfoldToNoMoreThanTheFileJustifies) {
  std::string layers = input("x", "[65536, 1]");
  for (int i = 0; i < 20; ++i)
    layers +=
        "," + call("ops", "Unstack", i == 0 ? "y" : "y" + std::to_string(i), R"("axis": 0)", kX);
  const auto graph = import(layers);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code(), Code::TooLarge);
}

// A masked sequence beside a number.
TEST(KerasCalls, JoinOnlyTensorsOfMaskedSequences) {
  const auto graph =
      import(input("x", "[2, 3, 4]") + "," + call("layers", "Masking", "m", "", kX) + "," +
             call("layers", "Concatenate", "y", R"("axis": -1)",
                  "[" + tensor("m") + ", 1.5, [" + tensor("m") + "]]"));
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code(), Code::UnsupportedOpForm);
}

}  // namespace
}  // namespace ec
