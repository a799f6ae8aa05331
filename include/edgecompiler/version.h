// The version of the library and the tools.
#pragma once

namespace ec {

const char* version();  // "0.1.0"

}  // namespace ec
