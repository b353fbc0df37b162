#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"

namespace kusari::links {

struct AdaptiveSoftmaxOptions {
  double div_value = 4;       ///< each rarer group of words has vectors that are shorter by this factor
  bool head_bias = false;     ///< of the product for frequent words
  int64_t ignore_label = -1;  ///< labels that do not count
};

/// Cross entropy over very many words, whose ids are sorted by falling frequency: the first cutoffs[0] words have a
/// score each, with one more for each rarer group; the words of group i, from cutoffs[i] on, have scores within it.
/// Labels are read on the host, so that it cannot be part of a static graph. Grave et al. 2017;
/// torch.nn.AdaptiveLogSoftmaxWithLoss.
class KUSARI_API AdaptiveSoftmax : public Chain {
 public:
  using Options = AdaptiveSoftmaxOptions;
  /// Throws ValueError unless 0 < cutoffs[0] < cutoffs[1] < ... < words and div_value is at least 1.
  AdaptiveSoftmax(int64_t in_size, int64_t words, std::vector<int64_t> cutoffs, const Options& options = {});

  /// The mean loss of the labels that count, 0 for none. x: (N, in_size), floating. t: (N), integers in [0, words) or
  /// ignore_label. Throws TypeError when shapes or dtypes do not fit, IndexError for another label.
  Variable operator()(const Variable& x, const Variable& t) const;
  /// Logarithms of the probabilities of all words, (N, words).
  Variable log_prob(const Variable& x) const;

  Child<Linear> head;             ///< W: (cutoffs[0] + groups, in_size)
  Child<ChainList<Linear>> down;  ///< for each group W: (in_size / div_value^(i + 1), at least 1; in_size), no bias
  Child<ChainList<Linear>> out;   ///< for each group W: (its words, that), no bias

 private:
  std::vector<int64_t> cutoffs_;  // with the number of words at the end
  int64_t ignore_label_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
