// The model and the interface that applications see.
#include "formats/coreml/encode_parts.h"
#include "formats/coreml/fields.h"
#include "formats/coreml/package.h"

namespace ec::coreml {
namespace {

void sizes(MessageWriter& m, uint32_t field, const std::vector<int64_t>& list) {
  if (!list.empty()) m.raw().add_packed_int64(field, list.begin(), list.end());
}

std::string size_range(const SizeRange& range) {
  MessageWriter m;
  m.number(field::size_range::kLower, range.lower);
  m.number(field::size_range::kUpper, range.upper);
  return std::move(m).take();
}

void default_value(MessageWriter& m, const Feature& feature) {
  const double value = *feature.default_value;
  if (feature.array == ArrayType::Double)
    m.raw().add_double(field::array::kDoubleDefault, value);
  else if (feature.array == ArrayType::Int32 || feature.array == ArrayType::Int8)
    m.raw().add_int32(field::array::kIntDefault, static_cast<int32_t>(value));
  else
    m.raw().add_float(field::array::kFloatDefault, static_cast<float>(value));
}

std::string array_type(const Feature& feature) {
  MessageWriter m;
  sizes(m, field::array::kShape, feature.shape);
  m.number(field::array::kDataType, static_cast<int64_t>(feature.array));
  if (!feature.enumerated_shapes.empty()) {
    MessageWriter list;
    for (const auto& shape : feature.enumerated_shapes) {
      MessageWriter item;
      sizes(item, field::shape::kSizes, shape);
      list.message(field::enumerated::kItems, std::move(item).take());
    }
    m.message(field::array::kEnumeratedShapes, std::move(list).take());
  }
  if (!feature.shape_range.empty()) {
    MessageWriter list;
    for (const SizeRange& range : feature.shape_range)
      list.message(field::shape_range::kSizeRanges, size_range(range));
    m.message(field::array::kShapeRange, std::move(list).take());
  }
  if (feature.default_value) default_value(m, feature);
  return std::move(m).take();
}

std::string image_type(const Feature& feature) {
  MessageWriter m;
  m.number(field::image::kWidth, feature.width);
  m.number(field::image::kHeight, feature.height);
  m.number(field::image::kColorSpace, static_cast<int64_t>(feature.color));
  if (!feature.enumerated_sizes.empty()) {
    MessageWriter list;
    for (const auto& [width, height] : feature.enumerated_sizes) {
      MessageWriter item;
      item.number(field::image_size::kWidth, width);
      item.number(field::image_size::kHeight, height);
      list.message(field::enumerated::kItems, std::move(item).take());
    }
    m.message(field::image::kEnumeratedSizes, std::move(list).take());
  }
  if (feature.size_range) {
    MessageWriter range;
    range.message(field::image_size::kWidth, size_range(feature.size_range->first));
    range.message(field::image_size::kHeight, size_range(feature.size_range->second));
    m.message(field::image::kSizeRange, std::move(range).take());
  }
  return std::move(m).take();
}

std::string dictionary_type(const Feature& feature) {
  MessageWriter m;
  m.message(feature.string_keys ? uint32_t{field::dictionary_feature::kStringKey}
                                : uint32_t{field::dictionary_feature::kInt64Key},
            "");
  return std::move(m).take();
}

std::string feature_type(const Feature& feature) {
  MessageWriter m, state;
  const auto field = static_cast<uint32_t>(feature.kind);  // the same numbers, as the reader checks
  switch (feature.kind) {
    case Feature::Kind::None:
      break;
    case Feature::Kind::Image:
      m.message(field, image_type(feature));
      break;
    case Feature::Kind::MultiArray:
      m.message(field, array_type(feature));
      break;
    case Feature::Kind::Dictionary:
      m.message(field, dictionary_type(feature));
      break;
    case Feature::Kind::State:
      state.message(field::state_feature::kArray, array_type(feature));
      m.message(field, std::move(state).take());
      break;
    default:
      m.message(field, "");
  }
  m.number(field::feature_type::kIsOptional, feature.optional ? 1 : 0);
  return std::move(m).take();
}

std::string feature_description(const Feature& feature) {
  MessageWriter m;
  m.text(field::feature::kName, feature.name);
  m.text(field::feature::kDescription, feature.description);
  m.message(field::feature::kType, feature_type(feature));
  return std::move(m).take();
}

std::string metadata(const Metadata& metadata) {
  MessageWriter m;
  m.text(field::metadata::kDescription, metadata.description);
  m.text(field::metadata::kVersion, metadata.version);
  m.text(field::metadata::kAuthor, metadata.author);
  m.text(field::metadata::kLicense, metadata.license);
  for (const auto& [key, value] : metadata.user_defined)
    m.entry(field::metadata::kUserDefined, key, value);
  return std::move(m).take();
}

void features(MessageWriter& m, uint32_t field, const std::vector<Feature>& list) {
  for (const Feature& feature : list) m.message(field, feature_description(feature));
}

std::string function_description(const std::string& name, const Interface& interface) {
  namespace fields = field::function_description;
  MessageWriter m;
  m.text(fields::kName, name);
  features(m, fields::kInput, interface.inputs);
  features(m, fields::kOutput, interface.outputs);
  m.text(fields::kPredictedFeature, interface.predicted_feature);
  m.text(fields::kPredictedProbabilities, interface.predicted_probabilities);
  features(m, fields::kState, interface.states);
  return std::move(m).take();
}

}  // namespace

std::string encode_description(const Model& model) {
  namespace fields = field::description;
  MessageWriter m;
  features(m, fields::kInput, model.interface.inputs);
  features(m, fields::kOutput, model.interface.outputs);
  m.text(fields::kPredictedFeature, model.interface.predicted_feature);
  m.text(fields::kPredictedProbabilities, model.interface.predicted_probabilities);
  features(m, fields::kState, model.interface.states);
  for (const auto& [name, interface] : model.functions)
    m.message(fields::kFunctions, function_description(name, interface));
  m.text(fields::kDefaultFunction, model.default_function);
  m.text(fields::kMetadata, metadata(model.metadata));
  return std::move(m).take();
}

std::string encode_model(const Model& model) {
  MessageWriter m;
  m.number(field::model::kSpecificationVersion, model.specification_version);
  m.message(field::model::kDescription, encode_description(model));
  if (model.program) m.message(field::model::kMlProgram, encode_program(*model.program));
  return std::move(m).take();
}

}  // namespace ec::coreml
