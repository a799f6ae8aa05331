// The interface that applications see: features, their types and shapes, metadata.
#include "formats/coreml/decode_parts.h"
#include "formats/coreml/fields.h"

namespace ec::coreml {
namespace {

using wire::Budget;
using wire::Reader;

// No array has more; counts of shapes and sizes to choose from are bounded by the file.
constexpr size_t kMaxSizes = 1 << 16;

Error too_long(std::string_view what) {
  return Error(Code::TooLarge, std::string(what) + " is longer than any model's")
      .hint("the file is damaged or was made to exhaust memory");
}

Status sizes(Bytes message, std::vector<int64_t>& list) {
  for (Reader r(message); r.next();) {
    if (r.tag() != field::shape::kSizes)
      r.skip();
    else if (!r.append(list, kMaxSizes))
      return too_long("a shape");
  }
  return {};
}

SizeRange size_range(Bytes message) {
  SizeRange range;
  range.upper = 0;  // absent: the default of the field
  for (Reader r(message); r.next();) {
    if (r.tag() == field::size_range::kLower)
      r.read(range.lower);
    else if (r.tag() == field::size_range::kUpper)
      r.read(range.upper);
    else
      r.skip();
  }
  return range;
}

void default_value(Reader& r, Feature& feature) {
  if (r.tag() == field::array::kIntDefault) {
    int32_t value = 0;
    r.read(value);
    feature.default_value = value;
  } else if (r.tag() == field::array::kFloatDefault) {
    float value = 0;
    r.read(value);
    feature.default_value = value;
  } else {
    std::vector<double> values;
    if (r.append(values, 1) && !values.empty()) feature.default_value = values[0];
  }
}

Status array_type(Bytes message, Feature& feature, Budget& budget) {
  int32_t type = 0;
  for (Reader r(message); r.next();) {
    switch (r.tag()) {
      case field::array::kShape:
        if (!r.append(feature.shape, kMaxSizes)) return too_long("a shape");
        break;
      case field::array::kDataType:
        r.read(type);
        break;
      case field::array::kIntDefault:
      case field::array::kFloatDefault:
      case field::array::kDoubleDefault:
        default_value(r, feature);
        break;
      case field::array::kEnumeratedShapes:
      case field::array::kShapeRange: {
        const bool ranges = r.tag() == field::array::kShapeRange;
        Bytes nested;
        r.read(nested);
        Status read = each_message(nested, [&](uint32_t tag, Bytes item) -> Status {
          if (tag != field::enumerated::kItems) return {};
          if (feature.shape_range.size() + feature.enumerated_shapes.size() >= kMaxSizes)
            return too_long("a list of shapes");
          EC_CHECK_OK(budget.charge(1, sizeof(feature.shape)));
          if (ranges) {
            feature.shape_range.push_back(size_range(item));
            return {};
          }
          return sizes(item, feature.enumerated_shapes.emplace_back());
        });
        if (!read.ok()) return std::move(read).error();
        break;
      }
      default:
        r.skip();
    }
  }
  feature.array = static_cast<ArrayType>(type);
  return {};
}

void image_size(Bytes message, std::pair<int64_t, int64_t>& size) {
  for (Reader r(message); r.next();) {
    if (r.tag() == field::image_size::kWidth)
      r.read(size.first);
    else if (r.tag() == field::image_size::kHeight)
      r.read(size.second);
    else
      r.skip();
  }
}

Status image_type(Bytes message, Feature& feature, Budget& budget) {
  int32_t color = 0;
  for (Reader r(message); r.next();) {
    const uint32_t tag = r.tag();
    if (tag == field::image::kWidth) {
      r.read(feature.width);
    } else if (tag == field::image::kHeight) {
      r.read(feature.height);
    } else if (tag == field::image::kColorSpace) {
      r.read(color);
    } else {
      Bytes nested;
      r.read(nested);
      if (tag == field::image::kSizeRange) feature.size_range.emplace();
      Status read = each_message(nested, [&](uint32_t inner, Bytes item) -> Status {
        if (tag == field::image::kSizeRange) {
          auto& range = *feature.size_range;
          (inner == field::image_size::kWidth ? range.first : range.second) = size_range(item);
        } else if (tag == field::image::kEnumeratedSizes && inner == field::enumerated::kItems) {
          if (feature.enumerated_sizes.size() >= kMaxSizes) return too_long("a list of sizes");
          EC_CHECK_OK(budget.charge(1, sizeof(SizeRange)));
          image_size(item, feature.enumerated_sizes.emplace_back());
        }
        return {};
      });
      if (!read.ok()) return std::move(read).error();
    }
  }
  feature.color = static_cast<ColorSpace>(color);
  return {};
}

Status feature_type(Bytes message, Feature& feature, Budget& budget) {
  for (Reader r(message); r.next();) {
    const uint32_t tag = r.tag();
    if (tag == field::feature_type::kIsOptional) {
      r.read(feature.optional);
      continue;
    }
    if (!r.is_message()) {
      r.skip();
      continue;
    }
    Bytes nested;
    r.read(nested);
    if (tag < field::feature_type::kInt64 || tag > field::feature_type::kState) continue;
    feature.kind = static_cast<Feature::Kind>(tag);  // the same numbers
    if (tag == field::feature_type::kImage) EC_CHECK_OK(image_type(nested, feature, budget));
    if (tag == field::feature_type::kMultiArray) EC_CHECK_OK(array_type(nested, feature, budget));
    if (tag == field::feature_type::kDictionary || tag == field::feature_type::kState) {
      Status read = each_message(nested, [&](uint32_t inner, Bytes item) -> Status {
        if (tag == field::feature_type::kState)
          return inner == field::state_feature::kArray ? array_type(item, feature, budget)
                                                       : Status();
        feature.string_keys = inner == field::dictionary_feature::kStringKey;
        return {};
      });
      if (!read.ok()) return std::move(read).error();
    }
  }
  return {};
}
static_assert(static_cast<uint32_t>(Feature::Kind::Int64) == field::feature_type::kInt64);
static_assert(static_cast<uint32_t>(Feature::Kind::State) == field::feature_type::kState);

Status feature(Bytes message, Feature& feature, Budget& budget) {
  EC_CHECK_OK(budget.charge(1, sizeof(Feature)));
  return each_message(message, [&](uint32_t tag, Bytes nested) -> Status {
    if (tag == field::feature::kName) {
      EC_TRY(feature.name, read_name(nested));
    } else if (tag == field::feature::kDescription) {
      feature.description = nested;
    } else if (tag == field::feature::kType) {
      return feature_type(nested, feature, budget);
    }
    return {};
  });
}

void metadata(Bytes message, Metadata& metadata) {
  wire::for_each_message(message, [&](uint32_t tag, Bytes text) {
    switch (tag) {
      case field::metadata::kDescription:
        metadata.description = text;
        break;
      case field::metadata::kVersion:
        metadata.version = text;
        break;
      case field::metadata::kAuthor:
        metadata.author = text;
        break;
      case field::metadata::kLicense:
        metadata.license = text;
        break;
      case field::metadata::kUserDefined: {
        const Entry entry = read_entry(text);
        if (metadata.user_defined.size() < kMaxSizes)
          metadata.user_defined[std::string(entry.key)] = entry.value;
        break;
      }
      default:
        break;
    }
  });
}

struct InterfaceFields {
  uint32_t input, output, state, predicted_feature, predicted_probabilities;
};
constexpr InterfaceFields kOfModel = {
    field::description::kInput, field::description::kOutput, field::description::kState,
    field::description::kPredictedFeature, field::description::kPredictedProbabilities};
constexpr InterfaceFields kOfFunction = {
    field::function_description::kInput, field::function_description::kOutput,
    field::function_description::kState, field::function_description::kPredictedFeature,
    field::function_description::kPredictedProbabilities};

// One field of an interface; others are left alone.
Status interface_field(const InterfaceFields& fields, uint32_t tag, Bytes nested,
                       Interface& interface, Budget& budget) {
  std::vector<Feature>* list = tag == fields.input    ? &interface.inputs
                               : tag == fields.output ? &interface.outputs
                               : tag == fields.state  ? &interface.states
                                                      : nullptr;
  if (list != nullptr) {
    if (list->size() >= kMaxSizes) return too_long("the interface");
    return feature(nested, list->emplace_back(), budget);
  }
  if (tag == fields.predicted_feature) interface.predicted_feature = nested;
  if (tag == fields.predicted_probabilities) interface.predicted_probabilities = nested;
  return {};
}

Status function_description(Bytes message, Model& model, Budget& budget) {
  EC_CHECK_OK(budget.charge(1, sizeof(Interface)));
  std::string name;
  Interface interface;
  Status read = each_message(message, [&](uint32_t tag, Bytes nested) -> Status {
    if (tag != field::function_description::kName)
      return interface_field(kOfFunction, tag, nested, interface, budget);
    EC_TRY(name, read_name(nested));
    return {};
  });
  if (!read.ok()) return std::move(read).error();
  if (!model.functions.emplace(name, std::move(interface)).second)
    return corrupt("function '" + name + "' is described twice");
  return {};
}

}  // namespace

Status Decoder::description(Bytes message, Model& model) {
  return each_message(message, [&](uint32_t tag, Bytes nested) -> Status {
    if (tag == field::description::kFunctions) return function_description(nested, model, budget_);
    if (tag == field::description::kMetadata) metadata(nested, model.metadata);
    if (tag == field::description::kDefaultFunction) {
      EC_TRY(model.default_function, read_name(nested));
    }
    return interface_field(kOfModel, tag, nested, model.interface, budget_);
  });
}

}  // namespace ec::coreml
