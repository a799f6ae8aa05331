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

Result<OptionValue> parse_flag(const OptionDef& def, std::string_view text) {
  const std::string word = to_lower(text);
  if (word.empty() || word == "true") return OptionValue(true);
  if (word == "false") return OptionValue(false);
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
Result<OptionValue> parse_shapes(const OptionDef& def, std::string_view text) {
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
  return OptionValue(std::move(shapes));
}

Result<OptionValue> parse_named_sizes(const OptionDef& def, std::string_view text) {
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
  return OptionValue(std::move(sizes));
}

Result<OptionValue> parse_named_text(const OptionDef& def, std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return Error(Code::Usage,
                 fmt::format("--{} needs NAME=VALUE, not '{}'", def.name, printable(text)));
  return OptionValue(
      TextsByName{{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))}});
}

Result<OptionValue> parse_numbers(const OptionDef& def, std::string_view text) {
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
  return OptionValue(std::move(values));
}

std::vector<std::string> parse_texts(std::string_view text) {
  std::vector<std::string> texts;
  for (const std::string_view part : split(text, ','))
    if (!trim(part).empty()) texts.emplace_back(trim(part));
  return texts;
}

Result<OptionValue> parse_number(const OptionDef& def, std::string_view text) {
  if (def.type == OptionType::Number) {
    if (const std::optional<double> value = parse_double(trim(text))) return OptionValue(*value);
  } else if (const std::optional<int64_t> value = parse_int(trim(text))) {
    return OptionValue(*value);
  }
  return out_of_range(def, text);
}

Result<OptionValue> parse_unchecked(const OptionDef& def, std::string_view text) {
  switch (def.type) {
    case OptionType::Flag:
      return parse_flag(def, text);
    case OptionType::Level:
      if (text.empty()) return OptionValue(int64_t{1});
      return parse_number(def, text);
    case OptionType::Integer:
    case OptionType::Number:
      return parse_number(def, text);
    case OptionType::Numbers:
      return parse_numbers(def, text);
    case OptionType::Texts:
      return OptionValue(parse_texts(text));
    case OptionType::Items:
      return OptionValue(std::vector<std::string>{std::string(text)});
    case OptionType::Shapes:
      return parse_shapes(def, text);
    case OptionType::Sizes:
      return parse_named_sizes(def, text);
    case OptionType::NamedTexts:
      return parse_named_text(def, text);
    case OptionType::Text:
    case OptionType::Choice:
    case OptionType::File:
    case OptionType::Directory:
      return OptionValue(std::string(text));
  }
  return Error(Code::Internal, "no such type of option");
}

}  // namespace

Result<OptionValue> parse_value(const OptionDef& def, std::string_view text) {
  EC_TRY(OptionValue value, parse_unchecked(def, text));
  EC_CHECK_OK(check_range(def, value));
  return value;
}

OptionValue default_of(const OptionDef& def) {
  if (def.default_value.empty()) return {};
  Result<OptionValue> value = parse_value(def, def.default_value);
  return value.ok() ? std::move(*value) : OptionValue();  // a test reads every default
}

}  // namespace ec
