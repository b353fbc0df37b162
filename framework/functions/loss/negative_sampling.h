#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/reduce.h"

namespace kusari::functions {

/// Draws an array of integers of a given shape, such as utils::WalkerAlias::sample.
using Sampler = Callable<Array(const Shape& shape)>;

/// Options of F::negative_sampling.
struct NegativeSamplingOptions {
  Reduce reduce = Reduce::sum;      ///< sum over the batch, or no
  Array* return_samples = nullptr;  ///< where to leave the samples: (N, 1 + sample_size), labels in column 0
};

/// Loss that tells the label of each example from a few drawn ones instead of from all:
/// -log sigmoid(x . W[t]) - sum_n log sigmoid(-x . W[n]) for n drawn by the sampler.
/// x: (N, D), W: (V, D), one floating dtype. t: (N), integers in [0, V), or -1 for examples that do not count; others
/// below 0 count from the end. sampler: called once, with shape (N, 1 + sample_size), of which the first column is not
/// used. Returns a scalar of x's dtype, or (N) with Reduce::no; 16-bit types are computed in float32. Throws TypeError
/// when shapes or dtypes do not fit, ValueError for a negative sample_size or samples of another shape, IndexError for
/// a label out of range. Differentiable to any order by x and W. Mikolov et al. 2013;
/// chainer.functions.negative_sampling.
KUSARI_API Variable negative_sampling(const Variable& x, const Variable& t, const Variable& W, const Sampler& sampler,
                                      int64_t sample_size, const NegativeSamplingOptions& options = {});

}  // namespace kusari::functions
