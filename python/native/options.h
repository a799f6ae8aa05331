// Python keywords as options.
#pragma once

#include "bindings.h"
#include "edgecompiler/options.h"
#include "options/verb.h"

namespace ec::python {

// The keywords that are not None, checked against the catalogue: TypeError names an unknown keyword
// and the nearest known one; a value that does not fit is an EdgeCompilerError.
Options options_from_python(const py::dict& keywords, Verb verb);

}  // namespace ec::python
