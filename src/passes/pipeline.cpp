#include "passes/pipeline.h"

#include "passes/pass_registry.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr int kMaxDepth = 8;  // named pipelines within named pipelines, groups within groups

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class Parser {
 public:
  Parser(const PassRegistry& registry, std::string_view text, int depth)
      : registry_(registry), text_(text), depth_(depth) {}

  Result<std::vector<PipelineItem>> parse() {
    EC_TRY(std::vector<PipelineItem> items, list());
    if (pos_ != text_.size()) return bad("',' expected");
    return items;
  }

 private:
  Error bad(const std::string& what) const {
    return Error(Code::Usage, "pipeline '" + printable(text_) + "': " + what + " at column " +
                                  std::to_string(pos_ + 1));
  }
  void skip_space() {
    while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\n')) ++pos_;
  }
  bool accept(char c) {
    skip_space();
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    skip_space();
    return true;
  }
  std::string word() {
    skip_space();
    const size_t begin = pos_;
    while (pos_ < text_.size() && is_name_char(text_[pos_])) ++pos_;
    return std::string(text_.substr(begin, pos_ - begin));
  }

  Result<std::vector<PipelineItem>> list() {
    std::vector<PipelineItem> items;
    skip_space();
    if (pos_ == text_.size() || text_[pos_] == ')') return items;  // an empty pipeline does nothing
    do {
      EC_CHECK_OK(item(items));
    } while (accept(','));
    return items;
  }

  Status item(std::vector<PipelineItem>& items) {
    PipelineItem parsed;
    parsed.name = word();
    if (parsed.name.empty()) return bad("name of a pass expected");
    if (parsed.name == "fixpoint") return group(std::move(parsed), items);
    EC_CHECK_OK(options(parsed));
    if (const NamedPipeline* named = registry_.find_pipeline(parsed.name))
      return expand(*named, parsed, items);
    EC_TRY(const auto checked, registry_.make_pass(parsed.name, parsed.options));
    items.push_back(std::move(parsed));
    return {};
  }

  Status group(PipelineItem parsed, std::vector<PipelineItem>& items) {
    if (!accept('(')) return bad("'(' expected");
    if (++depth_ > kMaxDepth) return bad("groups are nested too deeply");
    EC_TRY(parsed.group, list());
    --depth_;
    if (!accept(')')) return bad("')' expected");
    if (!parsed.group.empty()) items.push_back(std::move(parsed));
    return {};
  }

  Status expand(const NamedPipeline& named, const PipelineItem& parsed,
                std::vector<PipelineItem>& items) {
    if (!parsed.options.empty())
      return Error(Code::Usage, "pipeline '" + parsed.name + "' takes no options");
    if (depth_ >= kMaxDepth) return bad("pipelines are nested too deeply");
    EC_TRY(std::vector<PipelineItem> inner, Parser(registry_, named.text, depth_ + 1).parse());
    if (named.fixpoint) {
      items.push_back({.name = parsed.name, .options = {}, .group = std::move(inner)});
    } else {
      for (PipelineItem& one : inner) items.push_back(std::move(one));
    }
    return {};
  }

  Status options(PipelineItem& parsed) {
    if (!accept('{')) return {};
    if (accept('}')) return {};
    do {
      PassOption option;
      option.key = word();
      if (option.key.empty()) return bad("name of an option expected");
      if (!accept('=')) return bad("'=' expected");
      option.value = word();
      parsed.options.push_back(std::move(option));
    } while (accept(','));
    if (!accept('}')) return bad("'}' expected");
    return {};
  }

  const PassRegistry& registry_;
  std::string_view text_;
  size_t pos_ = 0;
  int depth_;
};

}  // namespace

Result<std::vector<PipelineItem>> PassRegistry::parse(std::string_view text) const {
  return Parser(*this, text, 0).parse();
}

std::string pipeline_text(std::span<const PipelineItem> items) {
  std::string text;
  for (const PipelineItem& item : items) {
    if (!text.empty()) text += ",";
    if (!item.group.empty()) {
      text += "fixpoint(" + pipeline_text(item.group) + ")";
      continue;
    }
    text += item.name;
    if (item.options.empty()) continue;
    text += "{";
    for (size_t i = 0; i < item.options.size(); ++i)
      text += (i > 0 ? "," : "") + item.options[i].key + "=" + item.options[i].value;
    text += "}";
  }
  return text;
}

}  // namespace ec
