// The source of python/edgecompiler/reports.py: a TypedDict for every report.
#pragma once

#include <string>

namespace ec::report {

std::string python_classes();

}  // namespace ec::report
