// The back end `coral`: integer TFLite files for the Coral Edge TPU.
#pragma once

#include "backend/backend.h"

namespace ec {

const Backend& coral_backend();

}  // namespace ec
