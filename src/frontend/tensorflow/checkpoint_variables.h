// The values of a SavedModel's variables: nodes of the graph to values of the checkpoint.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "formats/tensorflow/checkpoint.h"
#include "frontend/model_source.h"
#include "frontend/tensorflow/importer.h"

namespace ec::tf {

class CheckpointVariables : public VariableSource {
 public:
  // `library` outlives the object. A model without variables has no checkpoint.
  static Result<std::unique_ptr<CheckpointVariables>> open(const ModelSource& source,
                                                           const MetaGraph& meta,
                                                           FunctionLibrary& library,
                                                           Budget& budget);

  Result<Stored> read(std::string_view node, std::string_view shared_name) override;
  // FileUnreadable when a file is no longer what it was when it was opened.
  Status check_unchanged() const;

 private:
  CheckpointVariables() = default;
  Status find_by_objects(const MetaGraph& meta, const FunctionBody& graph, Budget& budget);
  Status find_by_restore(const MetaGraph& meta, FunctionLibrary& library);

  std::optional<Checkpoint> checkpoint_;
  std::map<std::string, std::string, std::less<>> by_objects_, by_restore_;  // node -> key
  std::shared_ptr<std::map<std::string, FileBytes>> shards_;
};

}  // namespace ec::tf
