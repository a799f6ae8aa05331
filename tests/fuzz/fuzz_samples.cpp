// libFuzzer: tensors of torch.save files as calibration samples. The pickle is data and nothing in
// it is executed.
#include "fuzz/reader_fuzzer.h"
#include "quantize/calibration/torch_samples.h"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return ec::fuzz::mutate_archive(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ec::quantize;
  if (size == 0) return 0;
  const ec::fuzz::MemoryBound bound(size);
  const ec::fuzz::MemoryFile on_disk({data, size});
  const auto file = TorchFile::open(on_disk.path());
  if (!file.ok()) return 0;
  const ec::TensorType image(ec::DType::F32, ec::Shape{1, 3, 2, 2});
  for (const std::vector<ModelInput>& inputs :
       {std::vector<ModelInput>{{"x", image}},
        std::vector<ModelInput>{{"x", image}, {"y", image}}}) {
    const auto records = (*file)->records(inputs);
    if (!records.ok()) continue;
    size_t read = 0;
    for (const TorchFile::Record& record : *records) {
      if (++read > 16) break;
      for (const TorchFile::Entry& entry : record.tensors) {
        (void)(*file)->describe(entry.tensor).ok();
        (void)(*file)->read(entry.tensor).ok();
      }
      if (record.label) (void)(*file)->read(*record.label).ok();
    }
  }
  return 0;
}
