#include "kusari/framework/training/extensions/value_observation.h"

#include <cstddef>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/kernels/optimizer.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/optimizer_access.h"

namespace kusari::training::extensions {
namespace {

static_assert(offsetof(kernels::AdamStep, alpha_t) == 0 && offsetof(kernels::AdaBoundStep, alpha_t) == 0);

/// Where a device skips steps and alone knows their number, it is left there: nobody waits before it is printed.
ObservedValue learning_rate(Optimizer& optimizer) {
  const auto* adam = dynamic_cast<const optimizers::Adam*>(&optimizer);
  if (adam == nullptr) return optimizer.hyperparameter("lr");
  const Array numbers = detail::OptimizerAccess::step_numbers(optimizer);
  return numbers.is_defined() ? ObservedValue(numbers.at(0)) : ObservedValue(adam->lr());
}

}  // namespace

FunctionExtension observe_value(std::string observation_key, Callable<double(Trainer&)> target_func) {
  return make_extension([key = argument::not_empty("observe_value", "observation_key", std::move(observation_key),
                                                   "name the value to report"),
                         target = argument::callable("observe_value", "target_func", std::move(target_func))](
                            Trainer& trainer) { trainer.observation().set(key, target(trainer)); },
                        {.trigger = {1, "epoch"}, .default_name = "_observe_value", .priority = kPriorityWriter});
}

FunctionExtension observe_lr(std::string optimizer_name, std::string observation_key) {
  return make_extension(
      [name = std::move(optimizer_name),
       key = argument::not_empty("observe_lr", "observation_key", std::move(observation_key),
                                 "name the value to report")](Trainer& trainer) {
        trainer.observation().set(key, learning_rate(trainer.updater().get_optimizer(name)));
      },
      {.trigger = {1, "epoch"}, .default_name = "_observe_value", .priority = kPriorityWriter});
}

}  // namespace kusari::training::extensions
