// Decoding of ONNX messages. Every function accepts any bytes and reports what breaks the wire
// format as CorruptFile; unknown fields are skipped, packed and unpacked lists are both read.
#pragma once

#include "formats/onnx/model.h"
#include "formats/protobuf/budget.h"
#include "support/result.h"

namespace ec::onnx {

using wire::Budget;

Result<Model> decode_model(Bytes message, Budget& budget);
Result<Graph> decode_graph(Bytes message, Budget& budget);
Result<Function> decode_function(Bytes message, Budget& budget);
Result<Tensor> decode_tensor(Bytes message);
Result<SparseTensor> decode_sparse_tensor(Bytes message);
Result<Type> decode_type(Bytes message);

// Values of attributes; the type is the caller's to check.
Result<std::vector<int64_t>> attribute_ints(const Attribute& attribute);
Result<std::vector<float>> attribute_floats(const Attribute& attribute);
Result<std::vector<std::string_view>> attribute_strings(const Attribute& attribute);
// The one message of a Tensor, SparseTensor, Graph or TypeProto attribute.
Result<Bytes> attribute_message(const Attribute& attribute);
// All messages of a Tensors or Graphs attribute.
Result<std::vector<Bytes>> attribute_messages(const Attribute& attribute);

// Whether the bytes look like a ModelProto: field 1 a small number, a graph in field 7.
bool looks_like_model(Bytes head);

}  // namespace ec::onnx
