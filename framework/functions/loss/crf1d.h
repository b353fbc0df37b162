#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/reduce.h"

namespace kusari::functions {

/// Negative log-likelihood of label sequences under a linear-chain conditional random field:
/// log Z - (sum_i xs[i][y_i] + sum_i cost[y_i, y_(i+1)]), Z being the sum of exp of the bracket over all sequences.
/// cost: (K, K), floating: [s, t] is what a step from label s to label t adds. xs: one array (B_i, K) of cost's dtype
/// per position, B_i not growing: sequences sorted by falling length, as F::transpose_sequence gives them. ys: labels
/// in [0, K), (B_i), integers; negative ones count from the end. Returns the sum over sequences divided by B_0, a
/// scalar of cost's dtype, or with Reduce::no one loss per sequence, (B_0); 16-bit types are computed in float32.
/// Throws TypeError when shapes or dtypes do not fit, ValueError without positions, IndexError for a label out of
/// range. Differentiable to any order by cost and xs. Lafferty et al. 2001; chainer.functions.crf1d.
KUSARI_API Variable crf1d(const Variable& cost, std::span<const Variable> xs, std::span<const Variable> ys,
                          Reduce reduce = Reduce::mean);
inline Variable crf1d(const Variable& cost, std::initializer_list<Variable> xs, std::initializer_list<Variable> ys,
                      Reduce reduce = Reduce::mean) {
  return crf1d(cost, std::span<const Variable>(xs.begin(), xs.size()), std::span<const Variable>(ys.begin(), ys.size()),
               reduce);
}

/// Result of argmax_crf1d.
struct CrfPath {
  Variable score;           ///< (B_0): what the best sequence of labels adds up to
  std::vector<Array> path;  ///< int32, (B_i) for each position: its labels
};

/// The sequences of labels that a linear-chain conditional random field holds for most probable (Viterbi 1967).
/// cost, xs: as for crf1d. Of equal sequences, those with the smaller label at the last difference win. Throws what
/// crf1d throws. The score is differentiable. chainer.functions.argmax_crf1d.
KUSARI_API CrfPath argmax_crf1d(const Variable& cost, std::span<const Variable> xs);
inline CrfPath argmax_crf1d(const Variable& cost, std::initializer_list<Variable> xs) {
  return argmax_crf1d(cost, std::span<const Variable>(xs.begin(), xs.size()));
}

}  // namespace kusari::functions
