// Attributes of operations between Python values and the attribute structs' field tables.
#pragma once

#include "bindings.h"
#include "ir/attrs.h"
#include "ops/op_def.h"

namespace ec::python {

py::dict attributes_to_dict(const Attrs& attrs);
// Unset fields keep their defaults; unknown names and wrong kinds fail.
Attrs attributes_from_dict(const OpDef& def, const py::dict& values);

}  // namespace ec::python
