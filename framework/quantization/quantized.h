#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/in_use.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/framework/quantization/activation_range.h"
#include "kusari/framework/quantization/quantizable_call.h"

namespace kusari::quantization {

/// What a calibration finds.
struct Calibration {
  std::vector<QuantizableCall> calls = {};
  std::vector<ActivationRange> ranges = {};
};

struct QuantizedOptions {
  /// Given: calls that train move the ranges towards what they see, by moving averages with this decay, until freeze().
  /// Such calls are made by one thread at a time. Not given: the ranges stay as they were calibrated.
  std::optional<double> range_decay = std::nullopt;
};

/// What all quantized links share.
class KUSARI_API QuantizedBase : public Chain {
 public:
  using Options = QuantizedOptions;

  /// The calls that are computed from 8 bits, and those that are not (excluded), in their order.
  const std::vector<QuantizableCall>& calls() const noexcept { return *calls_; }
  /// From now on training leaves the ranges as they are. A static graph of the link must be cleared after it.
  void freeze() noexcept { is_frozen = true; }

  Child<ChainList<ActivationRange>> ranges;  ///< of the inputs, in the order of the calls
  PersistentScalar<bool> is_frozen;          ///< whether training leaves the ranges as they are

 protected:
  QuantizedBase(Calibration calibration, const QuantizedOptions& options);
  QuantizedBase(const QuantizedBase&) = default;
  QuantizedBase(QuantizedBase&&) noexcept = default;
  QuantizedBase& operator=(const QuantizedBase&) = default;
  QuantizedBase& operator=(QuantizedBase&&) noexcept = default;

  /// A call of the model: what its functions get is quantized.
  class KUSARI_API Call {
   public:
    explicit Call(const QuantizedBase& link);
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call();
    /// When the model has returned: throws StateError when it made fewer calls than it should.
    void finish() const;

   private:
    struct State;
    Owned<State> state_;
  };

 private:
  class Caster;
  /// The decay while the call that begins now moves the ranges.
  std::optional<double> decay_now() const;

  Shared<const std::vector<QuantizableCall>> calls_;
  std::optional<double> range_decay_;
  mutable kusari::detail::InUse in_use_;
};

/// A model whose convolutions and products compute with what 8 bits leave of their inputs: F::fake_quantize is put on
/// them, on activations with one scale each, which calibration has found, and on weights with one scale for each output
/// channel, from the weights as they are. It computes in the model's own dtype, and is about as fast as the model.
/// Made by Calibrator::quantized(). Takes and returns what the model does.
///
/// Gradients go straight through the rounding, so that it can be trained as any link: its parameters are "/model/..".
/// The ranges are persistent values, "/ranges/0/scale" and so on. Throws StateError, naming the call, when the model
/// calls other functions than when it was calibrated.
template <LinkType M>
class Quantized : public QuantizedBase {
 public:
  Quantized(M float_model, Calibration calibration, const QuantizedOptions& options = {})
      : QuantizedBase(std::move(calibration), options), model{*this, "model", std::move(float_model)} {}

  template <class... Args>
  requires std::invocable<const M&, const Args&...>
  auto operator()(const Args&... args) const { return run(static_cast<const M&>(model), args...); }
  template <class... Args>
  requires(std::invocable<M&, const Args&...> && !std::invocable<const M&, const Args&...>) auto operator()(
      const Args&... args) {
    return run(static_cast<M&>(model), args...);
  }

  Child<M> model;

 private:
  template <class Callee, class... Args>
  auto run(Callee& callee, const Args&... args) const {
    const LinkCall hooked(*this);
    const Call call(*this);
    auto y = callee(args...);
    call.finish();
    return y;
  }
};

}  // namespace kusari::quantization
