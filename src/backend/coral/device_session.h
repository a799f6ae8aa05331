// Sessions on an Edge TPU: Google's driver and the TFLite C library are loaded where they are
// installed.
#pragma once

#include "backend/backend.h"
#include "support/blob.h"

namespace ec::coral {

// Opens Edge TPU code on the first device. `interface` is the imported file. DeviceUnavailable
// tells which library or device is missing.
Result<OpenedDevice> open_on_device(const Blob& file, const Graph& interface, int threads);

}  // namespace ec::coral
