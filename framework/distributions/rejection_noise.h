#pragma once

#include "kusari/framework/autograd/variable.h"

namespace kusari::distributions {

/// log(z) for gamma distributed z of scale 1 and the shapes a, an array of any shape; NaN where a is not positive.
/// Differentiable once: the gradient is that of a z whose share of the distribution stays the same (Figurnov, Mohamed
/// and Mnih 2018). A second derivative throws StateError.
Variable log_gamma_sample(const Variable& a);

/// Poisson distributed numbers of the means l in l's dtype; NaN where l is negative.
Array poisson_noise(const Array& l);

}  // namespace kusari::distributions
