#include "kusari/framework/training/extensions/fail_on_nonnumber.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/optimizer.h"

namespace kusari::training::extensions {
namespace {

bool is_finite(const Array& parameter) {
  const Array array = parameter.to_device(Device()).contiguous();
  return visit_dtype(array.dtype(), [&]<class T>() {
    const T* values = array.data<T>();
    for (int64_t i = 0; i < array.size(); ++i) {
      if constexpr (std::is_arithmetic_v<T>) {
        if (!std::isfinite(static_cast<double>(values[i]))) return false;
      } else {
        if (!std::isfinite(static_cast<float>(values[i]))) return false;
      }
    }
    return true;
  });
}

}  // namespace

void FailOnNonNumber::operator()(Trainer& trainer) {
  for (const auto& [name, optimizer] : trainer.updater().get_all_optimizers()) {
    for (const auto& [path, parameter] : optimizer->target().namedparams(false)) {
      if (!is_finite(parameter->array())) {
        throw ValueError("FailOnNonNumber: parameter " + path + " of optimizer '" + name +
                         "' holds NaN or an infinity: the training has diverged");
      }
    }
  }
}

}  // namespace kusari::training::extensions
