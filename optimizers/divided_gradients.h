#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/optimizers/state_shards.h"

namespace kusari::detail {

/// The gradients of one step, of which each rank gets the weighted sums for the elements that it updates, and no
/// others. What parameters hold is given up as it is sent. The sums have the bits that AllReduce's have.
class DividedGradients {
 public:
  struct Options {
    std::optional<Dtype> wire = std::nullopt;              ///< in which they travel; none: each gradient's own
    std::vector<double> weights = {};                      ///< of the ranks
    Callable<GradientScale(const Device&)> scale_of = {};  ///< see GradientBucket::ScaleOf
  };
  /// `members`: those of the last StateShards::assign. Takes the numbers of the operations.
  DividedGradients(collectives::Group& group, const StateShards& shards, std::span<const StateShards::Member> members,
                   Options options);
  DividedGradients(const DividedGradients&) = delete;
  DividedGradients& operator=(const DividedGradients&) = delete;
  ~DividedGradients();

  /// Parameters that travel together: in the order in which backward comes to them.
  std::vector<std::vector<Parameter*>> buckets() const;
  /// They must be started in their order.
  void start(size_t bucket);
  void look();
  /// Waits for all that was started; seconds of waiting. Throws StateError when a parameter has got a gradient since it
  /// was sent.
  double finish();

  /// This rank's part of a gradient, its elements in a row.
  struct Own {
    Array gradient;
    GradientScale scale;  ///< what it was multiplied by
  };
  /// Null: it has none of it.
  const Own* of(const Parameter& parameter) const noexcept;
  /// The sum of squares over all ranks: one float64 element on `device`. Collective.
  Array square_sum(const Device& device) const;
  /// Divides them by `loss_scale`, one float64 element.
  void unscale(const Array& loss_scale);

 private:
  struct Bucket;
  void take_sum(Bucket& bucket);

  collectives::Group& group_;
  Options options_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  size_t started_ = 0;
  std::unordered_map<const Parameter*, Own> own_;
};

}  // namespace kusari::detail
