#include "frontend/onnx/table.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "frontend/onnx/onnx.h"

namespace ec::onnx {
namespace {

const std::vector<DomainRows>& domains() {
  static const std::vector<DomainRows> kDomains = {
      {"", kElementwiseRows},
      {"", kActivationRows},
      {"", kReduceRows},
      {"", kShapeRows},
      {"", kConstantRows},
      {"", kMovementRows},
      {"", kGatherRows},
      {"", kMatMulRows},
      {"", kConvRows},
      {"", kPoolRows},
      {"", kImageRows},
      {"", kNormalizationRows},
      {"", kAttentionRows},
      {"", kRecurrentRows},
      {"", kSignalRows},
      {"", kQuantizeRows},
      {"", kRandomRows},
      {"", kLossRows},
      {"", kSequenceRows},
      {"", kControlRows},
      {"com.microsoft", kMicrosoftRows},
      {"com.microsoft", kMicrosoftQuantizedRows},
      {"com.microsoft", kMicrosoftRecurrentRows},
      {"com.microsoft", kMatMulNBitsRows},
      {"ai.onnx.preview.training", kTrainingRows},
      {"ai.onnx.preview.training", kGradientRows},
      {"ai.onnx.ml", kMlRows},
      {"ai.onnx.ml", kTreeRows},
      {"", kTfIdfRows},
      {"", kLinearAttentionRows},
      {"ai.onnx.preview", kPreviewRows},
  };
  return kDomains;
}

using Key = std::pair<std::string_view, std::string_view>;

const std::multimap<Key, const OpRow*>& index() {
  static const std::multimap<Key, const OpRow*> kIndex = [] {
    std::multimap<Key, const OpRow*> map;
    for (const DomainRows& family : domains())
      for (const OpRow& row : family.rows) map.emplace(Key(family.domain, row.name), &row);
    return map;
  }();
  return kIndex;
}

}  // namespace

std::span<const DomainRows> all_rows() { return domains(); }

const OpRow* find_row(std::string_view domain, std::string_view name, int64_t version) {
  const auto [first, last] = index().equal_range(Key(domain, name));
  for (auto it = first; it != last; ++it)
    if (version >= it->second->since && version <= it->second->until) return it->second;
  return nullptr;
}

const OpRow* find_any_version(std::string_view domain, std::string_view name) {
  const auto it = index().find(Key(domain, name));
  return it == index().end() ? nullptr : it->second;
}

bool is_known_domain(std::string_view domain) {
  return std::any_of(domains().begin(), domains().end(),
                     [&](const DomainRows& family) { return family.domain == domain; });
}

std::vector<std::string_view> operator_names(std::string_view domain) {
  std::vector<std::string_view> names;
  for (const auto& [key, row] : index())
    if (key.first == domain && (names.empty() || names.back() != key.second))
      names.push_back(key.second);
  return names;
}

}  // namespace ec::onnx

namespace ec {

std::vector<OnnxOperator> onnx_operators() {
  std::vector<OnnxOperator> list;
  for (const onnx::DomainRows& family : onnx::all_rows())
    for (const onnx::OpRow& row : family.rows)
      list.push_back({family.domain.empty() ? "ai.onnx" : family.domain, row.name, row.since,
                      row.until == onnx::kLatest ? INT64_MAX : row.until});
  std::sort(list.begin(), list.end(), [](const OnnxOperator& a, const OnnxOperator& b) {
    return std::tie(a.domain, a.name, a.since) < std::tie(b.domain, b.name, b.since);
  });
  return list;
}

}  // namespace ec
