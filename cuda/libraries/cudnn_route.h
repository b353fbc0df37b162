#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "kusari/cuda/libraries/cudnn_graph.h"
#include "kusari/cuda/libraries/cudnn_plan.h"

namespace kusari::cuda {

/// How cuDNN computes one convolution.
struct ConvolutionRoute {
  ConvolutionKey key;                   ///< of what is run
  int64_t added_channels = 0;           ///< channels of zeros that x and w get first
  bool is_folded = false;               ///< x and w are folded first, see plans/folded_convolution.h
  std::optional<ConvolutionPlan> plan;  ///< the first that keeps the rules, if any does
  std::string reason;                   ///< without a plan: why there is none

  std::optional<ConvolutionPlan> timed;  ///< the fastest of some, see Config::autotune
  uint64_t timed_generation = 0;         ///< of tuning's choices when it was found

  std::optional<bool> pays_off;  ///< whether what is fused takes less time than its parts, see Config::autotune
  uint64_t pays_off_generation = 0;

  bool changes_arrays() const noexcept { return added_channels > 0 || is_folded; }
};

/// What is best without measuring. Tensor cores take 16-bit images in packs of 8 channels: images of fewer, as that of
/// a first convolution, are folded if its stride is 2, or get zeros behind them; so do others where that is what makes
/// a plan for tensor cores keep the workspace limit.
ConvolutionRoute find_route(const ConvolutionKey& key, const PlanTarget& target);

/// The routes of the convolutions that have come. Of one thread, because a plan is.
class RouteCache {
 public:
  /// Null for a key that is new. Who uses a route holds it: an add() meanwhile may forget it.
  std::shared_ptr<ConvolutionRoute> find(const ConvolutionKey& key) {
    const auto found = routes_.find(key);
    return found == routes_.end() ? nullptr : found->second;
  }
  std::shared_ptr<ConvolutionRoute> add(const ConvolutionKey& key, ConvolutionRoute route);

 private:
  struct Hash {
    size_t operator()(const ConvolutionKey& key) const noexcept { return hash_of(key); }
  };
  std::unordered_map<ConvolutionKey, std::shared_ptr<ConvolutionRoute>, Hash> routes_;
};

}  // namespace kusari::cuda
