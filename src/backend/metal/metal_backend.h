#pragma once

#include "backend/backend.h"

namespace ec {

// Apple's Core ML packages.
const Backend& metal_backend();

}  // namespace ec
