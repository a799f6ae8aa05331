#include "tasks/detection/grid.h"

#include <initializer_list>

namespace ec::tasks::detection {

Level level_of(int64_t height, int64_t width, int64_t stride) {
  return {stride, (height + stride - 1) / stride, (width + stride - 1) / stride, 0};
}

std::optional<Level> level_with(int64_t height, int64_t width, size_t cells) {
  if (height <= 0 || width <= 0) return std::nullopt;
  for (const int64_t stride : {4, 8, 16, 32, 64, 128}) {
    const Level level = level_of(height, width, stride);
    if (level.cells() == cells) return level;
  }
  return std::nullopt;
}

std::optional<Grid> grid_with(int64_t height, int64_t width, size_t count) {
  if (height <= 0 || width <= 0) return std::nullopt;
  const std::initializer_list<std::initializer_list<int64_t>> sets = {
      {8, 16, 32}, {8, 16, 32, 64}, {4, 8, 16, 32}, {16, 32}, {4, 8, 16}, {8, 16}};
  for (const size_t per_cell : {size_t{1}, size_t{3}})
    for (const auto& strides : sets) {
      Grid grid{{}, per_cell};
      size_t cells = 0;
      for (const int64_t stride : strides) {
        Level level = level_of(height, width, stride);
        level.first = cells;
        cells += level.cells();
        grid.levels.push_back(level);
      }
      if (cells * per_cell == count) return grid;
    }
  return std::nullopt;
}

double place_correlation(const Grid& grid, const Matrix& rows, size_t column) {
  double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (const Level& level : grid.levels)
    for (size_t cell = 0; cell < level.cells(); ++cell) {
      const auto place = static_cast<double>(static_cast<int64_t>(cell) % level.columns) /
                         static_cast<double>(level.columns);
      const double value = rows.at(level.first + cell, column);
      if (!std::isfinite(value)) continue;
      n += 1, x += place, y += value;
      xx += place * place, yy += value * value, xy += place * value;
    }
  const double spread = (n * xx - x * x) * (n * yy - y * y);
  return spread > 0 ? (n * xy - x * y) / std::sqrt(spread) : 0;
}

}  // namespace ec::tasks::detection
