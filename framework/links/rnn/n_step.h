#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

// What the links of recurrent networks of several layers share.
namespace kusari::links {

struct NStepOptions {
  Initializer initial_w = {};  ///< default: LeCunNormal
  Initializer initial_bias = 0;
};

/// The weights of one layer in one direction: w0, w1, ... first those for x, (out_size, inputs), then those for h,
/// (out_size, out_size), and b0, b1, ..., (out_size). A cell of g gates has 2 g of each; the others are absent.
class KUSARI_API NStepWeights : public Link {
 public:
  NStepWeights(int64_t gates, int64_t in_size, int64_t out_size, const NStepOptions& options);

  std::vector<Variable> ws() const;
  std::vector<Variable> bs() const;
  /// Gives the weights for x their width.
  void infer(int64_t in_size) const;

  OptionalParameter w0, w1, w2, w3, w4, w5, w6, w7;
  OptionalParameter b0, b1, b2, b3, b4, b5, b6, b7;

 private:
  int64_t gates_;
};

/// A list of NStepWeights, one for each layer and in it each direction. chainer.links.rnn.n_step_rnn.NStepRNNBase.
class KUSARI_API NStepBase : public ChainList<NStepWeights> {
 public:
  int64_t n_layers() const noexcept { return n_layers_; }
  int64_t out_size() const noexcept { return out_size_; }
  std::vector<std::pair<std::string, std::string>> printable_specs() const override;

  double dropout;  ///< of what layers above the first read, when config.train

 protected:
  NStepBase(const char* call, int64_t gates, int64_t directions, int64_t n_layers, int64_t in_size, int64_t out_size,
            double dropout_ratio, const NStepOptions& options);

  using Lists = std::vector<std::vector<Variable>>;
  /// `x` tells weights that wait for it their width.
  Lists ws(const Variable& x) const;
  Lists bs() const;

 private:
  int64_t directions_, n_layers_, in_size_, out_size_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
