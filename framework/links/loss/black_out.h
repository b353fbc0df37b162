#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/negative_sampling.h"
#include "kusari/framework/functions/loss/walker_alias.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct BlackOutOptions {
  Initializer initial_w = {};            ///< default: NaN, as in Chainer: W must be set before the first call
  functions::Sampler sampler = nullptr;  ///< draws labels instead of `sampler` of the link
};

/// F::black_out with a weight matrix and labels drawn by how often they come. counts: of the labels 0, 1, ....
/// x: (N, in_size), t: (N), labels; returns the mean loss. chainer.links.BlackOut.
class KUSARI_API BlackOut : public Link {
 public:
  using Options = BlackOutOptions;
  BlackOut(int64_t in_size, const std::vector<int64_t>& counts, int64_t sample_size, Options options = {});
  Variable operator()(const Variable& x, const Variable& t) const;

  Parameter W;  ///< (labels, in_size)
  int64_t sample_size;
  mutable utils::WalkerAlias sampler;  ///< goes where x is

 private:
  functions::Sampler draw_;
};

}  // namespace kusari::links
