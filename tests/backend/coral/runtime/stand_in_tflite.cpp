// Stands in for the TFLite C library in tests: a model of one byte tensor whose run adds one to
// each of four elements. EC_STAND_IN: "refuse" no interpreter, "allocate" and "invoke" fail there.
// The order of deletion is checked: interpreter before model.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

struct TfLiteDelegate;
struct TfLiteModel {
  int interpreters = 0;
};
struct TfLiteTensor {
  const char* name;
  uint8_t data[4];
};
struct TfLiteInterpreterOptions {
  int32_t threads = 0;
  TfLiteDelegate* delegate = nullptr;
};
struct TfLiteInterpreter {
  TfLiteModel* model;
  TfLiteTensor in{"in", {}}, out{"out", {}};
};

namespace {
bool mode_is(const char* what) {
  const char* text = std::getenv("EC_STAND_IN");
  return text != nullptr && std::string(text) == what;
}
}  // namespace

#define EC_EXPORT __attribute__((visibility("default")))
extern "C" {
EC_EXPORT TfLiteModel* TfLiteModelCreate(const void* data, size_t size) {
  return data == nullptr || size == 0 ? nullptr : new TfLiteModel;
}
EC_EXPORT void TfLiteModelDelete(TfLiteModel* model) {
  if (model->interpreters != 0) std::abort();
  delete model;
}
EC_EXPORT TfLiteInterpreterOptions* TfLiteInterpreterOptionsCreate() {
  return new TfLiteInterpreterOptions;
}
EC_EXPORT void TfLiteInterpreterOptionsDelete(TfLiteInterpreterOptions* options) { delete options; }
EC_EXPORT void TfLiteInterpreterOptionsSetNumThreads(TfLiteInterpreterOptions* options, int32_t n) {
  options->threads = n;
}
EC_EXPORT void TfLiteInterpreterOptionsAddDelegate(TfLiteInterpreterOptions* options,
                                                   TfLiteDelegate* delegate) {
  options->delegate = delegate;
}
EC_EXPORT TfLiteInterpreter* TfLiteInterpreterCreate(TfLiteModel* model,
                                                     const TfLiteInterpreterOptions* options) {
  if (mode_is("refuse") || options->delegate == nullptr) return nullptr;
  ++model->interpreters;
  return new TfLiteInterpreter{model};
}
EC_EXPORT void TfLiteInterpreterDelete(TfLiteInterpreter* interpreter) {
  --interpreter->model->interpreters;
  delete interpreter;
}
EC_EXPORT int TfLiteInterpreterAllocateTensors(TfLiteInterpreter*) {
  return mode_is("allocate") ? 1 : 0;
}
EC_EXPORT int TfLiteInterpreterInvoke(TfLiteInterpreter* interpreter) {
  if (mode_is("invoke")) return 1;
  for (int i = 0; i < 4; ++i)
    interpreter->out.data[i] = static_cast<uint8_t>(interpreter->in.data[i] + 1);
  return 0;
}
EC_EXPORT int32_t TfLiteInterpreterGetInputTensorCount(const TfLiteInterpreter*) { return 1; }
EC_EXPORT TfLiteTensor* TfLiteInterpreterGetInputTensor(TfLiteInterpreter* interpreter, int32_t) {
  return &interpreter->in;
}
EC_EXPORT int32_t TfLiteInterpreterGetOutputTensorCount(const TfLiteInterpreter*) { return 1; }
EC_EXPORT const TfLiteTensor* TfLiteInterpreterGetOutputTensor(const TfLiteInterpreter* interpreter,
                                                               int32_t) {
  return &interpreter->out;
}
EC_EXPORT int TfLiteTensorType(const TfLiteTensor*) { return 3; }
EC_EXPORT int32_t TfLiteTensorNumDims(const TfLiteTensor*) { return 2; }
EC_EXPORT int32_t TfLiteTensorDim(const TfLiteTensor*, int32_t d) { return d == 0 ? 1 : 4; }
EC_EXPORT size_t TfLiteTensorByteSize(const TfLiteTensor*) { return 4; }
EC_EXPORT const char* TfLiteTensorName(const TfLiteTensor* tensor) { return tensor->name; }
EC_EXPORT int TfLiteTensorCopyFromBuffer(TfLiteTensor* tensor, const void* data, size_t size) {
  if (size != 4) return 1;
  std::memcpy(tensor->data, data, size);
  return 0;
}
EC_EXPORT int TfLiteTensorCopyToBuffer(const TfLiteTensor* tensor, void* data, size_t size) {
  if (size != 4) return 1;
  std::memcpy(data, tensor->data, size);
  return 0;
}
}
