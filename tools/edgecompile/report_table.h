// Tables of reports on the terminal: titles and formats of columns come from the fields'
// descriptions.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgecompiler/report/property.h"
#include "report/field.h"
#include "report/value_kinds.h"
#include "terminal.h"

namespace ec::cli {

std::string cell_text(const report::Field& field, bool value);
std::string cell_text(const report::Field& field, int64_t value);
std::string cell_text(const report::Field& field, double value);
std::string cell_text(const report::Field& field, std::string_view value);
std::string cell_text(const report::Field& field, const std::vector<int64_t>& sizes);
std::string cell_text(const report::Field& field,
                      const std::vector<std::pair<std::string, int64_t>>& counts);

// Collects title and text of the fields that are asked for, in the order they are asked for.
class CellVisitor {
 public:
  explicit CellVisitor(std::span<const std::string_view> keys)
      : titles(keys.size()), texts(keys.size()), keys_(keys) {}

  template <class T>
  void operator()(const report::Field& field, const T& value) {
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i] != field.key) continue;
      titles[i] = field.column.empty() ? field.key : field.column;
      texts[i] = text_of(field, value);
    }
  }
  void rest(std::string_view, const std::vector<Inspection>&) {}

  std::vector<std::string> titles, texts;

 private:
  template <class T>
  static std::string text_of(const report::Field& field, const T& value) {
    if constexpr (report::IsOptional<T>::value) {
      // "?": it cannot be known; "-": there is none.
      if (!value) return field.presence == report::Presence::OrNull ? "?" : "-";
      return text_of(field, *value);
    } else if constexpr (std::is_same_v<T, bool>) {
      return cell_text(field, value);
    } else if constexpr (std::is_integral_v<T>) {
      return cell_text(field, static_cast<int64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      return cell_text(field, static_cast<double>(value));
    } else if constexpr (requires { value.value; }) {
      return cell_text(field, value.value);
    } else if constexpr (requires { cell_text(field, value); }) {
      return cell_text(field, value);
    } else {
      return {};  // structs and lists have tables of their own
    }
  }

  std::span<const std::string_view> keys_;
};

// One row per struct, with the columns of these keys.
template <class T>
std::string report_table(const std::vector<T>& rows, std::initializer_list<std::string_view> keys) {
  const std::span<const std::string_view> columns(keys.begin(), keys.size());
  CellVisitor header(columns);
  report::Description<T>::fields(header, T{});
  TextTable table(std::move(header.titles));
  for (const T& row : rows) {
    CellVisitor cells(columns);
    report::Description<T>::fields(cells, row);
    table.add(std::move(cells.texts));
  }
  return table.text();
}

}  // namespace ec::cli
