// Reports as JSON.
#include <nlohmann/json.hpp>

#include "edgecompiler/report.h"
#include "report/describe_compile.h"
#include "report/describe_lists.h"
#include "report/describe_problem.h"
#include "report/describe_run.h"
#include "report/value_kinds.h"
#include "support/strings.h"

namespace ec {
namespace report {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json json_of(const T& value);

// Adds the fields of a struct to an object.
class JsonFields {
 public:
  explicit JsonFields(Json& object) : object_(object) {}

  template <class T>
  void operator()(const Field& field, const T& value) {
    if constexpr (IsOptional<T>::value) {
      if (value) {
        object_[std::string(field.key)] = json_of(*value);
      } else if (field.presence == Presence::OrNull) {
        object_[std::string(field.key)] = nullptr;
      }
    } else {
      const bool empty = field.presence != Presence::Always && is_unset(value);
      if (empty && field.presence == Presence::IfSet) return;
      object_[std::string(field.key)] = empty ? Json(nullptr) : json_of(value);
    }
  }

  void rest(std::string_view, const std::vector<Inspection>& inspections) {
    for (const Inspection& inspection : inspections)
      object_[inspection.key] = json_of(inspection.facts);
  }

 private:
  Json& object_;
};

Json property_json(const Property& property) {
  return std::visit(
      [](const auto& value) -> Json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, Property::List>) {
          Json list = Json::array();
          for (const Property& element : value) list.push_back(property_json(element));
          return list;
        } else if constexpr (std::is_same_v<T, Property::Record>) {
          Json record = Json::object();
          for (const auto& [key, element] : value) record[key] = property_json(element);
          return record;
        } else {
          return value;
        }
      },
      property.value);
}

Json dims_json(const Dims& value) {
  if (value.dims == nullptr) return nullptr;
  Json dims = Json::array();
  for (const std::string& dim : *value.dims) {
    if (const std::optional<int64_t> size = parse_int(dim)) {
      dims.push_back(*size);
    } else {
      dims.push_back(dim);
    }
  }
  return dims;
}

template <class T>
Json json_of(const T& value) {
  if constexpr (std::is_same_v<T, Choice> || std::is_same_v<T, Constant>) {
    return value.value;
  } else if constexpr (std::is_same_v<T, Dims>) {
    return dims_json(value);
  } else if constexpr (std::is_same_v<T, Property>) {
    return property_json(value);
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return value.string();
  } else if constexpr (IsMap<T>::value) {
    Json object = Json::object();
    for (const auto& [key, element] : value) object[key] = json_of(element);
    return object;
  } else if constexpr (IsList<T>::value) {
    Json list = Json::array();
    for (const auto& element : value) list.push_back(json_of(element));
    return list;
  } else if constexpr (Described<T>) {
    Json object = Json::object();
    JsonFields fields(object);
    Description<T>::fields(fields, value);
    return object;
  } else {
    return value;
  }
}

template <class T>
std::string text_of(const T& value) {
  return json_of(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace
}  // namespace report

std::string to_json(const CompileReport& report) { return report::text_of(report); }
std::string to_json(const std::vector<CompileReport>& reports) {
  return report::text_of(report::CompiledTogether{reports});
}
std::string to_json(const ModelSummary& summary) { return report::text_of(summary); }
std::string to_json(const PlacementReport& report) { return report::text_of(report); }
std::string to_json(const CheckReport& report) { return report::text_of(report); }
std::string to_json(const EvaluateReport& report) { return report::text_of(report); }
std::string to_json(const BenchReport& report) { return report::text_of(report); }
std::string to_json(const RunReport& report) { return report::text_of(report); }
std::string to_json(const std::vector<Problem>& diagnostics) {
  return report::text_of(diagnostics);
}

std::string to_json(const TargetList& list) { return report::text_of(list); }
std::string to_json(const PassList& list) { return report::text_of(list); }
std::string to_json(const CodeList& list) { return report::text_of(list); }
std::string to_json(const CodeEntry& code) { return report::text_of(code); }
std::string to_json(const MachineReport& machine) { return report::text_of(machine); }

}  // namespace ec
