#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of F::rrelu.
struct RReLUOptions {
  Array r = Array();          ///< slopes to use instead of drawing them, of x's shape and dtype
  Array* return_r = nullptr;  ///< where to leave the slopes used, of x's shape
};

/// Randomized leaky rectifier: y = x for x >= 0, r x otherwise, where each r is drawn from [l, u); the mean
/// r = (l + u) / 2 unless config.train, even where slopes are given.
/// x: any shape, floating. l, u: 0 <= l < u < 1. Returns y like x. Throws ValueError for other bounds, TypeError if x
/// is not floating or the given r not like it. Differentiable to any order, with derivative 1 at 0. Xu et al. 2015;
/// chainer.functions.rrelu.
KUSARI_API Variable rrelu(const Variable& x, double l = 1.0 / 8, double u = 1.0 / 3, const RReLUOptions& options = {});

}  // namespace kusari::functions
