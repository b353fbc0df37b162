#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kusari/framework/functions/detection/box.h"
#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {

using Names = std::vector<std::string>;

/// The score of what no longer counts.
inline constexpr float kDropped = -1;

/// The ONNX nodes that find boxes in what a network gives, named after what they do.
class DetectionNodes {
 public:
  explicit DetectionNodes(GraphBuilder& graph) : graph_{graph} {}

  // --- any nodes ----------------------------------------------------------------------------------------------------

  GraphBuilder& graph() const noexcept { return graph_; }
  void add(const std::string& type, const Names& inputs, const Names& outputs, const Attributes& attributes = {}) const;
  /// The one output, under a new name.
  std::string make(const std::string& type, const Names& inputs, const Attributes& attributes = {}) const;
  std::string number(float value, bool is_list = false) const;
  std::string slice(const std::string& value, int64_t axis, int64_t begin, int64_t end) const;
  std::string unsqueeze(const std::string& value, int64_t axis) const;
  std::string squeeze(const std::string& value, int64_t axis) const;
  std::string column(const std::string& rows, int64_t i) const;
  std::string cast(const std::string& value, Dtype from, Dtype to = Dtype::float32) const;
  /// The `count` highest along the last axis, and their places.
  std::array<std::string, 2> top(const std::string& value, const std::string& count) const;

  // --- boxes --------------------------------------------------------------------------------------------------------

  struct Places {
    std::string centres, sizes;  // (.., 2)
  };
  /// Of anchors, (K, 2).
  Places places(const std::vector<Box>& anchors) const;
  /// Of boxes (.., 4).
  Places places(const std::string& boxes) const;
  /// Corners of what codes (.., 4) stand for at these places, within an image of this size. variance: as
  /// AnchorCoderOptions has it.
  std::string corners(const std::string& codes, const Places& at, const std::array<double, 2>& variance, int64_t height,
                      int64_t width) const;
  /// Whether boxes (.., 4) are not empty and have sides of min_size at least: (.., 1).
  std::string are_large(const std::string& boxes, double min_size) const;

  // --- scores -------------------------------------------------------------------------------------------------------

  std::string kept(const std::string& scores, const std::string& condition) const;
  /// Those of scores (.., classes) from `least` on; of each row only the best class, if wanted.
  std::string kept_from(const std::string& scores, double least, bool best_class_only, int64_t classes) const;
  /// Rows (image, class, box), or (class, image, box), of what no better box hides: of boxes (A, K, 4) and scores
  /// (A, B, K). Those go whose IoU is above the overlap given; `most`: of each A and B.
  std::string selected(const std::string& boxes, const std::string& scores, int64_t most, float overlap,
                       float least) const;
  /// bbox, class, score and image of the best of one image. rows: as selected() gives them, the images in that column;
  /// limit: 0: all.
  Names best_of_image(const std::string& rows, const std::string& boxes, const std::string& scores, int64_t image,
                      int64_t images, int64_t column_of_images, int64_t limit) const;

 private:
  GraphBuilder& graph_;
};

/// The next float below: ONNX keeps scores above a threshold, and drops boxes above theirs.
float below(double value);

}  // namespace kusari::onnx::exporting
