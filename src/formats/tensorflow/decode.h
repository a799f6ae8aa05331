// Decoding of TensorFlow's messages. Every function accepts any bytes and reports what breaks the
// wire format as CorruptFile; unknown fields are skipped, packed and unpacked lists are both read.
#pragma once

#include <string>

#include "formats/protobuf/budget.h"
#include "formats/tensorflow/model.h"
#include "support/result.h"

namespace ec::tf {

using wire::Budget;

Result<GraphDef> decode_graph(Bytes message, Budget& budget);
Result<Function> decode_function(Bytes message, Budget& budget);
// The name alone.
Result<std::string_view> function_name(Bytes message);

// All meta graphs of a SavedModel.
Result<std::vector<MetaGraph>> decode_saved_model(Bytes message, Budget& budget);
// SavedObjectGraph of a SavedModel, and TrackableObjectGraph of a checkpoint.
Result<ObjectGraph> decode_object_graph(Bytes message, Budget& budget);
Result<ObjectGraph> decode_checkpoint_objects(Bytes message, Budget& budget);

Result<Tensor> decode_tensor(Bytes message);
Result<PartialShape> decode_shape(Bytes message);

// Values of attributes. A value of another kind gives nothing.
struct AttributeValue {
  enum class Kind : uint8_t {
    None,
    Text,
    Integer,
    Real,
    Bool,
    Type,
    Shape,
    Tensor,
    Function,
    List,
    Placeholder
  };
  Kind kind = Kind::None;
  std::string_view text;  // Text; the name of a Function or Placeholder
  int64_t integer = 0;    // Integer, Bool, Type
  float real = 0;
  Bytes message;  // Shape, Tensor, Function, List
};
Result<AttributeValue> decode_attribute(Bytes message);

struct AttributeList {
  std::vector<std::string_view> texts;
  std::vector<int64_t> integers;  // also booleans and types
  std::vector<float> reals;
  std::vector<Bytes> shapes;
  std::vector<std::string_view> functions;  // their names
};
Result<AttributeList> decode_list(Bytes message);

// Whether the bytes look like a GraphDef: nodes with a name and an operator in front.
bool looks_like_graph(Bytes head);

std::string data_type_name(DataType type);

}  // namespace ec::tf
