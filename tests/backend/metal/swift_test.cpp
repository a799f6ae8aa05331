// The Swift that comes with a package: names, types and units are the package's.
#include "backend/metal/swift.h"

#include <gtest/gtest.h>

namespace ec::metal {
namespace {

coreml::Feature array(std::string name, std::vector<int64_t> shape, coreml::ArrayType type) {
  coreml::Feature feature;
  feature.name = std::move(name);
  feature.kind = coreml::Feature::Kind::MultiArray;
  feature.shape = std::move(shape);
  feature.array = type;
  return feature;
}

TEST(Swift, LoadsAndRunsThePackage) {
  coreml::Interface interface;
  interface.inputs = {array("x", {1, 3, 8, 8}, coreml::ArrayType::Float32),
                      array("is", {4}, coreml::ArrayType::Int32)};
  interface.outputs = {array("y", {1, 10}, coreml::ArrayType::Float32)};
  EXPECT_EQ(
      swift_source(interface, "m.mlpackage", ComputeUnits::CpuAndNeuralEngine),
      R"(// Loads the package and runs it once. Written by edgecompiler, which never compiled it.
import CoreML

func runModel() async throws {
    let configuration = MLModelConfiguration()
    configuration.computeUnits = .cpuAndNeuralEngine
    let package = URL(fileURLWithPath: "m.mlpackage")
    let compiled = try await MLModel.compileModel(at: package)
    let model = try await MLModel.load(contentsOf: compiled, configuration: configuration)
    let xInput = try MLMultiArray(shape: [1, 3, 8, 8], dataType: .float32)  // fill with your values
    let isInput = try MLMultiArray(shape: [4], dataType: .int32)  // fill with your values
    let features = try MLDictionaryFeatureProvider(dictionary: [
        "x": MLFeatureValue(multiArray: xInput),
        "is": MLFeatureValue(multiArray: isInput),
    ])
    let result = try model.prediction(from: features)
    let yOutput = result.featureValue(for: "y")!.multiArrayValue!  // float32 [1, 10]
    print(yOutput)
}
)");
}

TEST(Swift, StateIsMadeOnceAndGivenToTheRun) {
  coreml::Interface interface;
  interface.inputs = {array("x", {1, 4}, coreml::ArrayType::Float32)};
  interface.outputs = {array("y", {1, 4}, coreml::ArrayType::Float32)};
  interface.states = {array("h", {1, 8}, coreml::ArrayType::Float16)};
  const std::string text = swift_source(interface, "m.mlpackage", ComputeUnits::All);
  EXPECT_NE(text.find("let state = model.makeState()"), std::string::npos) << text;
  EXPECT_NE(text.find("model.prediction(from: features, using: state)"), std::string::npos) << text;
}

TEST(Swift, ImagesAndClasses) {
  coreml::Interface interface;
  coreml::Feature image;
  image.name = "image";
  image.kind = coreml::Feature::Kind::Image;
  image.width = 224;
  image.height = 200;
  interface.inputs = {image};
  coreml::Feature label, scores;
  label.name = "classLabel";
  label.kind = coreml::Feature::Kind::String;
  scores.name = "classLabel_probs";
  scores.kind = coreml::Feature::Kind::Dictionary;
  interface.outputs = {label, scores};
  const std::string text = swift_source(interface, "a \"b\"\n.mlpackage", ComputeUnits::All);
  for (const std::string_view part :
       {"import CoreVideo\n", "CVPixelBufferCreate(nil, 224, 200, kCVPixelFormatType_32BGRA, nil,",
        "\"image\": MLFeatureValue(pixelBuffer: imageInput!)", ".computeUnits = .all\n",
        "(for: \"classLabel\")!.stringValue ", "(for: \"classLabel_probs\")!.dictionaryValue ",
        "\"a \\\"b\\\"\\u{a}.mlpackage\""})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

}  // namespace
}  // namespace ec::metal
