#include "backend/coral/runtime/driver_library.h"

namespace ec::edgetpu {

Result<DriverLibrary> DriverLibrary::open(const std::string& name) {
  Result<SharedLibrary> library = SharedLibrary::open(name);
  if (!library)
    return std::move(library).error().hint(
        "install libedgetpu1-std from Google's Coral repository on the machine with the device");
  DriverLibrary driver(*std::move(library));
  EC_CHECK_OK(driver.library_.resolve("edgetpu_list_devices", driver.list_devices_));
  EC_CHECK_OK(driver.library_.resolve("edgetpu_free_devices", driver.free_devices_));
  EC_CHECK_OK(driver.library_.resolve("edgetpu_create_delegate", driver.create_delegate_));
  EC_CHECK_OK(driver.library_.resolve("edgetpu_free_delegate", driver.free_delegate_));
  EC_CHECK_OK(driver.library_.resolve("edgetpu_version", driver.version_));
  return driver;
}

std::string DriverLibrary::version() const {
  const char* text = version_();
  return text != nullptr ? text : "";
}

std::vector<Device> DriverLibrary::devices() const {
  size_t count = 0;
  RawDevice* list = list_devices_(&count);
  std::vector<Device> devices;
  if (list == nullptr) return devices;
  for (size_t i = 0; i < count; ++i)
    devices.push_back(
        {list[i].type == 0 ? Bus::Pci : Bus::Usb, list[i].path != nullptr ? list[i].path : ""});
  free_devices_(list);
  return devices;
}

Result<std::shared_ptr<TfLiteDelegate>> DriverLibrary::create_delegate(const Device& device) const {
  TfLiteDelegate* delegate =
      create_delegate_(static_cast<int>(device.bus), device.path.c_str(), nullptr, 0);
  if (delegate == nullptr)
    return Error(Code::DeviceUnavailable, "the Edge TPU at '" + device.path + "' did not open")
        .hint("check that no other program holds it, and the permissions of its device file");
  // The library has to stay until the delegate is gone.
  return std::shared_ptr<TfLiteDelegate>(
      delegate, [free = free_delegate_, keep = library_](TfLiteDelegate* d) { free(d); });
}

}  // namespace ec::edgetpu
