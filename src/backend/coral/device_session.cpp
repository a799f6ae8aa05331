#include "backend/coral/device_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/coral/runtime/tflite_library.h"
#include "support/threads.h"

namespace ec::coral {
namespace {

class EdgeTpuRunner : public DeviceRunner {
 public:
  EdgeTpuRunner(edgetpu::DeviceModel model, std::vector<TensorType> outputs)
      : model_(std::move(model)), outputs_(std::move(outputs)) {}

  Result<std::vector<Value>> run(std::span<const Value> inputs) override {
    std::vector<Blob> given;
    for (const Value& input : inputs) given.push_back(input.data);
    EC_TRY(const std::vector<Blob> results, model_.run(given));
    std::vector<Value> values;
    for (size_t i = 0; i < results.size(); ++i)
      values.emplace_back(outputs_[i].dtype, outputs_[i].shape->sizes(), results[i]);
    return values;
  }

 private:
  edgetpu::DeviceModel model_;
  std::vector<TensorType> outputs_;
};

// The library sees the same tensors as the importer; a hostile file may describe them in two ways.
ec::Status check_interface(std::span<const edgetpu::TensorInfo> device,
                           std::span<const TensorDescription> ours, std::string_view what) {
  bool same = device.size() == ours.size();
  for (size_t i = 0; same && i < ours.size(); ++i) {
    const auto bytes = ours[i].type.num_bytes();
    same = bytes && static_cast<size_t>(*bytes) == device[i].bytes;
  }
  if (same) return {};
  return Error(Code::DeviceUnavailable,
               fmt::format("the device has other {} than the file tells", what))
      .hint("compile the model again with edgetpu_compiler");
}

std::vector<TensorDescription> described(const std::vector<Tensor*>& tensors) {
  std::vector<TensorDescription> list;
  for (const Tensor* tensor : tensors) list.push_back({tensor->name(), tensor->type()});
  return list;
}

}  // namespace

Result<OpenedDevice> open_on_device(const Blob& file, const Graph& interface, int threads) {
  EC_TRY(const edgetpu::DriverLibrary driver, edgetpu::DriverLibrary::open());
  const std::vector<edgetpu::Device> devices = driver.devices();
  if (devices.empty())
    return Error(Code::DeviceUnavailable, "no Edge TPU is connected")
        .note("driver: " + driver.version())
        .hint(
            "connect a Coral device, or run the .tflite file that the code was compiled from on "
            "the CPU");
  const edgetpu::Device& device = devices.front();
  const int used = threads_for(threads);
  EC_TRY(edgetpu::DeviceModel model, edgetpu::DeviceModel::open(file, driver, device, used));
  EC_CHECK_OK(check_interface(model.inputs(), described(interface.inputs()), "inputs"));
  EC_CHECK_OK(check_interface(model.outputs(), described(interface.outputs()), "outputs"));
  std::vector<TensorType> outputs;
  for (const Tensor* output : interface.outputs()) outputs.push_back(output->type());
  auto runner = std::make_unique<EdgeTpuRunner>(std::move(model), std::move(outputs));
  OpenedDevice opened;
  opened.session = Session::on_device(interface, std::move(runner), used);
  opened.device = fmt::format("Edge TPU at {} ({})", device.path,
                              device.bus == edgetpu::Bus::Usb ? "usb" : "pci");
  return opened;
}

}  // namespace ec::coral
