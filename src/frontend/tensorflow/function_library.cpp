#include "frontend/tensorflow/function_library.h"

#include <charconv>

#include "frontend/tensorflow/table.h"
#include "support/strings.h"

namespace ec::tf {
namespace {

std::optional<uint32_t> parse_number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "node:output:2" or "argument" in functions, "node:2" in graphs.
Source resolve(const FunctionBody& body, std::string_view name) {
  Source source;
  if (name.starts_with('^')) {
    const auto found = body.nodes.find(name.substr(1));
    source.kind = Source::Kind::Control;
    source.index = found == body.nodes.end() ? UINT32_MAX : found->second;
    return source;
  }
  const size_t colon = name.find(':');
  const std::string_view base = name.substr(0, colon);
  if (const auto argument = body.arguments.find(base); argument != body.arguments.end()) {
    source.kind = Source::Kind::Argument;
    source.index = argument->second;
    return source;
  }
  const auto found = body.nodes.find(base);
  if (found == body.nodes.end()) return source;
  source.index = found->second;
  if (colon != std::string_view::npos) {
    const std::string_view rest = name.substr(colon + 1);
    const size_t second = rest.find(':');
    const auto number =
        parse_number(second == std::string_view::npos ? rest : rest.substr(second + 1));
    if (!number) return source;
    source.output = *number;
    if (second != std::string_view::npos)
      source.output +=
          output_position(body.function.list.nodes[source.index].op, rest.substr(0, second));
  }
  source.kind = Source::Kind::Node;
  return source;
}

std::unique_ptr<FunctionBody> make_body(Function function) {
  auto body = std::make_unique<FunctionBody>();
  body->function = std::move(function);
  const Function& f = body->function;
  for (size_t i = 0; i < f.inputs.size(); ++i)
    body->arguments.emplace(f.inputs[i].name, static_cast<uint32_t>(i));
  for (size_t i = 0; i < f.list.nodes.size(); ++i)
    body->nodes.emplace(f.list.nodes[i].name, static_cast<uint32_t>(i));
  body->sources.reserve(f.list.names.size());
  for (const std::string_view name : f.list.names) body->sources.push_back(resolve(*body, name));
  for (const Argument& output : f.outputs) {
    Source source;
    for (const NamedValue& result : f.results)
      if (result.name == output.name) source = resolve(*body, result.value);
    body->results.push_back(source);
  }
  return body;
}

}  // namespace

Source FunctionBody::find(std::string_view name) const { return resolve(*this, name); }

Result<FunctionLibrary> FunctionLibrary::make(GraphDef graph, Budget& budget) {
  FunctionLibrary library;
  library.budget_ = &budget;
  for (const Bytes message : graph.functions) {
    EC_TRY(const std::string_view name, function_name(message));
    library.messages_.emplace(name, message);
  }
  Function main;
  main.list = std::move(graph.list);
  library.main_ = make_body(std::move(main));
  return library;
}

Result<const FunctionBody*> FunctionLibrary::find(std::string_view name) {
  const auto known = bodies_.find(name);
  if (known != bodies_.end()) return static_cast<const FunctionBody*>(known->second.get());
  const auto message = messages_.find(name);
  if (message == messages_.end())
    return Error(Code::UndefinedName, "the model has no function '" + printable(name) + "'")
        .hint("the file is damaged: export the model again");
  EC_TRY(Function function, decode_function(message->second, *budget_));
  auto body = make_body(std::move(function));
  const FunctionBody* result = body.get();
  bodies_.emplace(message->first, std::move(body));
  return result;
}

}  // namespace ec::tf
