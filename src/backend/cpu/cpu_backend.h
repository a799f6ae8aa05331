// The back end `cpu`: this machine, through the CPU session.
#pragma once

#include "backend/backend.h"

namespace ec {

const Backend& cpu_backend();

}  // namespace ec
