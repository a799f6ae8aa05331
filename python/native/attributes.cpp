#include "attributes.h"

#include "support/strings.h"

namespace ec::python {
namespace {

py::object to_python(const FieldValue& value) {
  if (const auto* string = std::get_if<std::string>(&value)) return text(*string);
  if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    py::list list;
    for (const std::string& item : *strings) list.append(text(item));
    return list;
  }
  return std::visit([](const auto& v) -> py::object { return py::cast(v); }, value);
}

template <class T>
FieldValue list_of(const py::handle& value) {
  std::vector<T> items;
  for (const py::handle item : value) items.push_back(py::cast<T>(item));
  return items;
}

FieldValue from_python(const Field& field, const py::handle& value) {
  switch (field.kind) {
    case FieldKind::Int:
      return py::cast<int64_t>(value);
    case FieldKind::Float:
      return py::cast<double>(value);
    case FieldKind::Bool:
      return py::cast<bool>(value);
    case FieldKind::Ints:
      return list_of<int64_t>(value);
    case FieldKind::Floats:
      return list_of<double>(value);
    case FieldKind::Strings:
      return list_of<std::string>(value);
    case FieldKind::String:
    case FieldKind::DType:
    case FieldKind::Enum:
      return py::cast<std::string>(value);
  }
  throw py::type_error("unknown attribute kind");
}

Error unknown_attribute(const OpDef& def, const std::string& name) {
  std::vector<std::string_view> known;
  for (const Field& field : def.attrs().fields) known.push_back(field.name);
  std::string message = std::string(def.name) + " has no attribute '" + name + "'";
  return Error(Code::BadAttribute, std::move(message)).hint(did_you_mean(name, known));
}

Error bad_attribute(const OpDef& def, const Field& field, const py::handle& value) {
  std::string message = std::string(def.name) + " attribute '" + std::string(field.name) +
                        "' cannot be " + py::cast<std::string>(py::repr(value));
  Error error(Code::BadAttribute, std::move(message));
  if (field.choices.empty()) return error;
  std::vector<std::string> choices(field.choices.begin(), field.choices.end());
  return std::move(error).hint("one of: " + join(choices, ", "));
}

}  // namespace

py::dict attributes_to_dict(const Attrs& attrs) {
  py::dict dict;
  for (const Field& field : attrs.schema().fields)
    dict[py::str(std::string(field.name))] = to_python(attrs.get(field));
  return dict;
}

Attrs attributes_from_dict(const OpDef& def, const py::dict& values) {
  Attrs attrs = Attrs::defaults_of(def.attrs());
  for (const auto& [key, value] : values) {
    const std::string name = py::cast<std::string>(key);
    const Field* field = def.attrs().find(name);
    if (field == nullptr) throw Failure(unknown_attribute(def, name));
    bool accepted = false;
    try {
      accepted = attrs.set(*field, from_python(*field, value));
    } catch (const py::cast_error&) {
      accepted = false;
    } catch (const py::error_already_set&) {  // not iterable
      accepted = false;
    }
    if (!accepted) throw Failure(bad_attribute(def, *field, value));
  }
  return attrs;
}

}  // namespace ec::python
