#include "kusari/framework/links/link_hooks/weight_standardization.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/normalization/group_normalization.h"

namespace kusari::link_hooks {

Variable WeightStandardization::transformed(Link&, const Variable& weight) {
  if (weight.ndim() < 2) {
    throw ValueError("WeightStandardization: '" + weight_name() + "' has shape " + to_string(weight.shape()) +
                     " but must have at least 2 axes");
  }
  const Shape channels{weight.shape(1)};
  return functions::group_normalization(weight, 1, ones(channels, weight.dtype(), weight.device()),
                                        zeros(channels, weight.dtype(), weight.device()), eps_);
}

}  // namespace kusari::link_hooks
