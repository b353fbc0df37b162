#include "kusari/framework/training/extensions/unchain_variables.h"

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {

FunctionExtension unchain_variables() {
  return make_extension(
      [](Trainer& trainer) {
        for (const auto& [key, value] : trainer.observation()) {
          if (value.variable() != nullptr) Variable(*value.variable()).unchain_backward();
        }
      },
      {.default_name = "unchain_variables", .priority = 0});
}

}  // namespace kusari::training::extensions
