// libFuzzer: JPEG, PNG, BMP, PPM and PGM pictures.
#include "formats/image/image.h"
#include "fuzz/reader_fuzzer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)ec::image::decode(std::as_bytes(std::span(data, size))).ok();
  return 0;
}
