#pragma once

#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

struct JacobianOptions {
  bool enable_double_backprop = false;  ///< record how it is computed, so that it has gradients
};

/// The derivative of each element of y by each of x, from the graph that made y of x: one backward pass for each
/// element of y. y, x: any shapes, floating. Returns shape y.shape + x.shape and the dtype of x; zeros where y does not
/// depend on x. Gradients of other variables stay. Throws TypeError if y or x is not floating, ValueError for more than
/// 8 axes in all. torch.autograd.functional.jacobian.
KUSARI_API Variable jacobian(const Variable& y, const Variable& x, const JacobianOptions& options = {});

/// The second derivatives of y by xs, times v, without a matrix of them: two backward passes. y: one element, floating.
/// vs: as many as xs, with their shapes and dtypes. Returns one variable for each of xs, like it, without a graph;
/// zeros where the gradient of y does not depend on it. Throws ValueError for y of several elements and another number
/// of vs, TypeError for vs of other shapes or dtypes. Pearlmutter 1994; torch.autograd.functional.hvp.
KUSARI_API Variables hessian_vector_product(const Variable& y, std::span<const Variable> xs,
                                            std::span<const Variable> vs);

}  // namespace kusari::functions
