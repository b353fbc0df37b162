#include "kusari/framework/training/extensions/value_observation.h"

#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/adam.h"

namespace kusari::training::extensions {

FunctionExtension observe_value(std::string observation_key, std::function<double(Trainer&)> target_func) {
  return make_extension([key = std::move(observation_key), target = std::move(target_func)](
                            Trainer& trainer) { trainer.observation().set(key, target(trainer)); },
                        {.trigger = {1, "epoch"}, .default_name = "_observe_value", .priority = kPriorityWriter});
}

FunctionExtension observe_lr(std::string optimizer_name, std::string observation_key) {
  return observe_value(std::move(observation_key), [name = std::move(optimizer_name)](Trainer& trainer) {
    Optimizer& optimizer = trainer.updater().get_optimizer(name);
    const auto* adam = dynamic_cast<const optimizers::Adam*>(&optimizer);
    return adam != nullptr ? adam->lr() : optimizer.hyperparameter("lr");
  });
}

}  // namespace kusari::training::extensions
