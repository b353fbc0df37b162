#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/reduce.h"

namespace kusari::functions {

/// Options of F::connectionist_temporal_classification.
struct ConnectionistTemporalClassificationOptions {
  Array input_length = Array();  ///< (B), integers: frames that count; by default all
  Array label_length = Array();  ///< (B), integers: labels that count; by default all
  Reduce reduce = Reduce::mean;  ///< mean over the batch, or no
};

/// Loss of label sequences whose alignment with the frames is unknown: -log of the probability of all ways to write the
/// labels in order, each one over one or more frames, with blanks anywhere and at least one between equal neighbours.
/// x: one array (B, V) per frame, floating: scores, of which softmax gives probabilities. t: (B, M), integers in
/// [0, V) as far as label_length reaches. blank_symbol: in [0, V). Returns a scalar of x's dtype, or (B) with
/// Reduce::no; 16-bit types are computed in float32. Labels that need more frames than there are give an infinite loss
/// and a gradient of 0. Throws TypeError when shapes or dtypes do not fit, ValueError for no frame, a blank symbol or
/// length out of range, IndexError for a label out of range; of labels and lengths on the CPU alone, elsewhere the loss
/// of such a sequence is NaN. Differentiable to any order by x. Gradients of gradients take steps of many functions,
/// which read labels and lengths on the host. Graves et al. 2006;
/// chainer.functions.connectionist_temporal_classification.
KUSARI_API Variable
connectionist_temporal_classification(std::span<const Variable> x, const Variable& t, int64_t blank_symbol,
                                      const ConnectionistTemporalClassificationOptions& options = {});
inline Variable connectionist_temporal_classification(std::initializer_list<Variable> x, const Variable& t,
                                                      int64_t blank_symbol,
                                                      const ConnectionistTemporalClassificationOptions& options = {}) {
  return connectionist_temporal_classification(std::span<const Variable>(x.begin(), x.size()), t, blank_symbol,
                                               options);
}

}  // namespace kusari::functions
