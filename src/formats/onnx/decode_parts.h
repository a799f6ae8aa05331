// What the decoders of several kinds of messages share. For decode*.cpp alone.
#pragma once

#include <string_view>

#include "formats/onnx/model.h"
#include "support/result.h"

namespace ec::onnx {

Error too_long(std::string_view what);

// These throw what breaks the wire format: call them within wire::guarded.
StringEntry read_entry(Bytes message);
Attribute read_attribute(Bytes message);

}  // namespace ec::onnx
