#include "reports.h"

#include "report/describe_compile.h"
#include "report/describe_run.h"
#include "report/value_kinds.h"
#include "support/strings.h"

namespace ec::python {
namespace {

using report::Field, report::IsList, report::IsMap, report::IsOptional, report::Presence;

py::object text_to_python(std::string_view text) {
  PyObject* decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(decoded);
}

template <class T>
py::object value_to_python(const T& value);

class DictFields {
 public:
  template <class T>
  void operator()(const Field& field, const T& value) {
    const py::object key = text_to_python(field.key);
    if constexpr (IsOptional<T>::value) {
      if (value) {
        dict[key] = value_to_python(*value);
      } else if (field.presence == Presence::OrNull) {
        dict[key] = py::none();
      }
    } else {
      const bool empty = field.presence != Presence::Always && report::is_unset(value);
      if (empty && field.presence == Presence::IfSet) return;
      dict[key] = empty ? py::none() : value_to_python(value);
    }
  }

  void rest(std::string_view, const std::vector<Inspection>& inspections) {
    for (const Inspection& inspection : inspections)
      dict[text_to_python(inspection.key)] = value_to_python(inspection.facts);
  }

  py::dict dict;
};

template <class T>
py::object list_to_python(const std::vector<T>& values) {
  py::list list;
  for (const T& value : values) list.append(value_to_python(value));
  return list;
}

template <class T>
py::object map_to_python(const T& entries) {
  py::dict dict;
  for (const auto& [key, value] : entries) dict[text_to_python(key)] = value_to_python(value);
  return dict;
}

py::object dims_to_python(const report::Dims& value) {
  if (value.dims == nullptr) return py::none();
  py::list list;
  for (const std::string& dim : *value.dims) {
    const std::optional<int64_t> size = parse_int(dim);
    list.append(size ? py::object(py::int_(*size)) : text_to_python(dim));
  }
  return list;
}

template <class T>
py::object value_to_python(const T& value) {
  if constexpr (std::is_same_v<T, report::Choice> || std::is_same_v<T, report::Constant>) {
    return text_to_python(value.value);
  } else if constexpr (std::is_same_v<T, report::Dims>) {
    return dims_to_python(value);
  } else if constexpr (std::is_same_v<T, Property>) {
    return std::visit([](const auto& element) { return value_to_python(element); }, value.value);
  } else if constexpr (std::is_same_v<T, std::monostate>) {
    return py::none();
  } else if constexpr (std::is_same_v<T, bool>) {
    return py::bool_(value);
  } else if constexpr (std::is_integral_v<T>) {
    return py::int_(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return py::float_(static_cast<double>(value));
  } else if constexpr (report::TextValue<T>) {
    return text_to_python(value);
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return text_to_python(value.string());
  } else if constexpr (IsMap<T>::value) {
    return map_to_python(value);
  } else if constexpr (IsList<T>::value) {
    return list_to_python(value);
  } else {
    DictFields fields;
    report::Description<T>::fields(fields, value);
    return std::move(fields.dict);
  }
}

}  // namespace

py::object report_to_python(const CompileReport& report) { return value_to_python(report); }
py::object report_to_python(const ModelSummary& summary) { return value_to_python(summary); }
py::object report_to_python(const PlacementReport& report) { return value_to_python(report); }
py::object report_to_python(const CheckReport& report) { return value_to_python(report); }
py::object report_to_python(const EvaluateReport& report) { return value_to_python(report); }

}  // namespace ec::python
