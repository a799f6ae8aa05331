// The schema of the JSON that reports become, from the same descriptions.
#include <nlohmann/json.hpp>

#include "edgecompiler/report.h"
#include "report/describe_compile.h"
#include "report/describe_lists.h"
#include "report/describe_problem.h"
#include "report/describe_run.h"
#include "report/value_kinds.h"

namespace ec {
namespace report {
namespace {

using Json = nlohmann::ordered_json;

Json reference(std::string_view name) { return {{"$ref", "#/$defs/" + std::string(name)}}; }
Json or_null(Json schema) { return {{"anyOf", {std::move(schema), {{"type", "null"}}}}}; }

// The definitions of all structs that were met.
class Definitions {
 public:
  // The schema of a value of type T; `value` is an empty one.
  template <class T>
  Json of(const T& value);
  template <class T>
  Json of_type() {
    return of(T{});
  }

  Json take() && { return std::move(definitions_); }

 private:
  template <class T>
  void define();

  Json definitions_ = Json::object();
};

class SchemaFields {
 public:
  SchemaFields(Definitions& definitions, Json& schema)
      : definitions_(definitions), schema_(schema) {}

  template <class T>
  void operator()(const Field& field, const T& value) {
    bool required = field.presence != Presence::IfSet;
    Json type;
    if constexpr (IsOptional<T>::value) {
      required = field.presence == Presence::OrNull;
      type = definitions_.of_type<typename T::value_type>();
    } else {
      type = definitions_.of(value);
    }
    if (field.presence == Presence::OrNull) type = or_null(std::move(type));
    type["description"] = field.help;
    // Readers that do not know these two words pass over them.
    if (field.unit != Unit::None) type["unit"] = unit_name(field.unit);
    if (field.certainty != Certainty::None) type["certainty"] = certainty_name(field.certainty);
    schema_["properties"][std::string(field.key)] = std::move(type);
    if (required) schema_["required"].push_back(field.key);
  }

  void rest(std::string_view help, const std::vector<Inspection>&) {
    schema_["additionalProperties"] = {{"description", help}};
  }

 private:
  Definitions& definitions_;
  Json& schema_;
};

template <class T>
Json Definitions::of(const T& value) {
  if constexpr (std::is_same_v<T, Choice>) {
    return {{"enum", std::vector<std::string>(value.values.begin(), value.values.end())}};
  } else if constexpr (std::is_same_v<T, Constant>) {
    return {{"const", value.value}};
  } else if constexpr (std::is_same_v<T, Dims>) {
    return or_null({{"type", "array"}, {"items", {{"type", {"integer", "string"}}}}});
  } else if constexpr (std::is_same_v<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::is_integral_v<T>) {
    return {{"type", "integer"}};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {{"type", "number"}};
  } else if constexpr (TextValue<T> || std::is_same_v<T, std::filesystem::path>) {
    return {{"type", "string"}};
  } else if constexpr (IsMap<T>::value) {
    return {{"type", "object"}, {"additionalProperties", of_type<typename IsMap<T>::Value>()}};
  } else if constexpr (IsList<T>::value) {
    return {{"type", "array"}, {"items", of_type<typename T::value_type>()}};
  } else {
    static_assert(Described<T>);
    define<T>();
    return reference(Description<T>::kName);
  }
}

template <class T>
void Definitions::define() {
  const std::string name(Description<T>::kName);
  if (definitions_.contains(name)) return;
  definitions_[name] = nullptr;  // its position is before what it is made of
  Json schema = {{"type", "object"},
                 {"description", Description<T>::kHelp},
                 {"properties", Json::object()},
                 {"required", Json::array()},
                 {"additionalProperties", false}};
  SchemaFields fields(*this, schema);
  Description<T>::fields(fields, T{});
  definitions_[name] = std::move(schema);
}

}  // namespace

namespace {

// Where the command is one of these, the result is one of those; null where it failed.
Json result_rule(std::vector<std::string> commands, std::vector<Json> results) {
  results.push_back({{"type", "null"}});
  const Json command = {{"command", {{"enum", std::move(commands)}}}};
  const Json result = {{"result", {{"anyOf", std::move(results)}}}};
  return {{"if", {{"properties", command}}}, {"then", {{"properties", result}}}};
}

}  // namespace
}  // namespace report

std::string report_schema() {
  using report::Json;
  report::Definitions definitions;
  const Json compiled = definitions.of_type<CompileReport>();
  const Json rules = {
      report::result_rule({"compile"}, {compiled, definitions.of_type<report::CompiledTogether>()}),
      report::result_rule({"optimize", "quantize"}, {compiled}),
      report::result_rule(
          {"check"}, {definitions.of_type<PlacementReport>(), definitions.of_type<CheckReport>()}),
      report::result_rule({"inspect"}, {definitions.of_type<ModelSummary>()}),
      report::result_rule({"run"}, {definitions.of_type<RunReport>()}),
      report::result_rule({"bench"}, {definitions.of_type<BenchReport>()}),
      report::result_rule({"evaluate"}, {definitions.of_type<EvaluateReport>()}),
      report::result_rule({"targets"}, {definitions.of_type<TargetList>()}),
      report::result_rule({"passes"}, {definitions.of_type<PassList>()}),
      report::result_rule({"explain"},
                          {definitions.of_type<CodeList>(), definitions.of_type<CodeEntry>()}),
      report::result_rule({"doctor"}, {definitions.of_type<MachineReport>()}),
  };
  const Json problems = definitions.of_type<std::vector<Problem>>();
  const Json properties = {
      {"schema_version",
       {{"const", kReportSchemaVersion}, {"description", "raised by changes that break readers"}}},
      {"version", {{"type", "string"}, {"description", "of the program"}}},
      {"command", {{"type", "string"}, {"description", "the verb"}}},
      {"ok", {{"type", "boolean"}, {"description", "the exit code is 0"}}},
      {"exit_code", {{"type", "integer"}}},
      {"result", {{"description", "the report of the verb; null where there is none"}}},
      {"diagnostics", problems},
  };
  Json required = Json::array();
  for (const auto& [key, value] : properties.items()) required.push_back(key);
  const Json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "What edgecompile prints with --json"},
      {"description",
       "Generated by `edgecompile help --report-schema`; do not edit. --report json=FILE writes "
       "the value of \"result\" alone; its schema is below \"$defs\". New keys may appear without "
       "a new schema_version."},
      {"type", "object"},
      {"properties", properties},
      {"required", required},
      {"allOf", rules},
      {"$defs", std::move(definitions).take()},
  };
  return schema.dump(2) + "\n";
}

}  // namespace ec
