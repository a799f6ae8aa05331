// The model as a whole: what it is, and the parts that all kinds of models share.
#include <algorithm>

#include "formats/coreml/decode_parts.h"
#include "formats/coreml/fields.h"
#include "formats/coreml/package.h"

namespace ec::coreml {
namespace {

struct KindRow {
  uint32_t tag;
  std::string_view name;
};
// The other members of the oneof `Type`, by their name in Model.proto.
constexpr KindRow kOtherKinds[] = {
    {200, "pipelineClassifier"},
    {201, "pipelineRegressor"},
    {202, "pipeline"},
    {300, "glmRegressor"},
    {301, "supportVectorRegressor"},
    {302, "treeEnsembleRegressor"},
    {303, "neuralNetworkRegressor"},
    {304, "bayesianProbitRegressor"},
    {400, "glmClassifier"},
    {401, "supportVectorClassifier"},
    {402, "treeEnsembleClassifier"},
    {403, "neuralNetworkClassifier"},
    {404, "kNearestNeighborsClassifier"},
    {500, "neuralNetwork"},
    {501, "itemSimilarityRecommender"},
    {555, "customModel"},
    {556, "linkedModel"},
    {560, "classConfidenceThresholding"},
    {600, "oneHotEncoder"},
    {601, "imputer"},
    {602, "featureVectorizer"},
    {603, "dictVectorizer"},
    {604, "scaler"},
    {606, "categoricalMapping"},
    {607, "normalizer"},
    {609, "arrayFeatureExtractor"},
    {610, "nonMaximumSuppression"},
    {900, "identity"},
    {2000, "textClassifier"},
    {2001, "wordTagger"},
    {2002, "visionFeaturePrint"},
    {2003, "soundAnalysisPreprocessing"},
    {2004, "gazetteer"},
    {2005, "wordEmbedding"},
    {2006, "audioFeaturePrint"},
    {3000, "serializedModel"},
};

std::string_view other_kind(uint32_t tag) {
  for (const KindRow& row : kOtherKinds)
    if (row.tag == tag) return row.name;
  return {};
}

Result<Model> decode(const Blob& file) {
  const Bytes message(reinterpret_cast<const char*>(file.bytes().data()), file.size());
  Model model;
  Decoder decoder(file);
  for (wire::Reader r(message); r.next();) {
    const uint32_t tag = r.tag();
    if (tag == field::model::kSpecificationVersion) {
      r.read(model.specification_version);
      continue;
    }
    Bytes nested;
    r.read(nested);
    if (tag == field::model::kDescription) {
      EC_CHECK_OK(decoder.description(nested, model));
    } else if (tag == field::model::kMlProgram) {
      if (model.program) return corrupt("the model has two programs");
      EC_TRY(model.program, decoder.program(nested));
    } else if (const std::string_view kind = other_kind(tag); !kind.empty()) {
      model.other_kind = kind;
    }
  }
  if (!model.program && model.other_kind.empty())
    return corrupt("the model has no program and no other content that is known");
  if (model.program) model.other_kind.clear();
  const std::string main = model.default_function.empty() ? "main" : model.default_function;
  if (const auto described = model.functions.find(main); described != model.functions.end())
    model.interface = described->second;
  return model;
}

}  // namespace

Error corrupt(std::string message) {
  return Error(Code::CorruptFile, std::move(message))
      .hint("the file is damaged or no Core ML model: export or copy it again");
}

Entry read_entry(Bytes message) {
  Entry entry;
  for (wire::Reader r(message); r.next();) {
    if (r.tag() == field::entry::kKey)
      r.read(entry.key);
    else if (r.tag() == field::entry::kValue)
      r.read(entry.value);
    else
      r.skip();
  }
  return entry;
}

Result<std::string> read_name(Bytes text) {
  if (text.size() > kMaxNameBytes)
    return Error(Code::TooLarge, "a name is " + std::to_string(text.size()) + " bytes long")
        .hint("the file is damaged or was made to exhaust memory");
  return std::string(text);
}

Status Decoder::charge(size_t message_bytes, size_t struct_bytes) {
  constexpr size_t kHonest = 8;  // bytes of structs for a byte of the file
  const size_t free = message_bytes * kHonest;
  return struct_bytes <= free ? Status() : budget_.charge(1, struct_bytes - free);
}

Blob Decoder::part_of_file(Bytes bytes) const {
  if (bytes.empty()) return {};
  const auto* begin = reinterpret_cast<const char*>(file_.bytes().data());
  return file_.slice(static_cast<size_t>(bytes.data() - begin), bytes.size());
}

bool looks_like_model(std::span<const std::byte> bytes) {
  const Bytes message(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto seen = wire::guarded([&]() -> Result<bool> {
    bool versioned = false, content = false;
    for (wire::Reader r(message); r.next();) {
      const uint32_t tag = r.tag();
      versioned |= tag == field::model::kSpecificationVersion && r.is_varint();
      content |= r.is_message() && (tag == field::model::kMlProgram || !other_kind(tag).empty());
      r.skip();
    }
    return versioned && content;
  });
  return seen.ok() && *seen;
}

Result<Model> decode_model(const Blob& bytes) {
  return wire::guarded([&]() -> Result<Model> { return decode(bytes); });
}

}  // namespace ec::coreml
