#include "kusari/framework/training/extensions/stochastic_weight_averaging.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {

StochasticWeightAveraging::StochasticWeightAveraging(Link& model, const StochasticWeightAveragingOptions& options)
    : ModelAverage(model, "StochasticWeightAveraging", options.persistents),
      start_{argument::finite_not_negative("StochasticWeightAveraging", "start", options.start)} {}

void StochasticWeightAveraging::operator()(Trainer& trainer) {
  if (trainer.updater().epoch_detail() >= start_) update();
}

void StochasticWeightAveraging::update() {
  const auto steps = static_cast<double>(t());
  take(steps / (steps + 1));
}

}  // namespace kusari::training::extensions
