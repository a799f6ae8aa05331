// libedgetpu, Google's driver of the Edge TPU, through its C interface.
#pragma once

#include <string>
#include <vector>

#include "backend/coral/runtime/shared_library.h"

struct TfLiteDelegate;

namespace ec::edgetpu {

enum class Bus : int { Pci = 0, Usb = 1 };

struct Device {
  Bus bus = Bus::Usb;
  std::string path;
};

class DriverLibrary {
 public:
  static Result<DriverLibrary> open(const std::string& name = "libedgetpu.so.1");

  std::string version() const;
  std::vector<Device> devices() const;  // none is a normal answer
  // A delegate for the device; null results are errors here.
  Result<std::shared_ptr<TfLiteDelegate>> create_delegate(const Device& device) const;

 private:
  // As in the library's header.
  struct RawDevice {
    int type;
    const char* path;
  };
  struct RawOption {
    const char* name;
    const char* value;
  };

  explicit DriverLibrary(SharedLibrary library) : library_(std::move(library)) {}

  SharedLibrary library_;
  RawDevice* (*list_devices_)(size_t*) = nullptr;
  void (*free_devices_)(RawDevice*) = nullptr;
  TfLiteDelegate* (*create_delegate_)(int, const char*, const RawOption*, size_t) = nullptr;
  void (*free_delegate_)(TfLiteDelegate*) = nullptr;
  const char* (*version_)() = nullptr;
};

}  // namespace ec::edgetpu
