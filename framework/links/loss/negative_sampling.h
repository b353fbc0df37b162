#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/negative_sampling.h"
#include "kusari/framework/functions/loss/walker_alias.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct NegativeSamplingOptions {
  double power = 0.75;                        ///< of the counts, which the sampler's probabilities are proportional to
  std::optional<Dtype> dtype = std::nullopt;  ///< of W; config.dtype when not given
  functions::Sampler sampler = nullptr;       ///< draws labels instead of `sampler` of the link
};

/// F::negative_sampling with a weight matrix and labels drawn by how often they come. counts: of the labels 0, 1, ....
/// x: (N, in_size), t: (N), labels or -1. chainer.links.NegativeSampling.
class KUSARI_API NegativeSampling : public Link {
 public:
  using Options = NegativeSamplingOptions;
  NegativeSampling(int64_t in_size, const std::vector<int64_t>& counts, int64_t sample_size, Options options = {});
  Variable operator()(const Variable& x, const Variable& t,
                      const functions::NegativeSamplingOptions& options = {}) const;

  Parameter W;  ///< (labels, in_size), 0 at first
  int64_t sample_size;
  mutable utils::WalkerAlias sampler;  ///< goes where x is

 private:
  functions::Sampler draw_;
};

}  // namespace kusari::links
