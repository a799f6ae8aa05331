// libFuzzer: .npy files and ZIP archives.
#include "formats/npy/npy.h"
#include "formats/zip/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ec::Blob file = ec::Blob::copy_of(std::span<const uint8_t>(data, size));
  (void)ec::npy::parse(file).ok();
  const auto archive = ec::zip::Archive::open(file);
  if (!archive.ok()) return 0;
  for (const ec::zip::Entry& entry : archive->entries())
    if (entry.size < (1u << 24)) (void)archive->read(entry).ok();
  return 0;
}
