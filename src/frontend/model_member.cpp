#include "frontend/model_member.h"

#include "support/strings.h"

namespace ec {

Result<InputFile> open_member(const ModelSource& source, const std::filesystem::path& relative) {
  std::error_code error;
  const auto root = std::filesystem::canonical(source.path(), error);
  const auto file =
      error ? std::filesystem::path() : std::filesystem::canonical(root / relative, error);
  if (error)
    return Error(Code::FileNotFound, "the model lacks '" + printable(relative.string()) + "'")
        .file(source.name());
  const auto inside = file.lexically_relative(root);
  if (!source.is_directory() || inside.empty() || *inside.begin() == "..")
    return Error(Code::FileUnreadable,
                 "'" + printable(relative.string()) + "' leaves the model's folder")
        .file(source.name());
  return InputFile::open(file);
}

}  // namespace ec
