#include "kusari/framework/initializers/he.h"

#include <cmath>

#include "kusari/framework/initializers/initializer.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/initializers/uniform.h"

namespace kusari::initializers {

void HeNormal::operator()(const Array& array) const {
  const Fans fans = get_fans(array.shape());
  Normal(scale * std::sqrt(2.0 / static_cast<double>(fan_option == FanOption::fan_in ? fans.in : fans.out)))(array);
}

void HeUniform::operator()(const Array& array) const {
  Uniform(scale * std::sqrt(6.0 / static_cast<double>(get_fans(array.shape()).in)))(array);
}

}  // namespace kusari::initializers
