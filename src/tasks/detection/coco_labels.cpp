#include "tasks/detection/coco_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "support/input_file.h"
#include "support/strings.h"
#include "support/text_memory.h"

namespace ec::tasks::detection {
namespace {

using Json = nlohmann::json;

// What is read of such a file.
constexpr std::array<std::string_view, 12> kMembers = {
    "images", "annotations", "categories", "id",          "name", "file_name",
    "width",  "height",      "image_id",   "category_id", "bbox", "iscrowd"};

Error bad(std::string message) {
  return Error(Code::BadCalibrationData, std::move(message))
      .hint(
          "give a file with images, annotations and categories, as COCO's instances_val2017.json");
}

Result<int64_t> integer_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer())
    return bad(fmt::format("'{}' is no whole number", key));
  return found->get<int64_t>();
}

Result<double> number_of(const Json& value, const char* what) {
  if (!value.is_number()) return bad(fmt::format("'{}' is no number", what));
  const auto number = value.get<double>();
  if (!std::isfinite(number) || std::abs(number) > 1e9)
    return bad(fmt::format("'{}' is out of range", what));
  return number;
}

Result<const Json*> list_of(const Json& root, const char* key) {
  const auto found = root.find(key);
  if (found == root.end() || !found->is_array())
    return bad(fmt::format("there is no list '{}'", key));
  for (const Json& entry : *found)
    if (!entry.is_object()) return bad(fmt::format("'{}' holds something else than objects", key));
  return &*found;
}

Result<Box> box_of(const Json& annotation) {
  const auto found = annotation.find("bbox");
  if (found == annotation.end() || !found->is_array() || found->size() != 4)
    return bad("'bbox' is no list of four numbers");
  double side[4];
  for (size_t i = 0; i < 4; ++i) {
    EC_TRY(side[i], number_of((*found)[i], "bbox"));
  }
  const auto x = static_cast<float>(side[0]), y = static_cast<float>(side[1]);
  return Box{x, y, x + static_cast<float>(side[2]), y + static_cast<float>(side[3])};
}

std::string slashes(const std::filesystem::path& path) { return path.generic_string(); }

}  // namespace

Result<CocoLabels> CocoLabels::read(const std::filesystem::path& path) {
  EC_TRY(const Blob file, read_file(path));
  Result<CocoLabels> labels =
      parse(std::string_view(reinterpret_cast<const char*>(file.bytes().data()), file.size()));
  if (!labels) return std::move(labels).error().file(path.string());
  return labels;
}

Result<CocoLabels> CocoLabels::parse(std::string_view text) {
  EC_CHECK_OK(check_json(text, text.size(), kMembers));
  // Outlines of objects are nearly all of such a file, and are not read.
  const Json root = Json::parse(
      text,
      [](int, Json::parse_event_t event, const Json& name) {
        return event != Json::parse_event_t::key ||
               std::ranges::find(kMembers, name.get_ref<const std::string&>()) != kMembers.end();
      },
      false);
  if (!root.is_object()) return bad("the labels are no JSON object");
  CocoLabels labels;
  EC_TRY(const Json* categories, list_of(root, "categories"));
  for (const Json& category : *categories) {
    EC_TRY(const int64_t id, integer_of(category, "id"));
    const auto name = category.find("name");
    labels.categories_.push_back(
        {id, name != category.end() && name->is_string() ? name->get<std::string>() : ""});
  }
  std::sort(labels.categories_.begin(), labels.categories_.end(),
            [](const CocoCategory& a, const CocoCategory& b) { return a.id < b.id; });
  std::map<int64_t, int32_t> index_of;
  for (size_t i = 0; i < labels.categories_.size(); ++i)
    if (!index_of.emplace(labels.categories_[i].id, static_cast<int32_t>(i)).second)
      return bad(fmt::format("two categories have the id {}", labels.categories_[i].id));

  std::map<int64_t, CocoPicture*> picture_of;
  EC_TRY(const Json* images, list_of(root, "images"));
  for (const Json& image : *images) {
    EC_TRY(const int64_t id, integer_of(image, "id"));
    const auto name = image.find("file_name");
    if (name == image.end() || !name->is_string()) return bad("an image has no 'file_name'");
    CocoPicture& picture = labels.pictures_[slashes(name->get<std::string>())];
    picture_of[id] = &picture;
    for (const auto& [key, side] :
         {std::pair{"width", &picture.width}, std::pair{"height", &picture.height}}) {
      if (!image.contains(key)) return bad(fmt::format("an image has no '{}'", key));
      EC_TRY(*side, number_of(image[key], key));
      if (!(*side >= 1)) return bad(fmt::format("'{}' of an image is below 1", key));
    }
  }
  EC_TRY(const Json* annotations, list_of(root, "annotations"));
  for (const Json& annotation : *annotations) {
    EC_TRY(const int64_t image, integer_of(annotation, "image_id"));
    EC_TRY(const int64_t category, integer_of(annotation, "category_id"));
    const auto picture = picture_of.find(image);
    const auto label = index_of.find(category);
    if (picture == picture_of.end())
      return bad(fmt::format("an annotation is of image {}, which is not listed", image));
    if (label == index_of.end())
      return bad(fmt::format("an annotation is of category {}, which is not listed", category));
    EC_TRY(const Box box, box_of(annotation));
    const auto crowd = annotation.find("iscrowd");
    const bool is_crowd = crowd != annotation.end() && crowd->is_number() && *crowd != 0;
    (is_crowd ? picture->second->crowds : picture->second->objects)
        .push_back({box, 1.0f, label->second, -1});
  }
  return labels;
}

const CocoPicture* CocoLabels::find(const std::filesystem::path& path) const {
  // From the whole path to the name alone.
  std::string rest = slashes(path);
  while (true) {
    const auto found = pictures_.find(rest);
    if (found != pictures_.end()) return &found->second;
    const size_t slash = rest.find('/');
    if (slash == std::string::npos) break;
    rest = rest.substr(slash + 1);
  }
  return nullptr;
}

int32_t CocoLabels::class_of(size_t category, int32_t classes) const {
  const auto index = static_cast<int32_t>(category);
  const int64_t id = categories_[category].id, largest = categories_.back().id;
  if (classes == 0 || static_cast<size_t>(classes) == categories_.size()) return index;
  if (id < 0 || largest > 1'000'000) return index;
  if (classes == largest) return static_cast<int32_t>(id - 1);
  return classes > largest ? static_cast<int32_t>(id) : index;
}

}  // namespace ec::tasks::detection
