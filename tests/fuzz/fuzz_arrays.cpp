// libFuzzer: .npy files and ZIP archives, as wholes and piece by piece.
#include "formats/npy/array_file.h"
#include "formats/npy/npy.h"
#include "formats/zip/zip.h"
#include "fuzz/reader_fuzzer.h"

namespace {

// The first and the last bytes of an array, then all of it.
void read_parts(ec::Result<ec::npy::ArrayFile> file) {
  if (!file.ok()) return;
  int64_t bytes = file->array().item_size;
  for (const int64_t size : file->array().shape) bytes *= size;
  const auto part = static_cast<size_t>(std::min<int64_t>(bytes, 64));
  (void)file->read(static_cast<uint64_t>(bytes) - part, part).ok();
  (void)file->read(0, part).ok();
  (void)std::move(*file).read_all().ok();
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return ec::fuzz::mutate_archive(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ec::Blob file = ec::fuzz::blob_of(data, size);
  const ec::fuzz::MemoryFile on_disk({data, size});
  if (!ec::fuzz::text_of(data, size).starts_with("PK")) {
    const ec::fuzz::MemoryBound bound(size);
    (void)ec::npy::parse(file).ok();
    read_parts(ec::npy::ArrayFile::open(on_disk.path()));
    return 0;
  }
  const ec::fuzz::MemoryBound bound(size);
  if (const auto archive = ec::zip::Archive::open(file); archive.ok())
    for (const ec::zip::Entry& entry : archive->entries()) (void)archive->read(entry).ok();
  const auto names = ec::npy::npz_names(on_disk.path());
  if (!names.ok()) return 0;
  for (size_t i = 0; i < std::min<size_t>(names->size(), 8); ++i)
    read_parts(ec::npy::ArrayFile::open_npz(on_disk.path(), (*names)[i]));
  return 0;
}
