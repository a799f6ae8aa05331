// Field numbers of onnx.proto (onnx 1.23; old fields never change), shared by reader and writer.
#pragma once

#include <cstdint>

namespace ec::onnx::field {

namespace model {
enum : uint32_t {
  kIrVersion = 1,
  kProducerName = 2,
  kProducerVersion = 3,
  kDomain = 4,
  kModelVersion = 5,
  kDoc = 6,
  kGraph = 7,
  kOpsetImport = 8,
  kMetadata = 14,
  kFunctions = 25
};
}
namespace opset {
enum : uint32_t { kDomain = 1, kVersion = 2 };
}
namespace entry {
enum : uint32_t { kKey = 1, kValue = 2 };
}
namespace graph {
enum : uint32_t {
  kNode = 1,
  kName = 2,
  kInitializer = 5,
  kDoc = 10,
  kInput = 11,
  kOutput = 12,
  kValueInfo = 13,
  kSparseInitializer = 15
};
}
namespace node {
enum : uint32_t {
  kInput = 1,
  kOutput = 2,
  kName = 3,
  kOpType = 4,
  kAttribute = 5,
  kDomain = 7,
  kOverload = 8
};
}
namespace attribute {
enum : uint32_t {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kGraph = 6,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kTensors = 10,
  kGraphs = 11,
  kTypeProto = 14,
  kTypeProtos = 15,
  kType = 20,
  kReference = 21,
  kSparseTensor = 22,
  kSparseTensors = 23
};
}
namespace tensor {
enum : uint32_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14
};
}
namespace sparse_tensor {
enum : uint32_t { kValues = 1, kIndices = 2, kDims = 3 };
}
namespace value_info {
enum : uint32_t { kName = 1, kType = 2 };
}
namespace type {
enum : uint32_t {
  kTensor = 1,
  kSequence = 4,
  kMap = 5,
  kOpaque = 7,
  kSparseTensor = 8,
  kOptional = 9
};
}
namespace tensor_type {
enum : uint32_t { kElement = 1, kShape = 2 };
}
namespace shape {
enum : uint32_t { kDim = 1 };
}
namespace dimension {
enum : uint32_t { kValue = 1, kParam = 2 };
}
namespace function {
enum : uint32_t {
  kName = 1,
  kInput = 4,
  kOutput = 5,
  kAttribute = 6,
  kNode = 7,
  kOpsetImport = 9,
  kDomain = 10,
  kAttributeProto = 11,
  kOverload = 13
};
}

}  // namespace ec::onnx::field
