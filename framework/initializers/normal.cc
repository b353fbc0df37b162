#include "kusari/framework/initializers/normal.h"

#include "kusari/framework/core/random.h"
#include "kusari/framework/kernels/random.h"

namespace kusari::initializers {

void Normal::operator()(const Array& array) const {
  const RandomState state = random::reserve(static_cast<uint64_t>(array.size()));
  launch<kernels::Normal>(array.device(), kernels::NormalMoments{0, scale}, state, array);
}

}  // namespace kusari::initializers
