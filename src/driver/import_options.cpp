#include "driver/import_options.h"

namespace ec {

Result<ImportOptions> import_options(const Options& options) {
  ImportOptions result;
  result.input_shapes = options.shapes("input-shape");
  result.dims = options.sizes("dim");
  for (const auto& [name, text] : options.named_texts("input-value")) {
    EC_TRY(result.input_values[name], parse_input_value(text));
  }
  return result;
}

}  // namespace ec
