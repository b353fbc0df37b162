#include "kusari/framework/datasets/detection/coco_annotations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/core/json_text.h"
#include "kusari/framework/datasets/reading.h"

namespace kusari::datasets {
namespace {

using Json = nlohmann::json;
const char* const kReadAnnotations = "read_coco_annotations";
const char* const kReadResults = "read_coco_results";

/// What is wrong with a record, as the end of a sentence about it.
struct BrokenRecord {
  std::string what;
};

Json parsed(const char* call, std::span<const uint8_t> text, const std::string& name) {
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& error) {
    const bool is_cut_off = error.byte > text.size();
    throw IoError(std::string(call) + ": " + name + (is_cut_off ? " is cut off" : " is no JSON") + " at byte " +
                  std::to_string(error.byte));
  } catch (const Json::out_of_range&) {
    throw IoError(std::string(call) + ": " + name + " has a number that is too large");
  }
}

const Json& field(const Json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end()) throw BrokenRecord{std::string("has no ") + key};
  return *found;
}

int64_t id_in(const Json& record, const char* key) {
  const Json& value = field(record, key);
  if (!value.is_number_integer())
    throw BrokenRecord{std::string(key) + " is " + json_text(value) + ": it must be an integer"};
  return value.get<int64_t>();
}

double number_in(const Json& value, const char* key) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    throw BrokenRecord{std::string(key) + " is " + json_text(value) + ": it must be numbers"};
  }
  return value.get<double>();
}

std::string text_in(const Json& record, const char* key) {
  const Json& value = field(record, key);
  if (!value.is_string()) throw BrokenRecord{std::string(key) + " is " + json_text(value) + ": it must be text"};
  return value.get<std::string>();
}

std::array<double, 4> box_in(const Json& record) {
  const Json& value = field(record, "bbox");
  if (!value.is_array() || value.size() != 4) {
    throw BrokenRecord{"bbox is " + json_text(value) + ": it must be four numbers"};
  }
  return {number_in(value[0], "bbox"), number_in(value[1], "bbox"), number_in(value[2], "bbox"),
          number_in(value[3], "bbox")};
}

/// 0, 1, false and true.
bool flag_in(const Json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end()) return false;
  if (found->is_boolean()) return found->get<bool>();
  return number_in(*found, key) != 0;
}

/// Calls read(record) for those of a list; what is wrong with one is given to refuse(text).
template <class Read, class Refuse>
void for_each_record(const Json& list, const std::string& name, const Read& read, const Refuse& refuse) {
  for (size_t i = 0; i < list.size(); ++i) {
    try {
      if (!list[i].is_object()) throw BrokenRecord{"is no object"};
      read(list[i]);
    } catch (const BrokenRecord& broken) {
      refuse(name + "[" + std::to_string(i) + "] " + broken.what);
    }
  }
}

void expect_list(const char* call, const Json& list, const std::string& name, const char* what) {
  if (!list.is_array()) throw IoError(std::string(call) + ": " + name + ": " + what + " is no list");
}

}  // namespace

CocoAnnotations parse_coco_annotations(std::span<const uint8_t> text, const std::string& name, bool skip_broken) {
  const Json file = parsed(kReadAnnotations, text, name);
  for (const char* const key : {"images", "categories", "annotations"}) {
    if (!file.is_object() || !file.contains(key)) {
      throw IoError(std::string(kReadAnnotations) + ": " + name + " has no list " + key);
    }
    expect_list(kReadAnnotations, file[key], name, key);
  }
  CocoAnnotations result;
  const auto refuse = [&](const std::string& what) {
    if (!skip_broken) throw IoError(std::string(kReadAnnotations) + ": " + name + ": " + what);
    result.problems.push_back(what);
  };
  std::unordered_set<int64_t> images, categories;
  const auto add_id = [](std::unordered_set<int64_t>& ids, int64_t id) {
    if (!ids.insert(id).second) throw BrokenRecord{"has the id " + std::to_string(id) + ", which another has too"};
  };
  for_each_record(
      file["images"], "images",
      [&](const Json& record) {
        CocoImage image{id_in(record, "id"), text_in(record, "file_name")};
        add_id(images, image.id);
        result.images.push_back(std::move(image));
      },
      refuse);
  for_each_record(
      file["categories"], "categories",
      [&](const Json& record) {
        CocoCategory category{id_in(record, "id"), text_in(record, "name")};
        add_id(categories, category.id);
        result.categories.push_back(std::move(category));
      },
      refuse);
  std::sort(result.categories.begin(), result.categories.end(),
            [](const CocoCategory& a, const CocoCategory& b) { return a.id < b.id; });
  for_each_record(
      file["annotations"], "annotations",
      [&](const Json& record) {
        const int64_t image = id_in(record, "image_id"), category = id_in(record, "category_id");
        if (!images.contains(image)) {
          throw BrokenRecord{"has image_id " + std::to_string(image) + ", which no image has"};
        }
        if (!categories.contains(category)) {
          throw BrokenRecord{"has category_id " + std::to_string(category) + ", which no category has"};
        }
        const auto [x, y, width, height] = box_in(record);
        const auto area = record.find("area");
        result.annotations.push_back(
            {image, category, x, y, width, height, area == record.end() ? width * height : number_in(*area, "area"),
             flag_in(record, "iscrowd"), flag_in(record, "difficult") || flag_in(record, "ignore")});
      },
      refuse);
  return result;
}

CocoAnnotations read_coco_annotations(const std::string& path, bool skip_broken) {
  std::vector<uint8_t> buffer;
  return reading(kReadAnnotations, path,
                 [&] { return parse_coco_annotations(read_whole(kReadAnnotations, path, buffer), path, skip_broken); });
}

std::vector<CocoResult> read_coco_results(const std::string& path) {
  return reading(kReadResults, path, [&] {
    std::vector<uint8_t> buffer;
    const Json file = parsed(kReadResults, read_whole(kReadResults, path, buffer), path);
    expect_list(kReadResults, file, path, "it");
    std::vector<CocoResult> results;
    results.reserve(file.size());
    for_each_record(
        file, "entry ",
        [&](const Json& record) {
          const auto [x, y, width, height] = box_in(record);
          results.push_back({id_in(record, "image_id"), id_in(record, "category_id"), x, y, width, height,
                             number_in(field(record, "score"), "score")});
        },
        [&](const std::string& what) { throw IoError(std::string(kReadResults) + ": " + path + ": " + what); });
    return results;
  });
}

}  // namespace kusari::datasets
