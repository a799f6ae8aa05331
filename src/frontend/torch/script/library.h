// The source files of an archive, parsed when a name of theirs is first needed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "formats/torch/archive.h"
#include "frontend/torch/script/ast.h"

namespace ec::torch::script {

struct Definition {
  const SourceFile* file = nullptr;
  const Class* type = nullptr;  // one of these
  const Function* function = nullptr;
};

class Library {
 public:
  explicit Library(const Archive& archive) : archive_(archive) {}

  // "__torch__.torch.nn.modules.conv.Conv2d"; nothing found is an empty definition.
  Result<Definition> find(const std::string& name);
  // Classes of PyTorch itself have no source.
  static bool is_builtin(std::string_view name) {
    return name.starts_with("__torch__.torch.classes.");
  }

 private:
  const Archive& archive_;
  std::map<std::string, std::unique_ptr<SourceFile>> files_;  // by record; null: not there
};

}  // namespace ec::torch::script
