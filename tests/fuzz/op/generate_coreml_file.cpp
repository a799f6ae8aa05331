// Core ML packages and model files of random ML Programs, with descriptions that fit them most of
// the time.
#include <algorithm>

#include "fuzz/op/coreml_program.h"
#include "fuzz/op/generate.h"

namespace ec::fuzz {
namespace {

using coreml::DataType;
using coreml::Feature;

int64_t odd_size(RandomSource& random) {
  if (random.chance(70)) return random.pick(0, 5);
  return random.one_of<int64_t>({-1, INT64_MAX, INT64_MIN, int64_t{1} << 32, 1 << 20});
}

coreml::ArrayType array_of(DataType type) {
  switch (type) {
    case DataType::Float16:
      return coreml::ArrayType::Float16;
    case DataType::Float64:
      return coreml::ArrayType::Double;
    case DataType::Int8:
      return coreml::ArrayType::Int8;
    case DataType::Int32:
      return coreml::ArrayType::Int32;
    default:
      return coreml::ArrayType::Float32;
  }
}

Feature feature_of(RandomSource& random, const std::string& name, const coreml::ValueType& type) {
  Feature feature;
  feature.name = name;
  feature.kind = Feature::Kind::MultiArray;
  feature.array = array_of(type.element);
  feature.shape = type.dims;
  for (int64_t& size : feature.shape)
    if (size < 0) size = odd_size(random);
  if (random.chance(10)) feature.kind = static_cast<Feature::Kind>(random.index(9));
  if (feature.kind == Feature::Kind::Image || random.chance(5)) {
    feature.width = odd_size(random);
    feature.height = odd_size(random);
    feature.color = random.one_of({coreml::ColorSpace::Grayscale, coreml::ColorSpace::Rgb,
                                   coreml::ColorSpace::Bgr, coreml::ColorSpace::GrayscaleFloat16,
                                   static_cast<coreml::ColorSpace>(77)});
    if (random.chance(20)) feature.enumerated_sizes = {{odd_size(random), odd_size(random)}};
  }
  if (random.chance(8)) feature.shape.push_back(odd_size(random));
  if (random.chance(10)) feature.enumerated_shapes = {feature.shape, {odd_size(random)}};
  if (random.chance(10))
    for (const int64_t size : feature.shape)
      feature.shape_range.push_back({size, random.chance(50) ? -1 : odd_size(random)});
  if (random.chance(10)) feature.default_value = static_cast<double>(random.pick(-2, 2));
  feature.optional = random.chance(5);
  return feature;
}

coreml::Interface interface_of(RandomSource& random, const coreml::Function& function) {
  coreml::Interface interface;
  for (const coreml::NamedType& input : function.inputs) {
    if (random.chance(4)) continue;
    auto& list =
        input.type.kind == coreml::ValueType::Kind::State ? interface.states : interface.inputs;
    list.push_back(feature_of(random, input.name, input.type));
    if (random.chance(3)) list.push_back(list.back());
  }
  for (const std::string& name : function.block.outputs)
    if (random.chance(96)) interface.outputs.push_back(feature_of(random, name, {}));
  if (random.chance(5)) interface.predicted_feature = "v1";
  return interface;
}

}  // namespace

void generate_coreml_file(RandomSource& random, Model& model) {
  const auto& operators = coreml_operators_to_try();
  const CoremlOperator& subject = random.one_of(operators);
  model.file_subject = "coreml " + std::string(subject.row->op);
  const bool folder = random.chance(20);
  coreml::WeightFile weights;
  CoremlProgram program(random, folder ? &weights : nullptr);
  // A set that has the operator, and more often than not the one that brought this form of it.
  const int own = subject.row->opset;
  int opset = own;
  if (random.chance(40)) opset = static_cast<int>(random.pick(random.chance(90) ? own : 5, 9));
  // A later form of the operator would have other parameters.
  if (mil::find_row(subject.row->op, opset) != subject.row && random.chance(90)) opset = own;
  coreml::Model made;
  made.specification_version = opset + 1;
  made.program.emplace();
  if (program.values().odd(1)) made.program->version = random.pick(0, 3);
  coreml::Function function = program.function(subject, opset);
  made.interface = interface_of(random, function);
  if (program.values().odd(5)) {
    made.functions["main"] = made.interface;
    made.program->functions["other"] = program.function(random.one_of(operators), opset);
    made.default_function = random.one_of({"main", "other", "nosuch", ""});
  }
  made.program->functions[program.values().odd(2) ? "" : "main"] = std::move(function);
  if (random.chance(5)) made.metadata.user_defined["a"] = "b";
  model.file_name = folder ? "fuzz.mlpackage" : "fuzz.mlmodel";
  if (!folder) {
    model.files = {{"", coreml::encode_model(made)}};
    return;
  }
  const std::string hash(64, 'a');
  model.files = {{std::string(coreml::kManifestPath), coreml::encode_manifest(hash, true)},
                 {std::string(coreml::kModelPath), coreml::encode_model(made)}};
  if (random.chance(2)) return;
  const Blob stored = Blob::joined(std::move(weights).finish());
  const auto* bytes = reinterpret_cast<const char*>(stored.bytes().data());
  model.files.push_back({std::string(coreml::kWeightsPath), std::string(bytes, stored.size())});
}

}  // namespace ec::fuzz
