#include "backend/metal/swift.h"

#include <fmt/format.h>

#include <algorithm>

namespace ec::metal {
namespace {

using Feature = coreml::Feature;

std::string_view units_of(ComputeUnits units) {
  switch (units) {
    case ComputeUnits::CpuAndNeuralEngine:
      return ".cpuAndNeuralEngine";
    case ComputeUnits::CpuAndGpu:
      return ".cpuAndGPU";
    case ComputeUnits::CpuOnly:
      return ".cpuOnly";
    default:
      return ".all";
  }
}

std::string_view array_type(coreml::ArrayType type) {
  switch (type) {
    case coreml::ArrayType::Float16:
      return ".float16";
    case coreml::ArrayType::Double:
      return ".double";
    case coreml::ArrayType::Int32:
      return ".int32";
    case coreml::ArrayType::Int8:
      return ".int8";
    default:
      return ".float32";
  }
}

// A string literal. Names come from files.
std::string swift_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < ' ' || c == 127)
      result += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(c));
    else
      result += c;
  }
  return result + "\"";
}

// Names of features are identifiers; behind them a word keeps them apart from keywords.
std::string input_variable(const Feature& feature) { return feature.name + "Input"; }
std::string output_variable(const Feature& feature) { return feature.name + "Output"; }

std::string shape_text(const Feature& feature) {
  return fmt::format("[{}]", fmt::join(feature.shape, ", "));
}

std::string made_input(const Feature& feature) {
  const std::string name = input_variable(feature);
  if (feature.kind != Feature::Kind::Image)
    return fmt::format(
        "    let {} = try MLMultiArray(shape: {}, dataType: {})  // fill with your values\n", name,
        shape_text(feature), array_type(feature.array));
  const bool gray = feature.color == coreml::ColorSpace::Grayscale;
  return fmt::format(
      "    var {0}: CVPixelBuffer?  // draw your image into it\n"
      "    CVPixelBufferCreate(nil, {1}, {2}, {3}, nil, &{0})\n",
      name, feature.width, feature.height,
      gray ? "kCVPixelFormatType_OneComponent8" : "kCVPixelFormatType_32BGRA");
}

std::string entry_of(const Feature& feature) {
  const bool image = feature.kind == Feature::Kind::Image;
  return fmt::format("        {}: MLFeatureValue({}: {}{}),\n", swift_text(feature.name),
                     image ? "pixelBuffer" : "multiArray", input_variable(feature),
                     image ? "!" : "");
}

std::string read_output(const Feature& feature) {
  std::string_view member = "multiArrayValue!";
  std::string what = fmt::format("{} {}", array_type(feature.array).substr(1), shape_text(feature));
  if (feature.kind == Feature::Kind::String) {
    member = "stringValue";
    what = "name of the best class";
  } else if (feature.kind == Feature::Kind::Int64) {
    member = "int64Value";
    what = "number of the best class";
  } else if (feature.kind == Feature::Kind::Dictionary) {
    member = "dictionaryValue";
    what = "probability by class";
  }
  return fmt::format("    let {0} = result.featureValue(for: {1})!.{2}  // {3}\n    print({0})\n",
                     output_variable(feature), swift_text(feature.name), member, what);
}

}  // namespace

std::string swift_source(const coreml::Interface& interface, std::string_view package,
                         ComputeUnits units) {
  const bool images = std::ranges::any_of(
      interface.inputs, [](const Feature& f) { return f.kind == Feature::Kind::Image; });
  std::string text = fmt::format(
      "// Loads the package and runs it once. Written by edgecompiler, which never compiled it.\n"
      "import CoreML\n{}\n"
      "func runModel() async throws {{\n"
      "    let configuration = MLModelConfiguration()\n"
      "    configuration.computeUnits = {}\n"
      "    let package = URL(fileURLWithPath: {})\n"
      "    let compiled = try await MLModel.compileModel(at: package)\n"
      "    let model = try await MLModel.load(contentsOf: compiled, configuration: "
      "configuration)\n",
      images ? "import CoreVideo\n" : "", units_of(units), swift_text(package));
  for (const Feature& input : interface.inputs) text += made_input(input);
  text += "    let features = try MLDictionaryFeatureProvider(dictionary: [\n";
  for (const Feature& input : interface.inputs) text += entry_of(input);
  const bool keeps = !interface.states.empty();
  text += "    ])\n";
  if (keeps)
    text += "    let state = model.makeState()  // one for each stream, kept between runs\n";
  text += fmt::format("    let result = try model.prediction(from: features{})\n",
                      keeps ? ", using: state" : "");
  for (const Feature& output : interface.outputs) text += read_output(output);
  return text + "}\n";
}

}  // namespace ec::metal
