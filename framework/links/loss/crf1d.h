#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/crf1d.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct CRF1dOptions {
  Initializer initial_cost = {};  ///< default: 0
};

/// Options of a call of CRF1d.
struct CRF1dCall {
  functions::Reduce reduce = functions::Reduce::mean;
  /// Lists have one array per sequence, (length, n_label) and (length), instead of one per position. Losses and scores
  /// then come in the order of falling length, as Chainer's do; sequences of equal length keep theirs. Empty sequences
  /// have none.
  bool transpose = false;
};

/// F::crf1d with a matrix of transition costs. chainer.links.CRF1d.
class KUSARI_API CRF1d : public Link {
 public:
  using Options = CRF1dOptions;
  explicit CRF1d(int64_t n_label, Options options = {});
  /// The negative log-likelihood of the labels ys. With `transpose` throws TypeError, naming the sequence, unless it
  /// has as many labels as elements.
  Variable operator()(std::span<const Variable> xs, std::span<const Variable> ys, const CRF1dCall& options = {}) const;
  Variable operator()(std::initializer_list<Variable> xs, std::initializer_list<Variable> ys,
                      const CRF1dCall& options = {}) const {
    return (*this)(std::span<const Variable>(xs.begin(), xs.size()), std::span<const Variable>(ys.begin(), ys.size()),
                   options);
  }
  /// The best labels and what they add up to. With `transpose` the path has one array per sequence, in the order of xs;
  /// those of empty sequences are empty.
  functions::CrfPath argmax(std::span<const Variable> xs, bool transpose = false) const;
  functions::CrfPath argmax(std::initializer_list<Variable> xs, bool transpose = false) const {
    return argmax(std::span<const Variable>(xs.begin(), xs.size()), transpose);
  }

  Parameter cost;  ///< (n_label, n_label): [s, t] is what a step from label s to label t adds
};

}  // namespace kusari::links
