#include "frontend/torch/script/library.h"

#include <algorithm>

#include "frontend/torch/script/parser.h"

namespace ec::torch::script {

// a.b.Class is in code/a/b.py.
Result<Definition> Library::find(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return Definition{};
  std::string record = name.substr(0, dot);
  std::replace(record.begin(), record.end(), '.', '/');
  record = "code/" + record + ".py";
  auto found = files_.find(record);
  if (found == files_.end()) {
    std::unique_ptr<SourceFile> file;
    if (archive_.has(record)) {
      EC_TRY(const std::string text, archive_.read_text(record));
      EC_TRY(SourceFile parsed, parse_source(record, text));
      file = std::make_unique<SourceFile>(std::move(parsed));
    }
    found = files_.emplace(std::move(record), std::move(file)).first;
  }
  Definition definition;
  definition.file = found->second.get();
  if (definition.file == nullptr) return definition;
  const std::string last = name.substr(dot + 1);
  if (const auto type = definition.file->classes.find(last); type != definition.file->classes.end())
    definition.type = &type->second;
  if (const auto function = definition.file->functions.find(last);
      function != definition.file->functions.end())
    definition.function = &function->second;
  return definition;
}

}  // namespace ec::torch::script
