#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extension.h"
#include "kusari/framework/training/extensions/report_picture.h"

namespace kusari::training::extensions {

/// An image with a title, such as "sample 0". image: as datasets::save_png takes it.
struct TitledImage {
  std::string title;
  Array image;
};

struct PictureReportOptions {
  /// In the trainer's output directory, with the iteration and the picture's number; empty: no files.
  std::string filename = "picture_iter={iteration}_idx={index}.png";
};

/// Shows pictures that a function makes: samples of a generator, reconstructions, segmented images. It is called in
/// test mode and without recording a graph. Writes PNG files; HtmlReport and TensorBoardReport show the pictures too.
/// Once an epoch unless told otherwise.
///
///   trainer.extend(extensions::PictureReport([&] {
///     return std::vector<extensions::TitledImage>{{"sample", F::sigmoid(decoder(z))[0].array()}};
///   }));
///
/// Throws what the function and save_png throw.
class KUSARI_API PictureReport final : public Extension, public PictureSource {
 public:
  using Draw = Callable<std::vector<TitledImage>()>;
  explicit PictureReport(Draw draw, PictureReportOptions options = {});

  void operator()(Trainer& trainer) override;
  std::string default_name() const override { return "PictureReport"; }
  TriggerRef default_trigger() const override { return {1, "epoch"}; }
  int default_priority() const override { return kPriorityWriter; }

  const std::vector<ReportPicture>& pictures() const noexcept override { return pictures_; }
  int64_t drawn() const noexcept override { return drawn_; }

 private:
  Draw draw_;
  PictureReportOptions options_;
  std::vector<ReportPicture> pictures_;
  int64_t drawn_ = 0;
};

}  // namespace kusari::training::extensions
