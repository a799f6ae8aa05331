#include "options.h"

#include <algorithm>

#include "driver/registry.h"
#include "options/value.h"
#include "support/strings.h"

namespace ec::python {
namespace {

std::string keyword_name(std::string_view option) {
  std::string name(option);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

[[noreturn]] void unknown_keyword(const std::string& name, Verb verb, const CatalogEntry* other) {
  std::vector<std::string> names;
  for (const std::string_view known : default_registry().options().names(verb))
    names.push_back(keyword_name(known));
  const std::vector<std::string_view> views(names.begin(), names.end());
  std::string text = std::string(verb_name(verb)) + "() got an unexpected keyword argument '" +
                     printable(name) + "'";
  const std::string hint = did_you_mean(name, views);
  if (other != nullptr)
    text += "; it belongs to: " + verb_names(other->def->verbs);
  else if (!hint.empty())
    text += "; " + hint;
  throw py::type_error(text);
}

bool is_path(const py::handle& value) { return py::hasattr(value, "__fspath__"); }

std::string text_of(const py::handle& value) {
  if (is_path(value))
    return py::cast<std::string>(py::module_::import("os").attr("fsdecode")(value));
  return py::cast<std::string>(py::str(value));
}

// A size of a shape: None, "?" and -1 leave it open.
int64_t size_of(const py::handle& value) {
  if (value.is_none()) return -1;
  if (py::isinstance<py::str>(value)) return text_of(value) == "?" ? -1 : throw py::type_error("");
  return py::cast<int64_t>(py::module_::import("operator").attr("index")(value));
}

std::vector<int64_t> sizes_of(const py::handle& value) {
  std::vector<int64_t> sizes;
  for (const py::handle size : py::iter(value)) sizes.push_back(size_of(size));
  return sizes;
}

// A mapping in the type of the option.
OptionValue mapping_value(const OptionDef& def, const py::handle& value) {
  ShapesByName shapes;
  SizesByName sizes;
  TextsByName texts;
  std::vector<std::string> items;
  for (const py::handle item : py::iter(value.attr("items")())) {
    const auto pair = py::cast<py::tuple>(item);
    const std::string name = text_of(pair[0]);
    if (def.type == OptionType::Shapes)
      shapes[name] = sizes_of(pair[1]);
    else if (def.type == OptionType::Sizes)
      sizes[name] = size_of(pair[1]);
    else if (def.type == OptionType::NamedTexts)
      texts[name] = text_of(py::hasattr(pair[1], "tolist") ? pair[1].attr("tolist")() : pair[1]);
    else
      items.push_back(name + "=" + text_of(pair[1]));
  }
  switch (def.type) {
    case OptionType::Shapes:
      return shapes;
    case OptionType::Sizes:
      return sizes;
    case OptionType::NamedTexts:
      return texts;
    case OptionType::Items:
      return items;
    default:
      throw py::type_error("");
  }
}

OptionValue list_value(const OptionDef& def, const py::handle& value) {
  if (def.type == OptionType::Shapes) return ShapesByName{{"", sizes_of(value)}};
  std::vector<double> numbers;
  std::vector<std::string> texts;
  for (const py::handle item : py::iter(value)) {
    if (def.type == OptionType::Numbers)
      numbers.push_back(py::cast<double>(py::float_(py::reinterpret_borrow<py::object>(item))));
    else
      texts.push_back(text_of(item));
  }
  if (def.type == OptionType::Numbers) return numbers;
  return texts;
}

OptionValue value_of(const OptionDef& def, const py::handle& value) {
  if (py::isinstance<py::str>(value) || is_path(value)) return text_of(value);
  const std::string kind = text_of(py::type::handle_of(value).attr("__name__"));
  if (PyBool_Check(value.ptr()) || kind == "bool_" || kind == "bool")
    return PyObject_IsTrue(value.ptr()) == 1;
  if (py::hasattr(value, "items")) return mapping_value(def, value);
  if (PyIndex_Check(value.ptr()))
    return py::cast<int64_t>(py::module_::import("operator").attr("index")(value));
  const bool scalar = !py::hasattr(value, "__iter__") ||
                      (py::hasattr(value, "ndim") && py::cast<int>(value.attr("ndim")) == 0);
  if (scalar && py::hasattr(value, "__float__"))
    return py::cast<double>(py::float_(py::reinterpret_borrow<py::object>(value)));
  return list_value(def, value);
}

// Whatever Python objects throw on the way is a value that does not fit.
OptionValue converted(const OptionDef& def, const std::string& keyword, const py::handle& value) {
  try {
    return value_of(def, value);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;  // an interrupt
  } catch (const std::runtime_error&) {          // py::cast_error, py::type_error
  }
  throw Failure(Error(Code::Usage, keyword + "=: a " +
                                       text_of(py::type::handle_of(value).attr("__name__")) +
                                       " does not fit")
                    .hint(std::string(def.help)));
}

const char* type_name(OptionType type) {
  switch (type) {
    case OptionType::Flag:
      return "flag";
    case OptionType::Level:
      return "level";
    case OptionType::Integer:
      return "integer";
    case OptionType::Number:
      return "number";
    case OptionType::Text:
      return "text";
    case OptionType::Choice:
      return "choice";
    case OptionType::File:
      return "file";
    case OptionType::Directory:
      return "directory";
    case OptionType::Numbers:
      return "numbers";
    case OptionType::Texts:
      return "texts";
    case OptionType::Items:
      return "items";
    case OptionType::Shapes:
      return "shapes";
    case OptionType::Sizes:
      return "sizes";
    case OptionType::NamedTexts:
      return "named_texts";
  }
  return "";
}

py::list option_table() {
  py::list table;
  for (const CatalogEntry& entry : default_registry().options().entries()) {
    const OptionDef& def = *entry.def;
    py::list verbs, targets;
    for (int i = 0; i < kNumVerbs; ++i)
      if (def.verbs.has(static_cast<Verb>(i))) verbs.append(verb_name(static_cast<Verb>(i)));
    for (const std::string_view target : entry.targets) targets.append(target);
    py::dict row;
    row["name"] = keyword_name(def.name);
    row["alias"] = keyword_name(def.alias);
    row["type"] = type_name(def.type);
    row["help"] = def.help;
    row["default"] = def.default_value;
    row["values"] = allowed_values(def);
    row["group"] = entry.group;
    row["targets"] = targets;
    row["verbs"] = verbs;
    row["changes_output"] = def.changes_output;
    table.append(row);
  }
  return table;
}

}  // namespace

Options options_from_python(const py::dict& keywords, Verb verb) {
  const OptionCatalog& catalog = default_registry().options();
  Options given;
  for (const auto& [key, value] : keywords) {
    const auto name = py::cast<std::string>(key);
    const CatalogEntry* entry = catalog.find(name, verb);
    if (entry == nullptr || !entry->def->verbs.has(verb)) unknown_keyword(name, verb, entry);
    if (!value.is_none()) given.set(name, converted(*entry->def, name, value));
  }
  return value_or_throw(catalog.resolve(given, verb, /*target=*/{}));
}

void bind_options(py::module_& module) {
  module.def("option_table", &option_table, "The options of all jobs, a dict for each.");
}

}  // namespace ec::python
