// Stands in for libedgetpu in tests. EC_STAND_IN says how it behaves: "none" no device, "broken" a
// device that does not open, anything else one USB device.
#include <cstdlib>
#include <cstring>
#include <string>

struct TfLiteDelegate {
  int alive = 1;
};

namespace {
struct Device {
  int type;
  const char* path;
};
int g_delegates = 0;
std::string mode() {
  const char* text = std::getenv("EC_STAND_IN");
  return text != nullptr ? text : "";
}
}  // namespace

extern "C" {
__attribute__((visibility("default"))) Device* edgetpu_list_devices(size_t* count) {
  if (mode() == "none") {
    *count = 0;
    return nullptr;
  }
  *count = 1;
  return new Device{1, "/sys/bus/usb/devices/1-1"};
}
__attribute__((visibility("default"))) void edgetpu_free_devices(Device* list) { delete list; }
__attribute__((visibility("default"))) TfLiteDelegate* edgetpu_create_delegate(int type,
                                                                               const char* name,
                                                                               const void*,
                                                                               size_t count) {
  if (mode() == "broken" || type != 1 || name == nullptr || count != 0) return nullptr;
  ++g_delegates;
  return new TfLiteDelegate;
}
__attribute__((visibility("default"))) void edgetpu_free_delegate(TfLiteDelegate* delegate) {
  --g_delegates;
  delete delegate;
}
#ifndef EC_STAND_IN_WITHOUT_VERSION
__attribute__((visibility("default"))) const char* edgetpu_version() { return "stand-in 1"; }
#endif
__attribute__((visibility("default"))) int stand_in_delegates() { return g_delegates; }
}
