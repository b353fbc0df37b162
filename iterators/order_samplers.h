#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/ref.h"

namespace kusari {
class Serializer;
}

namespace kusari::iterators {

/// Decides the order of the examples. chainer.iterators.OrderSampler.
class KUSARI_API OrderSampler {
 public:
  virtual ~OrderSampler();
  /// The indices of the next sweep, sweep_size() of them. Called at the start, with all indices from 0 up, and at the
  /// end of every sweep; `position` is where the last batch of the old sweep began.
  virtual std::vector<int64_t> operator()(std::span<const int64_t> current_order, int64_t position) = 0;
  /// How many indices a sweep over a data set of `examples` has: as many, unless a sampler says otherwise. Asked before
  /// the first order.
  virtual int64_t sweep_size(int64_t examples) const;
  /// What a resumed run needs to draw the same orders; nothing by default.
  virtual void serialize(Serializer& serializer);

 protected:
  OrderSampler() = default;
  OrderSampler(const OrderSampler&) = default;
  OrderSampler& operator=(const OrderSampler&) = default;
};
/// An order sampler, owned when given as an rvalue.
using OrderSamplerRef = Ref<OrderSampler>;

/// The order of n examples that a ShuffleOrderSampler with that seed draws as its number `draw`, from 0.
KUSARI_API std::vector<int64_t> shuffled_order(int64_t n, uint64_t seed, int64_t draw);

/// A random permutation for each sweep: of the process's random stream, or of the sampler's own that `seed` determines.
/// chainer.iterators.ShuffleOrderSampler.
class KUSARI_API ShuffleOrderSampler final : public OrderSampler {
 public:
  ShuffleOrderSampler() = default;
  explicit ShuffleOrderSampler(uint64_t seed) : seed_{seed} {}

  std::vector<int64_t> operator()(std::span<const int64_t> current_order, int64_t position) override;
  void serialize(Serializer& serializer) override;

 private:
  std::optional<uint64_t> seed_;
  int64_t draws_ = 0;
};

}  // namespace kusari::iterators
