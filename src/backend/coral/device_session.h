// Sessions on an Edge TPU: Google's driver and the TFLite C library are loaded where they are
// installed.
#pragma once

#include <memory>
#include <string>

#include "runtime/session.h"
#include "support/blob.h"

namespace ec {

struct CoralSession {
  std::unique_ptr<Session> session;
  std::string device;  // "Edge TPU at /sys/bus/usb/devices/1-1 (usb)"
};

// Opens Edge TPU code on the first device. `interface` is the imported file. DeviceUnavailable
// tells which library or device is missing.
Result<CoralSession> open_on_coral(const Blob& file, const Graph& interface, int threads);

}  // namespace ec
