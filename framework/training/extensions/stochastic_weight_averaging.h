#pragma once

#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/model_average.h"

namespace kusari::training::extensions {

struct StochasticWeightAveragingOptions {
  double start = 0;         ///< in epochs: before that many nothing is averaged
  bool persistents = true;  ///< also of floating persistent arrays: the running statistics of normalizations
};

/// The mean of a model's parameters at the ends of epochs, or whenever else the trigger fires, from `start` on: each
/// counts alike. Best with a learning rate that stays high, or goes up and down, from `start` on. See ModelAverage for
/// what is averaged, and where.
///
///   extensions::StochasticWeightAveraging average(model, {.start = 75});
///   trainer.extend(average);
///   trainer.extend(extensions::with_average(average, extensions::Evaluator(test, model)));
///
/// A loop of one's own calls update(), which does not ask for `start`, and tests while the result of apply() lives. The
/// means of running statistics are not quite the statistics of the mean parameters: update_batch_statistics() makes
/// these, after copy_to() or while the result of apply() lives. Izmailov et al. 2018, Averaging weights leads to wider
/// optima and better generalization; torch.optim.swa_utils.AveragedModel.
class KUSARI_API StochasticWeightAveraging final : public ModelAverage {
 public:
  /// The model may be moved, but must live at each call. Throws ValueError unless start is finite and not negative.
  explicit StochasticWeightAveraging(Link& model, const StochasticWeightAveragingOptions& options = {});

  void operator()(Trainer& trainer) override;
  /// Takes the parameters as they are into the averages. Throws StateError while the model has the averages, and
  /// within a step that is being recorded.
  void update();

  std::string default_name() const override { return "StochasticWeightAveraging"; }
  TriggerRef default_trigger() const override { return {1, "epoch"}; }

 private:
  double start_;
};

}  // namespace kusari::training::extensions
