#include "kusari/framework/initializers/lecun.h"

#include <cmath>

#include "kusari/framework/initializers/initializer.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/initializers/uniform.h"

namespace kusari::initializers {

void LeCunNormal::operator()(const Array& array) const {
  Normal(scale * std::sqrt(1.0 / static_cast<double>(get_fans(array.shape()).in)))(array);
}

void LeCunUniform::operator()(const Array& array) const {
  Uniform(scale * std::sqrt(3.0 / static_cast<double>(get_fans(array.shape()).in)))(array);
}

}  // namespace kusari::initializers
