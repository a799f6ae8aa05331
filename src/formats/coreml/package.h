// Core ML models as bytes: `.mlpackage` directories, `.mlmodel` files, and the parts that they are
// made of. Reading treats every byte as hostile: counts, depth, offsets and sizes are checked
// before use, and memory stays within what the file justifies.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/coreml/model.h"
#include "support/blob.h"
#include "support/result.h"

namespace ec::coreml {

// Paths below a package.
inline constexpr std::string_view kManifestPath = "Manifest.json";
inline constexpr std::string_view kModelPath = "Data/com.apple.CoreML/model.mlmodel";
inline constexpr std::string_view kWeightsPath = "Data/com.apple.CoreML/weights/weight.bin";

// --- reading ------------------------------------------------------------------------------------

// The path of the model below the package, by the manifest. CorruptFile: no valid manifest, or a
// path that leaves the package.
Result<std::string> model_path_of(const Blob& manifest);

// Whether bytes are a Core ML model of any kind, told by the fields of the outermost message. ONNX
// files begin alike.
bool looks_like_model(std::span<const std::byte> bytes);
// The protobuf of a model. Values that lie in the weight file keep their `weight` and have no data.
Result<Model> decode_model(const Blob& bytes);
// The elements of a value in MIL blob storage, version 2, checked against type and size.
Result<Blob> read_weight(const Blob& file, const WeightRef& ref, const ValueType& type);
// Fills the data of every value that refers to the weight file; parts of `file` are shared, not
// copied.
Status resolve_weights(Model& model, const Blob& file);
// The same where the names of the references decide about the file.
Status resolve_weights(Model& model,
                       const std::function<Result<Blob>(const std::string& file)>& open);

// --- writing ------------------------------------------------------------------------------------

// The weight file in the making. Equal contents of equal type share one place.
class WeightFile {
 public:
  WeightRef add(DataType type, int64_t elements, const Blob& data);
  // The parts of the file one after the other; a header alone where nothing was added.
  std::vector<Blob> finish() &&;
  bool empty() const;

 private:
  struct Entry {
    DataType type;
    int64_t elements;
    Blob data;
    uint64_t offset;  // of the metadata
  };
  std::vector<Entry> entries_;
  std::multimap<uint64_t, size_t> by_hash_;
  uint64_t end_ = 64;
};

// The protobuf of a model; the same model gives the same bytes.
std::string encode_model(const Model& model);
// The manifest of a package whose identifiers follow from `content_hash` (hexadecimal SHA-256).
std::string encode_manifest(std::string_view content_hash, bool has_weights);

}  // namespace ec::coreml
