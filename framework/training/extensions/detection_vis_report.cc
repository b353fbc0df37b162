#include "kusari/framework/training/extensions/detection_vis_report.h"

#include <algorithm>
#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/transforms/image.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {
namespace {

const char* const kVisReport = "DetectionVisReport";

Detections above(const Detections& found, double score_thresh) {
  Detections kept;
  for (size_t i = 0; i < found.bbox.size(); ++i) {
    if (i < found.score.size() && static_cast<double>(found.score[i]) < score_thresh) continue;
    kept.bbox.push_back(found.bbox[i]);
    if (i < found.label.size()) kept.label.push_back(found.label[i]);
    if (i < found.score.size()) kept.score.push_back(found.score[i]);
  }
  return kept;
}

/// Two pictures of one size, side by side.
Array side_by_side(const Array& left, const Array& right) {
  constexpr int64_t kGap = 4;
  const int64_t height = left.shape(1), width = left.shape(2);
  const Array both = datasets::transforms::empty_image(3, {height, 2 * width + kGap}, Dtype::uint8);
  both.fill(255);
  both.slice(2, 0, width).copy_from(left);
  both.slice(2, width + kGap, width).copy_from(right);
  return both;
}

}  // namespace

DetectionVisReport::DetectionVisReport(iterators::IteratorRef iterator, Link& model, DetectionVisReportOptions options,
                                       DetectionEvaluator::Predict predict)
    : iterator_{std::move(iterator)}, home_{model.home()}, predict_{std::move(predict)}, options_{std::move(options)} {
  if (iterator_->repeat()) {
    throw ValueError(
        std::string(kVisReport) +
        ": the iterator repeats, so other images would be drawn each time: create it with {.repeat = false}");
  }
  argument::require(options_.images >= 1 && options_.images <= 1000, kVisReport, "images", options_.images,
                    "be in [1, 1000]");
}

Array DetectionVisReport::draw(const datasets::Example& example, const Detections& found) const {
  const datasets::Keys given = iterator_->keys();
  const datasets::Keys keys = given.empty() ? datasets::Keys{"image", "bbox", "label"} : given;
  const auto component = [&](const char* name) -> const Array* {
    const auto place = static_cast<size_t>(std::find(keys.begin(), keys.end(), name) - keys.begin());
    return place < std::min(keys.size(), example.size()) ? &example[place] : nullptr;
  };
  const Array* const image = component("image");
  if (image == nullptr) throw ValueError(std::string(kVisReport) + ": an example has no 'image'");
  const Array picture = datasets::vis_bbox(*image, above(found, options_.score_thresh), options_.vis);
  const Array* const bbox = component("bbox");
  const Array* const label = component("label");
  if (bbox == nullptr || label == nullptr) return picture;
  return side_by_side(datasets::vis_bbox(*image, boxes_of(*bbox), label->to_vector<int32_t>(), {}, options_.vis),
                      picture);
}

void DetectionVisReport::operator()(Trainer& trainer) {
  const auto test_mode = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  pictures_.clear();
  ++drawn_;
  iterator_->reset();
  const datasets::Keys keys = iterator_->keys();
  const auto image_place =
      static_cast<size_t>(keys.empty() ? 0 : std::find(keys.begin(), keys.end(), "image") - keys.begin());
  for (iterators::Batch batch : *iterator_) {
    const auto left = static_cast<size_t>(options_.images) - pictures_.size();
    if (batch.size() > left) batch.resize(left);
    std::vector<Array> images;
    for (const datasets::Example& example : batch) {
      if (image_place >= example.size()) throw ValueError(std::string(kVisReport) + ": an example has no 'image'");
      images.push_back(example[image_place]);
    }
    const std::vector<Detections> found = predict_(home_->get(), images);
    if (found.size() != images.size()) {
      throw ValueError(std::string(kVisReport) + ": the model gave " + std::to_string(found.size()) +
                       " predictions for " + std::to_string(images.size()) + " images");
    }
    for (size_t i = 0; i < images.size(); ++i) {
      const auto index = static_cast<int64_t>(pictures_.size());
      pictures_.push_back(report_picture("image " + std::to_string(index), draw(batch[i], found[i])));
      write_picture(trainer, options_.filename, index, pictures_.back());
    }
    if (pictures_.size() >= static_cast<size_t>(options_.images)) break;
  }
}

void DetectionVisReport::finalize() { iterator_->finalize(); }

}  // namespace kusari::training::extensions
