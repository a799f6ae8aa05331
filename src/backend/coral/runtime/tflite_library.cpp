#include "backend/coral/runtime/tflite_library.h"

#include <utility>

namespace ec::edgetpu {
namespace {

Error failed(const std::string& what) {
  return Error(Code::DeviceUnavailable, what)
      .hint(
          "libedgetpu and the TFLite library must be of matching versions: stock libedgetpu does "
          "not work with TFLite 2.12 and newer");
}

}  // namespace

Status DeviceModel::resolve() {
  const SharedLibrary& l = library_;
  EC_CHECK_OK(l.resolve("TfLiteModelCreate", f_.model_create));
  EC_CHECK_OK(l.resolve("TfLiteModelDelete", f_.model_delete));
  EC_CHECK_OK(l.resolve("TfLiteInterpreterOptionsCreate", f_.options_create));
  EC_CHECK_OK(l.resolve("TfLiteInterpreterOptionsDelete", f_.options_delete));
  EC_CHECK_OK(l.resolve("TfLiteInterpreterOptionsSetNumThreads", f_.options_set_threads));
  EC_CHECK_OK(l.resolve("TfLiteInterpreterOptionsAddDelegate", f_.options_add_delegate));
  EC_CHECK_OK(l.resolve("TfLiteInterpreterCreate", f_.interpreter_create));
  EC_CHECK_OK(l.resolve("TfLiteInterpreterDelete", f_.interpreter_delete));
  EC_CHECK_OK(l.resolve("TfLiteInterpreterAllocateTensors", f_.allocate));
  EC_CHECK_OK(l.resolve("TfLiteInterpreterInvoke", f_.invoke));
  EC_CHECK_OK(l.resolve("TfLiteInterpreterGetInputTensorCount", f_.input_count));
  EC_CHECK_OK(l.resolve("TfLiteInterpreterGetInputTensor", f_.input));
  EC_CHECK_OK(l.resolve("TfLiteInterpreterGetOutputTensorCount", f_.output_count));
  EC_CHECK_OK(l.resolve("TfLiteInterpreterGetOutputTensor", f_.output));
  EC_CHECK_OK(l.resolve("TfLiteTensorType", f_.tensor_type));
  EC_CHECK_OK(l.resolve("TfLiteTensorNumDims", f_.tensor_rank));
  EC_CHECK_OK(l.resolve("TfLiteTensorDim", f_.tensor_dim));
  EC_CHECK_OK(l.resolve("TfLiteTensorByteSize", f_.tensor_bytes));
  EC_CHECK_OK(l.resolve("TfLiteTensorName", f_.tensor_name));
  EC_CHECK_OK(l.resolve("TfLiteTensorCopyFromBuffer", f_.copy_from));
  return l.resolve("TfLiteTensorCopyToBuffer", f_.copy_to);
}

Result<DeviceModel> DeviceModel::open(const Blob& file, const DriverLibrary& driver,
                                      const Device& device, int threads,
                                      const std::string& library_name) {
  Result<SharedLibrary> library = SharedLibrary::open(library_name);
  if (!library)
    return std::move(library).error().hint("install the TFLite C library beside libedgetpu");
  DeviceModel opened(*std::move(library), file);
  EC_CHECK_OK(opened.resolve());
  EC_TRY(opened.delegate_, driver.create_delegate(device));
  const TfLiteFunctions& f = opened.f_;
  opened.model_ = f.model_create(file.bytes().data(), file.size());
  if (opened.model_ == nullptr) return failed("TFLite does not take the model");
  TfLiteInterpreterOptions* options = f.options_create();
  if (options == nullptr) return failed("TFLite gives no interpreter");
  f.options_set_threads(options, threads);
  f.options_add_delegate(options, opened.delegate_.get());
  opened.interpreter_ = f.interpreter_create(opened.model_, options);
  f.options_delete(options);
  if (opened.interpreter_ == nullptr) return failed("the device does not take the model");
  if (f.allocate(opened.interpreter_) != 0) return failed("TFLite cannot allocate the tensors");
  return opened;
}

DeviceModel::DeviceModel(DeviceModel&& other) noexcept
    : library_(std::move(other.library_)),
      file_(std::move(other.file_)),
      f_(other.f_),
      delegate_(std::move(other.delegate_)),
      model_(std::exchange(other.model_, nullptr)),
      interpreter_(std::exchange(other.interpreter_, nullptr)) {}

DeviceModel& DeviceModel::operator=(DeviceModel&& other) noexcept {
  if (this == &other) return *this;
  release();
  library_ = std::move(other.library_);
  file_ = std::move(other.file_);
  f_ = other.f_;
  delegate_ = std::move(other.delegate_);
  model_ = std::exchange(other.model_, nullptr);
  interpreter_ = std::exchange(other.interpreter_, nullptr);
  return *this;
}

DeviceModel::~DeviceModel() { release(); }

void DeviceModel::release() noexcept {
  if (interpreter_ != nullptr) f_.interpreter_delete(std::exchange(interpreter_, nullptr));
  delegate_.reset();
  if (model_ != nullptr) f_.model_delete(std::exchange(model_, nullptr));
}

TensorInfo DeviceModel::info(const TfLiteTensor* tensor) const {
  TensorInfo info;
  const char* name = f_.tensor_name(tensor);
  info.name = name != nullptr ? name : "";
  info.type = f_.tensor_type(tensor);
  for (int32_t d = 0; d < f_.tensor_rank(tensor); ++d)
    info.shape.push_back(f_.tensor_dim(tensor, d));
  info.bytes = f_.tensor_bytes(tensor);
  return info;
}

std::vector<TensorInfo> DeviceModel::inputs() const {
  std::vector<TensorInfo> list;
  for (int32_t i = 0; i < f_.input_count(interpreter_); ++i)
    list.push_back(info(f_.input(interpreter_, i)));
  return list;
}

std::vector<TensorInfo> DeviceModel::outputs() const {
  std::vector<TensorInfo> list;
  for (int32_t i = 0; i < f_.output_count(interpreter_); ++i)
    list.push_back(info(f_.output(interpreter_, i)));
  return list;
}

Result<std::vector<Blob>> DeviceModel::run(std::span<const Blob> inputs) {
  if (static_cast<int32_t>(inputs.size()) != f_.input_count(interpreter_))
    return Error(Code::MissingInput, "the model takes " +
                                         std::to_string(f_.input_count(interpreter_)) +
                                         " inputs, " + std::to_string(inputs.size()) + " given");
  for (size_t i = 0; i < inputs.size(); ++i) {
    TfLiteTensor* tensor = f_.input(interpreter_, static_cast<int32_t>(i));
    if (f_.copy_from(tensor, inputs[i].bytes().data(), inputs[i].size()) != 0)
      return Error(Code::InputShapeMismatch,
                   "input " + std::to_string(i) + " has " + std::to_string(inputs[i].size()) +
                       " bytes, the device expects " + std::to_string(f_.tensor_bytes(tensor)));
  }
  if (f_.invoke(interpreter_) != 0)
    return Error(Code::ExecutionFailed, "the run on the Edge TPU failed")
        .hint("check the cable and power supply of the device, then run again");
  std::vector<Blob> results;
  for (int32_t i = 0; i < f_.output_count(interpreter_); ++i) {
    const TfLiteTensor* tensor = f_.output(interpreter_, i);
    std::vector<std::byte> bytes(f_.tensor_bytes(tensor));
    if (f_.copy_to(tensor, bytes.data(), bytes.size()) != 0)
      return Error(Code::ExecutionFailed, "an output of the Edge TPU cannot be read");
    results.push_back(Blob::copy_of(std::span<const std::byte>(bytes)));
  }
  return results;
}

}  // namespace ec::edgetpu
