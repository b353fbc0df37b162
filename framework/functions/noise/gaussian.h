#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of F::gaussian.
struct GaussianOptions {
  Array eps = Array();          ///< standard normal numbers to use instead of drawing them, like ln_var
  Array* return_eps = nullptr;  ///< where to leave the numbers used
};

/// A sample of a Gaussian that gradients flow through: y = mean + exp(ln_var / 2) eps, also outside of training.
/// mean, ln_var: one shape and floating dtype. Returns y like them. Throws TypeError when they or the given eps differ
/// in shape or dtype. Differentiable to any order. Kingma and Welling 2014; chainer.functions.gaussian.
KUSARI_API Variable gaussian(const Variable& mean, const Variable& ln_var, const GaussianOptions& options = {});

}  // namespace kusari::functions
