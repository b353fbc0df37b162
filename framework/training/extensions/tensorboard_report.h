#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/summary.h"
#include "kusari/framework/training/extension.h"
#include "kusari/framework/training/tensorboard/event_writer.h"

namespace kusari::training::extensions {

struct TensorBoardReportOptions {
  std::vector<std::string> keys = {};  ///< what to write; everything when empty
  TriggerRef trigger = {1, "epoch"};   ///< when the means of what was reported are written
  TriggerRef histograms = {};          ///< when histograms of parameters and gradients are; never when not given
  std::string directory = {};          ///< where; in the trainer's output directory, and that itself when empty
  /// A text with this is written: {{"batch size", "100"}, {"data", "MNIST"}}.
  std::vector<std::pair<std::string, std::string>> configuration = {};
  double flush_seconds = 5;  ///< as EventWriterOptions'
};

/// Writes what is reported to event files, for `tensorboard --logdir result`: like LogReport, each value as its mean
/// since the last time, over iterations; besides, the tree of links and the environment as texts, and pictures of
/// a DetectionVisReport or a PictureReport. A run that is resumed begins another file, and TensorBoard forgets what the
/// interrupted one wrote after the snapshot.
class KUSARI_API TensorBoardReport final : public Extension {
 public:
  explicit TensorBoardReport(TensorBoardReportOptions options = {});

  void operator()(Trainer& trainer) override;
  void finalize() override;
  std::string default_name() const override { return "TensorBoardReport"; }
  void serialize(Serializer& serializer) override;

 private:
  void begin_file(const Trainer& trainer);
  void write_texts(Trainer& trainer);
  void write_histograms(Trainer& trainer);
  void write_pictures(Trainer& trainer);

  TensorBoardReportOptions options_;
  DictSummary summary_;
  Owned<tensorboard::EventWriter> writer_;  // from the first call to the end of the run
  bool has_texts_ = false;                  // in the writer's file
  std::map<std::string, int64_t> drawn_;    // pictures of each extension that are written
};

}  // namespace kusari::training::extensions
