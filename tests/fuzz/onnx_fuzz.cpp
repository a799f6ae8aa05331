// libFuzzer target: any bytes go into the ONNX importer; what it accepts has to be a sound graph.
//   cmake -DEC_FUZZ=ON -DEC_SANITIZE=ON -DCMAKE_CXX_COMPILER=clang++-16 ... && onnx_fuzz seeds/
#include <cstdlib>

#include "frontend/onnx/onnx.h"
#include "ir/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ec::Blob file = ec::Blob::copy_of(std::span(data, size));
  ec::DiagnosticSink sink;
  const auto graph = ec::import_onnx(file, "fuzz.onnx", {}, sink);
  if (graph.ok() == sink.has_errors()) std::abort();
  if (graph.ok() && !ec::verify(**graph).empty()) std::abort();
  return 0;
}
