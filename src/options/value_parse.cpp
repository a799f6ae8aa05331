// Text to value.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "options/value.h"
#include "options/value_check.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr int64_t kMaxDimension = int64_t{1} << 40;

Result<bool> parse_flag(const OptionDef& def, std::string_view text) {
  const std::string word = to_lower(text);
  if (word.empty() || word == "true") return true;
  if (word == "false") return false;
  return Error(Code::Usage,
               fmt::format("--{} needs true or false, not '{}'", def.name, printable(text)));
}

// "1x3x224x224" or "1,3,224,224"; "?" leaves a size open.
Result<std::vector<int64_t>> parse_sizes(const OptionDef& def, std::string_view text) {
  std::string unified(text);
  std::replace(unified.begin(), unified.end(), 'X', 'x');
  std::replace(unified.begin(), unified.end(), ',', 'x');
  std::vector<int64_t> sizes;
  if (trim(unified).empty()) return sizes;  // a scalar
  for (const std::string_view part : split(unified, 'x')) {
    const bool open = trim(part) == "?" || trim(part) == "-1";
    const std::optional<int64_t> size = open ? -1 : parse_int(trim(part));
    if (!size || *size < -1 || *size > kMaxDimension)
      return Error(Code::Usage, fmt::format("'{}' is no list of sizes", printable(text)))
          .hint(fmt::format("write --{} NAME:1x3x224x224 or NAME:1,3,224,224", def.name));
    sizes.push_back(*size);
  }
  return sizes;
}

// NAME:SIZES, several of them separated by commas as trtexec has it. The last colon of each
// separates, since names such as "input:0" are common.
Result<ShapesByName> parse_shapes(const OptionDef& def, std::string_view text) {
  std::vector<std::string> items;
  for (const std::string_view piece : split(text, ',')) {
    // A piece without a name is one more size of the item before it.
    if (items.empty() || piece.find(':') != std::string_view::npos)
      items.emplace_back(piece);
    else
      items.back() += fmt::format(",{}", piece);
  }
  ShapesByName shapes;
  for (const std::string_view item : items) {
    const size_t colon = item.rfind(':');
    const bool bare = colon == std::string_view::npos;
    EC_TRY(std::vector<int64_t> sizes, parse_sizes(def, bare ? item : item.substr(colon + 1)));
    shapes[std::string(bare ? "" : item.substr(0, colon))] = std::move(sizes);
  }
  return shapes;
}

Result<SizesByName> parse_named_sizes(const OptionDef& def, std::string_view text) {
  SizesByName sizes;
  for (const std::string_view pair : split(text, ',')) {
    const size_t equals = pair.rfind('=');
    const std::optional<int64_t> size =
        equals == std::string_view::npos ? std::nullopt : parse_int(trim(pair.substr(equals + 1)));
    if (!size || *size < 0 || *size > kMaxDimension || equals == 0)
      return Error(Code::Usage,
                   fmt::format("--{} needs NAME=N, not '{}'", def.name, printable(pair)))
          .hint(fmt::format("write --{} batch=1", def.name));
    sizes[std::string(trim(pair.substr(0, equals)))] = *size;
  }
  return sizes;
}

Result<TextsByName> parse_named_text(const OptionDef& def, std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return Error(Code::Usage,
                 fmt::format("--{} needs NAME=VALUE, not '{}'", def.name, printable(text)));
  TextsByName texts;
  texts.emplace(text.substr(0, equals), text.substr(equals + 1));
  return texts;
}

Result<std::vector<double>> parse_numbers(const OptionDef& def, std::string_view text) {
  std::string unified(text);
  std::replace(unified.begin(), unified.end(), ' ', ',');
  std::vector<double> values;
  for (const std::string_view part : split(unified, ',')) {
    if (trim(part).empty()) continue;
    const std::optional<double> value = parse_double(trim(part));
    if (!value) return out_of_range(def, text);
    values.push_back(*value);
  }
  if (values.empty()) return Error(Code::Usage, fmt::format("--{} has no numbers", def.name));
  return values;
}

std::vector<std::string> parse_texts(std::string_view text) {
  std::vector<std::string> texts;
  for (const std::string_view part : split(text, ','))
    if (!trim(part).empty()) texts.emplace_back(trim(part));
  return texts;
}

Result<int64_t> parse_whole(const OptionDef& def, std::string_view text) {
  if (def.type == OptionType::Level && text.empty()) return int64_t{1};
  if (const std::optional<int64_t> value = parse_int(trim(text))) return *value;
  return out_of_range(def, text);
}

Result<double> parse_number(const OptionDef& def, std::string_view text) {
  if (const std::optional<double> value = parse_double(trim(text))) return *value;
  return out_of_range(def, text);
}

template <class T>
Status store(OptionValue& value, Result<T> parsed) {
  if (!parsed.ok()) return std::move(parsed).error();
  value.emplace<T>(std::move(*parsed));
  return {};
}

Status parse_unchecked(const OptionDef& def, std::string_view text, OptionValue& value) {
  switch (def.type) {
    case OptionType::Flag:
      return store(value, parse_flag(def, text));
    case OptionType::Level:
    case OptionType::Integer:
      return store(value, parse_whole(def, text));
    case OptionType::Number:
      return store(value, parse_number(def, text));
    case OptionType::Numbers:
      return store(value, parse_numbers(def, text));
    case OptionType::Texts:
      value.emplace<std::vector<std::string>>(parse_texts(text));
      return {};
    case OptionType::Items:
      value.emplace<std::vector<std::string>>(1, std::string(text));
      return {};
    case OptionType::Shapes:
      return store(value, parse_shapes(def, text));
    case OptionType::Sizes:
      return store(value, parse_named_sizes(def, text));
    case OptionType::NamedTexts:
      return store(value, parse_named_text(def, text));
    case OptionType::Text:
    case OptionType::Choice:
    case OptionType::File:
    case OptionType::Directory:
      value.emplace<std::string>(text);
      return {};
  }
  return Error(Code::Internal, "no such type of option");
}

}  // namespace

Result<OptionValue> parse_value(const OptionDef& def, std::string_view text) {
  OptionValue value;
  Status status = parse_unchecked(def, text, value);
  if (status.ok()) status = check_range(def, value);
  if (!status.ok()) return std::move(status).error().hint(std::string(def.help));
  return value;
}

OptionValue default_of(const OptionDef& def) {
  if (def.default_value.empty()) return {};
  Result<OptionValue> value = parse_value(def, def.default_value);
  return value.ok() ? std::move(*value) : OptionValue();  // a test reads every default
}

}  // namespace ec
