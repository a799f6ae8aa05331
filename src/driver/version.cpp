#include "edgecompiler/version.h"

namespace ec {

const char* version() { return EC_VERSION; }

}  // namespace ec
