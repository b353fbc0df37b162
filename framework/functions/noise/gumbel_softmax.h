#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// A soft sample of a choice: y = softmax((log_pi + g) / tau) along an axis with g drawn from Gumbel(0, 1), also
/// outside of training. log_pi: any shape, floating: logarithms of probabilities, up to a constant along the axis. tau:
/// the temperature, a number or a variable of log_pi's dtype whose shape broadcasts; near 0 samples are near one-hot.
/// Returns y like log_pi; 1 for one without axes. Throws TypeError if log_pi is not floating, IndexError for an axis
/// that it does not have. Differentiable to any order. Jang et al. 2017; chainer.functions.gumbel_softmax.
KUSARI_API Variable gumbel_softmax(const Variable& log_pi, double tau = 0.1, int64_t axis = 1);
KUSARI_API Variable gumbel_softmax(const Variable& log_pi, const Variable& tau, int64_t axis = 1);

}  // namespace kusari::functions
