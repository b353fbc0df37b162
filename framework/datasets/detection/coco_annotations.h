#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"

namespace kusari::datasets {

struct CocoImage {
  int64_t id;
  std::string file_name;
};

struct CocoCategory {
  int64_t id;
  std::string name;
};

/// An object. Its box is (x, y) to (x + width, y + height), in pixels.
struct CocoAnnotation {
  int64_t image, category;
  double x, y, width, height;
  double area;  ///< of the object, not of its box
  bool is_crowd;
  bool is_difficult;  ///< what "difficult" or "ignore" says; COCO has neither, files made of VOC's have
};

/// What a file of annotations in COCO's format says.
struct CocoAnnotations {
  std::vector<CocoImage> images;
  std::vector<CocoCategory> categories;  ///< by id
  std::vector<CocoAnnotation> annotations;
  std::vector<std::string> problems;  ///< with skip_broken: what was left out, and why
};

/// An entry of a file of results in COCO's format.
struct CocoResult {
  int64_t image, category;
  double x, y, width, height;
  double score;
};

/// Reads annotations of boxes. path: a JSON file, with images, categories and annotations.
/// skip_broken: records with which something is wrong are left out and named in .problems.
/// Throws IoError, naming the file and the record ("annotations[3]"), for text that is no JSON or is cut off, for
/// fields that are missing or of another type, ids that come twice, and ids of images and categories that are not
/// there.
KUSARI_API CocoAnnotations read_coco_annotations(const std::string& path, bool skip_broken = false);
/// The same of a file's content; `name` stands for it in messages.
KUSARI_API CocoAnnotations parse_coco_annotations(std::span<const uint8_t> text, const std::string& name,
                                                  bool skip_broken = false);

/// Reads results of boxes: a JSON list of objects with image_id, category_id, bbox (x, y, width, height) and score.
/// Throws IoError as read_coco_annotations does.
KUSARI_API std::vector<CocoResult> read_coco_results(const std::string& path);

}  // namespace kusari::datasets
