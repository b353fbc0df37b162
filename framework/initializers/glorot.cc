#include "kusari/framework/initializers/glorot.h"

#include <cmath>

#include "kusari/framework/initializers/initializer.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/initializers/uniform.h"

namespace kusari::initializers {

void GlorotNormal::operator()(const Array& array) const {
  const Fans fans = get_fans(array.shape());
  Normal(scale * std::sqrt(2.0 / static_cast<double>(fans.in + fans.out)))(array);
}

void GlorotUniform::operator()(const Array& array) const {
  const Fans fans = get_fans(array.shape());
  Uniform(scale * std::sqrt(6.0 / static_cast<double>(fans.in + fans.out)))(array);
}

}  // namespace kusari::initializers
