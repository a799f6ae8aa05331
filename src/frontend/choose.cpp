#include "frontend/choose.h"

#include "frontend/foreign_formats.h"

namespace ec {

std::optional<DetectedFormat> describe_unreadable(std::span<const Frontend* const> frontends,
                                                  const ModelSource& source) {
  for (const Frontend* frontend : frontends)
    if (std::optional<DetectedFormat> format = frontend->explain(source)) return format;
  return describe_foreign_format(source);
}

Result<const Frontend*> choose_frontend(std::span<const Frontend* const> frontends,
                                        const ModelSource& source) {
  const Frontend* best = nullptr;
  int best_score = 0;
  for (const Frontend* frontend : frontends) {
    const int score = frontend->probe(source);
    if (score > best_score) best = frontend, best_score = score;
  }
  // What could not be read looks like another format.
  EC_CHECK_OK(source.content().fault());
  constexpr int kSure = 50;
  if (best_score >= kSure) return best;
  if (const auto format = describe_unreadable(frontends, source))
    return Error(Code::UnsupportedFormat, "this is " + format->name)
        .file(source.name())
        .hint(format->hint);
  // A file with the right extension and odd content gets the front end's own account of it.
  if (best != nullptr && !source.is_directory()) return best;
  if (source.is_directory())
    return Error(Code::UnknownFormat, "the directory holds no model that is known")
        .file(source.name())
        .hint("give the model file itself");
  return Error(Code::UnknownFormat, "the content matches no known model format")
      .file(source.name())
      .hint(
          "give an ONNX, TFLite, TensorFlow, Keras, PyTorch or Core ML model; formats are told by "
          "content, not by extension");
}

}  // namespace ec
