// Field numbers of Core ML's messages (Model.proto, FeatureTypes.proto, MIL.proto), shared by
// reader and writer. Numbers never change; fields that are not listed are skipped.
#pragma once

#include <cstdint>

namespace ec::coreml::field {

namespace model {
enum : uint32_t { kSpecificationVersion = 1, kDescription = 2, kMlProgram = 502 };
}
namespace description {
enum : uint32_t {
  kInput = 1,
  kOutput = 10,
  kPredictedFeature = 11,
  kPredictedProbabilities = 12,
  kState = 13,
  kFunctions = 20,
  kDefaultFunction = 21,
  kMetadata = 100
};
}
namespace function_description {
enum : uint32_t {
  kName = 1,
  kInput = 2,
  kOutput = 3,
  kPredictedFeature = 4,
  kPredictedProbabilities = 5,
  kState = 6
};
}
namespace feature {
enum : uint32_t { kName = 1, kDescription = 2, kType = 3 };
}
namespace metadata {
enum : uint32_t { kDescription = 1, kVersion = 2, kAuthor = 3, kLicense = 4, kUserDefined = 100 };
}
namespace feature_type {
enum : uint32_t {
  kInt64 = 1,
  kDouble = 2,
  kString = 3,
  kImage = 4,
  kMultiArray = 5,
  kDictionary = 6,
  kSequence = 7,
  kState = 8,
  kIsOptional = 1000
};
}
namespace array {
enum : uint32_t {
  kShape = 1,
  kDataType = 2,
  kEnumeratedShapes = 21,
  kShapeRange = 31,
  kIntDefault = 41,
  kFloatDefault = 51,
  kDoubleDefault = 61
};
}
namespace enumerated {  // shapes and image sizes
enum : uint32_t { kItems = 1 };
}
namespace shape {
enum : uint32_t { kSizes = 1 };
}
namespace shape_range {
enum : uint32_t { kSizeRanges = 1 };
}
namespace size_range {
enum : uint32_t { kLower = 1, kUpper = 2 };
}
namespace image {
enum : uint32_t {
  kWidth = 1,
  kHeight = 2,
  kColorSpace = 3,
  kEnumeratedSizes = 21,
  kSizeRange = 31
};
}
namespace image_size {  // and the two ranges of sizes
enum : uint32_t { kWidth = 1, kHeight = 2 };
}
namespace dictionary_feature {
enum : uint32_t { kInt64Key = 1, kStringKey = 2 };
}
namespace state_feature {
enum : uint32_t { kArray = 1 };
}

// --- MIL.proto ----------------------------------------------------------------------------------

namespace entry {  // of every map
enum : uint32_t { kKey = 1, kValue = 2 };
}
namespace program {
enum : uint32_t { kVersion = 1, kFunctions = 2, kDoc = 3, kAttributes = 4 };
}
namespace function {
enum : uint32_t { kInputs = 1, kOpset = 2, kBlocks = 3, kAttributes = 4 };
}
namespace block {
enum : uint32_t { kInputs = 1, kOutputs = 2, kOperations = 3, kAttributes = 4 };
}
namespace operation {
enum : uint32_t { kType = 1, kInputs = 2, kOutputs = 3, kBlocks = 4, kAttributes = 5 };
}
namespace argument {
enum : uint32_t { kBindings = 1 };
}
namespace binding {
enum : uint32_t { kName = 1, kValue = 2 };
}
namespace named_type {
enum : uint32_t { kName = 1, kType = 2 };
}
namespace value_type {
enum : uint32_t { kTensor = 1, kList = 2, kTuple = 3, kDictionary = 4, kState = 5 };
}
namespace tensor_type {
enum : uint32_t { kDataType = 1, kRank = 2, kDimensions = 3 };
}
namespace list_type {
enum : uint32_t { kType = 1, kLength = 2 };
}
namespace tuple_type {
enum : uint32_t { kTypes = 1 };
}
namespace dictionary_type {
enum : uint32_t { kKey = 1, kValue = 2 };
}
namespace state_type {
enum : uint32_t { kWrapped = 1 };
}
namespace dimension {
enum : uint32_t { kConstant = 1, kUnknown = 2 };
}
namespace constant_dimension {
enum : uint32_t { kSize = 1 };
}
namespace unknown_dimension {
enum : uint32_t { kVariadic = 1 };
}
namespace value {
enum : uint32_t { kType = 2, kImmediate = 3, kBlobFile = 5 };
}
namespace immediate {
enum : uint32_t { kTensor = 1, kTuple = 2, kList = 3, kDictionary = 4 };
}
namespace blob_file {
enum : uint32_t { kFileName = 1, kOffset = 2 };
}
namespace tensor_value {
enum : uint32_t {
  kFloats = 1,
  kInts = 2,
  kBools = 3,
  kStrings = 4,
  kLongInts = 5,
  kDoubles = 6,
  kBytes = 7
};
}
namespace repeated {  // of each kind of tensor value, and of lists, tuples and dictionaries
enum : uint32_t { kValues = 1 };
}

}  // namespace ec::coreml::field
