#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {

const FunctionTable& function_table() {
  static const FunctionTable table = [] {
    FunctionTable all;
    add_activation_functions(all);
    add_array_functions(all);
    add_batch_normalization_functions(all);
    add_connection_functions(all);
    add_convolution_functions(all);
    add_linear_algebra_functions(all);
    add_loss_functions(all);
    add_math_functions(all);
    add_noise_functions(all);
    add_normalization_functions(all);
    add_pooling_functions(all);
    add_sampling_functions(all);
    return all;
  }();
  return table;
}

}  // namespace kusari::golden
