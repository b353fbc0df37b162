#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/datasets/image/vis_bbox.h"
#include "kusari/framework/training/extension.h"
#include "kusari/framework/training/extensions/detection_evaluator.h"
#include "kusari/framework/training/extensions/report_picture.h"
#include "kusari/iterators/iterator.h"

namespace kusari::training::extensions {

struct DetectionVisReportOptions {
  datasets::VisBboxOptions vis = {};  ///< with .label_names
  int64_t images = 4;                 ///< so many of the data set's first images
  double score_thresh = 0;            ///< what is less sure is not drawn
  /// In the trainer's output directory, with the iteration and the image's number; empty: no files.
  std::string filename = "detection_iter={iteration}_idx={index}.png";
};

/// Draws what a model finds in the first images of a data set, beside what is to be found where examples have it
/// (image, bbox, label, ...), in any order if there are keys. Writes PNG files; HtmlReport and TensorBoardReport show
/// the pictures too. Once an epoch unless told otherwise. Throws ValueError for an iterator that repeats, and unless
/// .images is in [1, 1000]. chainercv.extensions.DetectionVisReport.
class KUSARI_API DetectionVisReport final : public Extension, public PictureSource {
 public:
  template <DetectorType Model>
  DetectionVisReport(iterators::IteratorRef iterator, Model& model, DetectionVisReportOptions options = {})
      : DetectionVisReport(std::move(iterator), model, std::move(options),
                           [](Link& link, const std::vector<Array>& images) {
                             return std::vector<Detections>(static_cast<Model&>(link).predict(images));
                           }) {}

  void operator()(Trainer& trainer) override;
  void finalize() override;
  std::string default_name() const override { return "DetectionVisReport"; }
  TriggerRef default_trigger() const override { return {1, "epoch"}; }
  int default_priority() const override { return kPriorityWriter; }

  const std::vector<ReportPicture>& pictures() const noexcept override { return pictures_; }
  int64_t drawn() const noexcept override { return drawn_; }

 private:
  DetectionVisReport(iterators::IteratorRef iterator, Link& model, DetectionVisReportOptions options,
                     DetectionEvaluator::Predict predict);
  Array draw(const datasets::Example& example, const Detections& found) const;

  iterators::IteratorRef iterator_;
  IntrusivePtr<Home> home_;
  DetectionEvaluator::Predict predict_;
  DetectionVisReportOptions options_;
  std::vector<ReportPicture> pictures_;
  int64_t drawn_ = 0;
};

}  // namespace kusari::training::extensions
