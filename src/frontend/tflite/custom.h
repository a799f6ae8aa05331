// Custom operators whose meaning is published: by their code in the file.
#pragma once

#include <span>
#include <string_view>

#include "formats/tflite/flex_map.h"
#include "frontend/tflite/table.h"

namespace ec::tflite {

struct CustomRow {
  std::string_view code;
  Arity inputs, outputs;
  ConvertFn convert;
};
extern const std::span<const CustomRow> kMediapipeRows, kLandmarkRows, kSignalRows;

// The operator's options as a map, which has been verified.
Result<FlexMap> option_map(const OpContext& ctx);
// An option that has to be there, within the bounds.
Result<int64_t> need_option(const OpContext& ctx, const FlexMap& map, const char* key,
                            int64_t least, int64_t most);
// The options as a list of 32-bit numbers, for operators that store a C structure.
Result<std::vector<int32_t>> option_words(const OpContext& ctx, size_t at_least);
// Version of the operator's code.
int32_t custom_version(const OpContext& ctx);

}  // namespace ec::tflite
