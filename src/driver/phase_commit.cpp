// commit: the files take their names, all or none.
#include "driver/graph_files.h"
#include "driver/phases.h"
#include "support/atomic_directory.h"

namespace ec {

Status commit(Compilation& compilation) {
  std::vector<ArtifactFile> files;
  std::vector<AtomicDirectory> directories;
  for (const CompiledModel& model : compilation.models()) {
    if (!model.emitted) continue;
    const EmittedModel& emitted = *model.emitted;
    files.insert(files.end(), emitted.beside.begin(), emitted.beside.end());
    if (emitted.directory.empty()) {
      files.insert(files.end(), emitted.files.begin(), emitted.files.end());
      continue;
    }
    EC_TRY(AtomicDirectory directory, AtomicDirectory::create(emitted.directory));
    for (const ArtifactFile& file : emitted.files)
      EC_CHECK_OK(directory.write(file.path.lexically_relative(emitted.directory), file.parts));
    directories.push_back(std::move(directory));
  }
  EC_CHECK_OK(write_files(files));
  for (AtomicDirectory& directory : directories)
    if (Status status = directory.commit(); !status.ok()) {
      std::error_code ignored;
      for (const ArtifactFile& file : files) std::filesystem::remove(file.path, ignored);
      return status;
    }
  return {};
}

}  // namespace ec
