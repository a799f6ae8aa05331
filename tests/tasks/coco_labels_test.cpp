#include "tasks/detection/coco_labels.h"

#include <gtest/gtest.h>

namespace ec::tasks::detection {
namespace {

constexpr std::string_view kLabels = R"({
  "images": [{"id": 4, "file_name": "a.jpg", "width": 640, "height": 480},
             {"id": 9, "file_name": "night/a.jpg", "width": 100, "height": 50}],
  "categories": [{"id": 3, "name": "dog"}, {"id": 1, "name": "cat"}],
  "annotations": [{"image_id": 4, "category_id": 3, "bbox": [10, 20, 30, 40]},
                  {"image_id": 4, "category_id": 1, "bbox": [0, 0, 5, 5], "iscrowd": 1}]})";

TEST(CocoLabels, BoxesByFileName) {
  const Result<CocoLabels> labels = CocoLabels::parse(kLabels);
  ASSERT_TRUE(labels.ok()) << labels.error().message();
  EXPECT_EQ(labels->categories()[0].name, "cat");
  const CocoPicture* picture = labels->find("val/day/a.jpg");
  ASSERT_NE(picture, nullptr);
  EXPECT_EQ(picture->width, 640);
  ASSERT_EQ(picture->objects.size(), 1u);
  EXPECT_EQ(picture->objects[0].label, 1);
  EXPECT_EQ(picture->objects[0].box.x2, 40);
  EXPECT_EQ(picture->objects[0].box.y2, 60);
  EXPECT_EQ(picture->crowds.size(), 1u);
  // The longer name counts; a picture without boxes is a picture all the same.
  EXPECT_EQ(labels->find("val/night/a.jpg")->width, 100);
  EXPECT_EQ(labels->find("val/b.jpg"), nullptr);
}

TEST(CocoLabels, ClassesOfNetworks) {
  const Result<CocoLabels> labels = CocoLabels::parse(kLabels);
  ASSERT_TRUE(labels.ok());
  EXPECT_EQ(labels->class_of(1, 2), 1);  // a score for each category
  EXPECT_EQ(labels->class_of(1, 0), 1);
  EXPECT_EQ(labels->class_of(1, 3), 2);  // for ids 1 to 3
  EXPECT_EQ(labels->class_of(1, 4), 3);  // for ids 0 to 3
}

TEST(CocoLabels, RefusesWhatIsNone) {
  for (
      const std::string_view text :
      {"", "[]", "{}", R"({"images": 3, "annotations": [], "categories": []})",
       R"({"images": [7], "annotations": [], "categories": []})",
       R"({"images": [], "annotations": [{"image_id": 1, "category_id": 1}], "categories": []})",
       R"({"images": [{"id": 1, "file_name": "a", "width": 0, "height": 4}], "annotations": [], "categories": []})",
       R"({"images": [{"id": 1, "file_name": "a", "width": 4, "height": 4}], "categories": [{"id": 1}],
            "annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3]}]})",
       R"({"images": [{"id": 1, "file_name": "a", "width": 4, "height": 4}], "categories": [{"id": 1}],
            "annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 1e99]}]})",
       R"({"images": [], "annotations": [], "categories": [{"id": 1}, {"id": 1}]})"}) {
    const Result<CocoLabels> labels = CocoLabels::parse(text);
    ASSERT_FALSE(labels.ok()) << text;
    EXPECT_EQ(labels.error().code(), Code::BadCalibrationData);
  }
}

}  // namespace
}  // namespace ec::tasks::detection
