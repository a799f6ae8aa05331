// The cells of a picture that a detector answers for: levels of falling resolution, one after the
// other, each in rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tasks/values.h"

namespace ec::tasks::detection {

struct Level {
  int64_t stride = 0, rows = 0, columns = 0;
  size_t first = 0;  // cell
  size_t cells() const { return static_cast<size_t>(rows * columns); }
};

struct Grid {
  std::vector<Level> levels;
  size_t per_cell = 1;  // answers of a cell
};

Level level_of(int64_t height, int64_t width, int64_t stride);
// The stride at which an input of this size has so many cells.
std::optional<Level> level_with(int64_t height, int64_t width, size_t cells);
// The usual sets of levels (strides 8 to 32 and so on) with one or three answers for each cell, of
// which an input of this size has `count` answers.
std::optional<Grid> grid_with(int64_t height, int64_t width, size_t count);
// Correlation of a column with the horizontal place of its cell: near 1 where the column holds a
// place in the picture, near 0 where it is relative to the cell. Requires one answer per cell.
double place_correlation(const Grid& grid, const Matrix& rows, size_t column);

}  // namespace ec::tasks::detection
