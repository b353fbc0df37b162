#include "kusari/framework/quantization/quantized.h"

#include <array>
#include <memory>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link_walk.h"

namespace kusari::quantization {

/// Puts F::fake_quantize on the inputs of one call of the model, after what a caster around it does to them.
class QuantizedBase::Caster final : public InputCaster {
 public:
  explicit Caster(const QuantizedBase& link)
      : link_{link},
        outer_{kusari::detail::t_input_caster},
        decay_{link.decay_now()},
        counter_{std::make_shared<CallCounter>(*link.calls_, "quantization::Quantized")} {}

  void cast(const FunctionNode& function, Inputs& inputs) override {
    if (outer_ == nullptr) return quantize(function.name(), inputs, inputs);
    Inputs converted(inputs.get());
    outer_->cast(function, converted);
    quantize(function.name(), converted, inputs);
  }
  // The functions inside of a composite one are what is counted. An Autocast around sees them one by one, too.
  bool cast_composite(const char*, Inputs&) override { return false; }

  /// What goes on where this one is now: F::forget calls a part of the model so, and calls it again in backward.
  Callable<std::shared_ptr<void>()> maker() override {
    struct Again {
      std::shared_ptr<void> outer;
      std::unique_ptr<Caster> caster;
      std::unique_ptr<ScopedInputCaster> scope;
      std::weak_ptr<CallCounter> counter;
      size_t begin = 0;
      ~Again() {
        const std::shared_ptr<CallCounter> around = counter.lock();
        if (around != nullptr && around->count() == begin) around->go_on_at(caster->counter_->count());
      }
    };
    return [link = &link_, make_outer = outer_ != nullptr ? outer_->maker() : nullptr,
            counter = std::weak_ptr<CallCounter>(counter_), begin = counter_->count()]() -> std::shared_ptr<void> {
      auto again = std::make_shared<Again>();
      const ScopedInputCaster none(nullptr);
      if (make_outer) again->outer = make_outer();
      again->caster = std::make_unique<Caster>(*link);
      again->caster->counter_->go_on_at(begin);
      again->counter = counter;
      again->begin = begin;
      again->scope = std::make_unique<ScopedInputCaster>(again->caster.get());
      return again;
    };
  }

  void finish() const { counter_->finish(); }

 private:
  void quantize(const char* function, const Inputs& from, Inputs& to) {
    std::array<Variable, 2> made;
    if (const Operands operands = operands_of(function, from); operands != Operands::none) {
      const QuantizableCall& call = counter_->next(function);
      if (call.is_quantized) {
        made[0] = activation(call.first_range, from[0]);
        made[1] =
            operands == Operands::activations ? activation(call.first_range + 1, from[1]) : quantized_weight(from[1]);
      }
    }
    for (size_t i = 0; i < to.size(); ++i) {
      if (i < made.size() && made[i].is_defined()) {
        to.replace(i, made[i]);
      } else if (&from[i] != &to[i]) {
        to.replace(i, from[i]);
      }
    }
  }

  Variable activation(size_t range, const Variable& x) const {
    const ActivationRange& known = link_.ranges[range];
    if (decay_) known.follow(x.array(), *decay_);
    return known(x);
  }

  const QuantizedBase& link_;
  InputCaster* const outer_;
  const std::optional<double> decay_;
  const std::shared_ptr<CallCounter> counter_;
};

struct QuantizedBase::Call::State {
  explicit State(const QuantizedBase& link) : caster{link}, scope{&caster} {
    if (link.decay_now()) use.emplace(link.in_use_, "Quantized");
  }
  Caster caster;
  ScopedInputCaster scope;
  // A replay would not ask the caster; around the whole link a static graph is welcome.
  ScopedSetting<bool> define_by_run = using_config(&Config::use_static_graph, false);
  std::optional<kusari::detail::ScopedUse> use;
};

QuantizedBase::Call::Call(const QuantizedBase& link) : state_{std::make_unique<State>(link)} {}
QuantizedBase::Call::~Call() = default;
void QuantizedBase::Call::finish() const { state_->caster.finish(); }

QuantizedBase::QuantizedBase(Calibration calibration, const QuantizedOptions& options)
    : ranges{*this, "ranges"},
      is_frozen{*this, "is_frozen", !options.range_decay},
      calls_{std::make_shared<const std::vector<QuantizableCall>>(std::move(calibration.calls))},
      range_decay_{options.range_decay} {
  if (range_decay_) {
    argument::require(*range_decay_ >= 0 && *range_decay_ <= 1, "quantization::Quantized", "range_decay", *range_decay_,
                      "be in [0, 1]");
  }
  for (ActivationRange& range : calibration.ranges) ranges.append(std::move(range));
  if (ranges.empty()) return;
  const Device device = ranges[0].device();
  kusari::detail::LinkWalk::set_device(*this, device);
  kusari::detail::LinkWalk::set_device(ranges, device);
}

std::optional<double> QuantizedBase::decay_now() const {
  const Config& now = config();
  const bool moves = range_decay_ && !is_frozen && now.train && !now.in_recomputing;
  return moves ? range_decay_ : std::nullopt;
}

}  // namespace kusari::quantization
