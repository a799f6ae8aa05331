// Reports as Python data: dicts with the keys of the JSON form.
#pragma once

#include "bindings.h"
#include "edgecompiler/report.h"

namespace ec::python {

// Texts from model files may be no UTF-8: such bytes are replaced.
py::object report_to_python(const CompileReport& report);
py::object report_to_python(const ModelSummary& summary);
py::object report_to_python(const PlacementReport& report);
py::object report_to_python(const CheckReport& report);
py::object report_to_python(const EvaluateReport& report);

}  // namespace ec::python
