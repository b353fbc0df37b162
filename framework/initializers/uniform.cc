#include "kusari/framework/initializers/uniform.h"

#include "kusari/framework/core/random.h"
#include "kusari/framework/kernels/random.h"

namespace kusari::initializers {

void Uniform::operator()(const Array& array) const {
  const RandomState state = random::reserve(static_cast<uint64_t>(array.size()));
  launch<kernels::Uniform>(array.device(), kernels::UniformRange{-scale, scale}, state, array);
}

}  // namespace kusari::initializers
