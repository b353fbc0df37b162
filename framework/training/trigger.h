#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/ref.h"
#include "kusari/framework/core/shared.h"

namespace kusari {
class Serializer;
}

namespace kusari::training {

class Trainer;

/// How long a training run is: 20 and "epoch".
struct TrainingLength {
  double period;
  std::string unit;
};

/// Decides, after every iteration, whether something happens. chainer.training.get_trigger.
class KUSARI_API Trigger {
 public:
  virtual ~Trigger();
  virtual bool operator()(Trainer& trainer) = 0;
  /// Whether it will never fire again: the trainer then does not initialize the extension.
  virtual bool finished() const;
  /// How long a run is that stops with this trigger, where that is known.
  virtual std::optional<TrainingLength> get_training_length() const;
  virtual void serialize(Serializer& serializer);

 protected:
  Trigger() = default;
  Trigger(const Trigger&) = default;
  Trigger& operator=(const Trigger&) = default;
};

/// A trigger as an argument: `{20, "epoch"}`, `{100, "iteration"}`, one of triggers::, a function of the trainer, or
/// nothing, which is "never" or the default of who takes it. Triggers given by lvalue are referred to. Copies share one
/// trigger, so that an interval fires for only one of them, except those of a period and a unit: each is an interval of
/// its own, as each use of Chainer's tuple is.
class KUSARI_API TriggerRef {
 public:
  TriggerRef() = default;
  /// Throws ValueError unless the period is positive and the unit "epoch" or "iteration".
  template <class N>
  requires std::is_arithmetic_v<N> TriggerRef(N period, const std::string& unit)
      : trigger_{interval(static_cast<double>(period), unit)}, separate_copies_{true} {}
  TriggerRef(Trigger& trigger) : trigger_{Shared<Trigger>::to(trigger)} {}
  template <std::derived_from<Trigger> T>
  requires(!std::is_const_v<T>) TriggerRef(T&& trigger) : trigger_{Shared<Trigger>::of<T>(std::move(trigger))} {}
  /// A trigger that is shared.
  template <std::derived_from<Trigger> T>
  TriggerRef(std::shared_ptr<T> trigger) : trigger_{std::move(trigger)} {}
  template <class F>
  requires(std::is_invocable_r_v<bool, F&, Trainer&> && !std::derived_from<std::remove_cvref_t<F>, Trigger>)
      TriggerRef(F function)
      : trigger_{from_function(std::move(function))} {}
  TriggerRef(const TriggerRef& other);
  TriggerRef(TriggerRef&&) noexcept = default;
  TriggerRef& operator=(TriggerRef other) noexcept {
    std::swap(trigger_, other.trigger_);
    std::swap(separate_copies_, other.separate_copies_);
    return *this;
  }
  ~TriggerRef() = default;

  explicit operator bool() const noexcept { return trigger_ != nullptr; }
  /// False without a trigger.
  bool operator()(Trainer& trainer) const { return trigger_ != nullptr && (*trigger_)(trainer); }
  bool finished() const { return trigger_ != nullptr && trigger_->finished(); }
  std::optional<TrainingLength> get_training_length() const {
    return trigger_ == nullptr ? std::nullopt : trigger_->get_training_length();
  }
  /// For people: "every 2 epochs", or the name of the trigger's class; "never" without a trigger.
  std::string describe() const;
  void serialize(Serializer& serializer) const {
    if (trigger_ != nullptr) trigger_->serialize(serializer);
  }

 private:
  static Shared<Trigger> interval(double period, const std::string& unit);
  static Shared<Trigger> from_function(Callable<bool(Trainer&)> function);

  Shared<Trigger> trigger_;
  bool separate_copies_ = false;  // the trigger is an IntervalTrigger
};

namespace triggers {}

}  // namespace kusari::training

namespace kusari {
namespace triggers = training::triggers;
}
