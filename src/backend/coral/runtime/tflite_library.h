// The TFLite C library, which runs the operators before and behind the Edge TPU's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/coral/runtime/driver_library.h"
#include "support/blob.h"

struct TfLiteModel;
struct TfLiteInterpreterOptions;
struct TfLiteInterpreter;
struct TfLiteTensor;

namespace ec::edgetpu {

inline constexpr std::string_view kTfliteLibrary = "libtensorflowlite_c.so";

struct TensorInfo {
  std::string name;
  int type = 0;  // TFLite's id of the element type
  std::vector<int64_t> shape;
  size_t bytes = 0;
};

// The functions that are used, as in the library's header.
struct TfLiteFunctions {
  TfLiteModel* (*model_create)(const void*, size_t) = nullptr;
  void (*model_delete)(TfLiteModel*) = nullptr;
  TfLiteInterpreterOptions* (*options_create)() = nullptr;
  void (*options_delete)(TfLiteInterpreterOptions*) = nullptr;
  void (*options_set_threads)(TfLiteInterpreterOptions*, int32_t) = nullptr;
  void (*options_add_delegate)(TfLiteInterpreterOptions*, TfLiteDelegate*) = nullptr;
  TfLiteInterpreter* (*interpreter_create)(const TfLiteModel*,
                                           const TfLiteInterpreterOptions*) = nullptr;
  void (*interpreter_delete)(TfLiteInterpreter*) = nullptr;
  int (*allocate)(TfLiteInterpreter*) = nullptr;
  int (*invoke)(TfLiteInterpreter*) = nullptr;
  int32_t (*input_count)(const TfLiteInterpreter*) = nullptr;
  TfLiteTensor* (*input)(const TfLiteInterpreter*, int32_t) = nullptr;
  int32_t (*output_count)(const TfLiteInterpreter*) = nullptr;
  const TfLiteTensor* (*output)(const TfLiteInterpreter*, int32_t) = nullptr;
  int (*tensor_type)(const TfLiteTensor*) = nullptr;
  int32_t (*tensor_rank)(const TfLiteTensor*) = nullptr;
  int32_t (*tensor_dim)(const TfLiteTensor*, int32_t) = nullptr;
  size_t (*tensor_bytes)(const TfLiteTensor*) = nullptr;
  const char* (*tensor_name)(const TfLiteTensor*) = nullptr;
  int (*copy_from)(TfLiteTensor*, const void*, size_t) = nullptr;
  int (*copy_to)(const TfLiteTensor*, void*, size_t) = nullptr;
};

// A model opened on a device. The interpreter goes before the delegate, the model after both.
class DeviceModel {
 public:
  static Result<DeviceModel> open(const Blob& file, const DriverLibrary& driver,
                                  const Device& device, int threads,
                                  const std::string& library = std::string(kTfliteLibrary));
  DeviceModel(DeviceModel&& other) noexcept;
  DeviceModel& operator=(DeviceModel&&) noexcept;
  ~DeviceModel();

  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;
  // One value of the right size per input; the outputs' bytes come back.
  Result<std::vector<Blob>> run(std::span<const Blob> inputs);

 private:
  DeviceModel(SharedLibrary library, Blob file)
      : library_(std::move(library)), file_(std::move(file)) {}
  Status resolve();
  TensorInfo info(const TfLiteTensor* tensor) const;
  void release() noexcept;

  SharedLibrary library_;
  Blob file_;  // the model reads from it
  TfLiteFunctions f_;
  std::shared_ptr<TfLiteDelegate> delegate_;
  TfLiteModel* model_ = nullptr;
  TfLiteInterpreter* interpreter_ = nullptr;
};

}  // namespace ec::edgetpu
