// The back end `tflite`: files for any TFLite runtime.
#pragma once

#include "backend/backend.h"

namespace ec {

const Backend& tflite_backend();

}  // namespace ec
