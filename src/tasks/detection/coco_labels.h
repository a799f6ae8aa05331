// Boxes that people drew, in the JSON form of COCO's instances files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/result.h"
#include "tasks/detection/detections.h"

namespace ec::tasks::detection {

struct CocoCategory {
  int64_t id = 0;
  std::string name;
};

// One picture. Boxes are in its own pixels; the label of a box is the index of its category.
struct CocoPicture {
  double width = 0, height = 0;
  std::vector<Detection> objects, crowds;
};

class CocoLabels {
 public:
  // BadCalibrationData: no such file, naming what is wrong with it.
  static Result<CocoLabels> read(const std::filesystem::path& path);
  static Result<CocoLabels> parse(std::string_view text);

  const std::vector<CocoCategory>& categories() const { return categories_; }  // by id
  // The picture whose name `path` ends with, the longest such name; null: none.
  const CocoPicture* find(const std::filesystem::path& path) const;
  // The index at which a network with `classes` scores has a category: networks number the
  // categories that there are, or have a score for each id up to the largest (with or without 0).
  // 0 classes: not known, categories are numbered.
  int32_t class_of(size_t category, int32_t classes) const;

 private:
  std::vector<CocoCategory> categories_;
  std::map<std::string, CocoPicture> pictures_;  // by name
};

}  // namespace ec::tasks::detection
