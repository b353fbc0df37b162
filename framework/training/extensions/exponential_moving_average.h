#pragma once

#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/model_average.h"

namespace kusari::training::extensions {

struct ExponentialMovingAverageOptions {
  double decay = 0.9998;  ///< d, in [0, 1): how much of an average a step keeps
  /// Keep no more than (1 + t) / (10 + t) at step t, so that averages soon forget where training began.
  bool warmup = true;
  bool persistents = true;  ///< also of floating persistent arrays: the running statistics of normalizations
};

/// Averages of a model's parameters over the steps of training: average <- d average + (1 - d) parameter after each
/// step; the first step's are the beginning. See ModelAverage for what is averaged, and where.
///
///   extensions::ExponentialMovingAverage average(model);
///   trainer.extend(average);
///   trainer.extend(extensions::with_average(average, extensions::Evaluator(test, model)));
///
/// A loop of one's own calls update() after each step, and tests while the result of apply() lives.
/// tf.train.ExponentialMovingAverage, torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn.
class KUSARI_API ExponentialMovingAverage final : public ModelAverage {
 public:
  /// The model may be moved, but must live at each call. Throws ValueError unless decay is in [0, 1).
  explicit ExponentialMovingAverage(Link& model, const ExponentialMovingAverageOptions& options = {});

  void operator()(Trainer&) override { update(); }
  /// Takes the parameters as they are into the averages. Throws StateError while the model has the averages, and
  /// within a step that is being recorded.
  void update();

  std::string default_name() const override { return "ExponentialMovingAverage"; }
  TriggerRef default_trigger() const override { return {1, "iteration"}; }

 private:
  double decay_;
  bool warmup_;
};

}  // namespace kusari::training::extensions
