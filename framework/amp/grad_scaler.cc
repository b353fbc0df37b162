#include "kusari/framework/amp/grad_scaler.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "kusari/framework/autograd/cast.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/optimizers/optimizer.h"
#include "kusari/optimizers/optimizer_access.h"

namespace kusari::amp {
namespace {

using detail::OptimizerAccess;

void require(bool is_fine, const char* call, const char* what, double value, const char* rule) {
  if (is_fine) return;
  char number[32];
  std::snprintf(number, sizeof number, "%g", value);
  throw ValueError(std::string("amp::GradScaler") + call + ": " + what + " is " + number + " but must be " + rule);
}
void check_scale(const char* call, const char* what, double scale) {
  require(scale > 0 && std::isfinite(scale), call, what, scale, "positive and finite");
}
void check_growth_factor(const char* call, double factor) {
  require(factor > 1 && std::isfinite(factor), call, "growth_factor", factor, "above 1");
}
void check_backoff_factor(const char* call, double factor) {
  require(factor > 0 && factor < 1, call, "backoff_factor", factor, "between 0 and 1");
}
void check_growth_interval(const char* call, int64_t interval) {
  require(interval >= 1, call, "growth_interval", static_cast<double>(interval), "at least 1");
}

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options) : options_{options}, scale_(rule(), options.init_scale) {
  if (!options.enabled) return;
  check_scale("", "init_scale", options.init_scale);
  check_growth_factor("", options.growth_factor);
  check_backoff_factor("", options.backoff_factor);
  check_growth_interval("", options.growth_interval);
}

kernels::LossScaleRule GradScaler::rule() const noexcept {
  return {.growth_factor = options_.growth_factor,
          .backoff_factor = options_.backoff_factor,
          .growth_interval = static_cast<double>(options_.growth_interval),
          .min = std::numeric_limits<float>::min(),
          .max = std::numeric_limits<double>::infinity(),
          .warmup = 0};
}

Variable GradScaler::scale(const Variable& loss) {
  if (!options_.enabled) return loss;
  is_created_ = true;
  const Variable wide = is_half(loss.dtype()) ? autograd::cast(loss, Dtype::float32) : loss;
  return wide * scale_.scale_on(loss.device());
}

Variables GradScaler::scale(const Variables& losses) {
  Variables scaled;
  for (const Variable& loss : losses) scaled.push_back(scale(loss));
  return scaled;
}

LossScale& GradScaler::created_scale(const char* call) {
  if (!is_created_) {
    throw StateError(std::string("amp::GradScaler::") + call +
                     ": there is no scale yet; call scale(loss) and its backward() earlier in the iteration");
  }
  return scale_;
}

GradScaler::OptimizerState& GradScaler::state_of(const Optimizer& optimizer) {
  const auto found =
      std::find_if(states_.begin(), states_.end(), [&](const auto& state) { return state.optimizer == &optimizer; });
  return found != states_.end() ? *found : states_.emplace_back(OptimizerState{.optimizer = &optimizer});
}

void GradScaler::check_gradients(const char* call, Optimizer& optimizer, OptimizerState& state) {
  if (optimizer.has_loss_scaling()) {
    throw StateError(std::string("amp::GradScaler::") + call + ": this " + optimizer.name() +
                     " scales the loss itself; call its no_loss_scaling() first");
  }
  state.squared_norm = OptimizerAccess::squared_norm(optimizer);
  if (!state.squared_norm.is_defined()) {
    throw StateError(std::string("amp::GradScaler::") + call + ": no parameter of this " + optimizer.name() +
                     " has a gradient; call scale(loss).backward() first");
  }
}

void GradScaler::unscale_(Optimizer& optimizer) {
  if (!options_.enabled) return;
  GraphCapture::refuse("amp::GradScaler::unscale_", "the scaler keeps account on the host of what was called");
  LossScale& scale = created_scale("unscale_");
  OptimizerState& state = state_of(optimizer);
  if (state.stage != Stage::ready) {
    throw StateError(std::string("amp::GradScaler::unscale_: ") +
                     (state.stage == Stage::unscaled ? "already called for" : "called after step() of") + " this " +
                     optimizer.name() + " since the last update()");
  }
  for (const auto& [path, parameter] : optimizer.target().namedparams(false)) {
    if (parameter->dtype() != Dtype::float16 || !parameter->grad().is_defined()) continue;
    throw ValueError("amp::GradScaler::unscale_: the gradient of " + path +
                     " is float16, in which small gradients would become zero again; train float32 parameters under "
                     "amp::Autocast, or leave the division to step(), or use Optimizer::loss_scaling with "
                     "use_fp32_update and hooks");
  }
  check_gradients("unscale_", optimizer, state);
  OptimizerAccess::unscale(optimizer, scale.scale_on(state.squared_norm.device()));
  state.stage = Stage::unscaled;
}

void GradScaler::step(Optimizer& optimizer) {
  if (!options_.enabled) return optimizer.update();
  GraphCapture::refuse("amp::GradScaler::step", "the scaler keeps account on the host of what was called");
  LossScale& scale = created_scale("step");
  OptimizerState& state = state_of(optimizer);
  if (state.stage == Stage::stepped) {
    throw StateError(std::string("amp::GradScaler::step: already called for this ") + optimizer.name() +
                     " since the last update()");
  }
  Array carried;
  if (state.stage == Stage::ready) {
    check_gradients("step", optimizer, state);
    carried = scale.scale_on(state.squared_norm.device());
  }
  OptimizerAccess::update(optimizer, state.squared_norm, carried);
  state.stage = Stage::stepped;
}

void GradScaler::update(std::optional<double> new_scale) {
  if (!options_.enabled) return;
  GraphCapture::refuse("amp::GradScaler::update", "the scaler keeps account on the host of what was called");
  LossScale& scale = created_scale("update");
  if (new_scale) {
    check_scale("::update", "new_scale", *new_scale);
    scale.set(*new_scale);
    states_.clear();
    return;
  }
  Array combined;
  for (const OptimizerState& state : states_) {
    if (!state.squared_norm.is_defined()) continue;
    if (!combined.is_defined()) {
      combined = state.squared_norm;
    } else {
      combined = pointwise(kernels::Add{}, combined, state.squared_norm.to_device(combined.device()));
    }
  }
  if (!combined.is_defined()) {
    throw StateError(
        "amp::GradScaler::update: no gradients were checked since the last one; call step(optimizer) first");
  }
  scale.set_rule(rule());
  scale.update(combined);
  states_.clear();
}

double GradScaler::get_scale() const { return options_.enabled ? scale_.scale() : 1; }
int64_t GradScaler::get_growth_tracker() const { return options_.enabled ? scale_.growth_tracker() : 0; }

void GradScaler::set_growth_factor(double factor) {
  check_growth_factor("::set_growth_factor", factor);
  options_.growth_factor = factor;
}
void GradScaler::set_backoff_factor(double factor) {
  check_backoff_factor("::set_backoff_factor", factor);
  options_.backoff_factor = factor;
}
void GradScaler::set_growth_interval(int64_t interval) {
  check_growth_interval("::set_growth_interval", interval);
  options_.growth_interval = interval;
}

void GradScaler::serialize(Serializer& serializer) {
  if (!options_.enabled) return;
  if (!serializer.contains("scale")) {
    throw StateError("amp::GradScaler::serialize: there is no state to read; a disabled GradScaler writes none");
  }
  kernels::LossScaleState state = scale_.state();
  int64_t tracker = static_cast<int64_t>(state.growth_tracker), interval = options_.growth_interval;
  double growth = options_.growth_factor, backoff = options_.backoff_factor;
  serialize_number(serializer, "scale", state.scale, EntryRange::positive);
  serializer("growth_factor", growth);
  serializer("backoff_factor", backoff);
  serializer("growth_interval", interval);
  serialize_count(serializer, "_growth_tracker", tracker);
  if (serializer.is_writer()) return;
  check_growth_factor("::serialize", growth);
  check_backoff_factor("::serialize", backoff);
  check_growth_interval("::serialize", interval);
  options_.growth_factor = growth;
  options_.backoff_factor = backoff;
  options_.growth_interval = interval;
  state.growth_tracker = static_cast<double>(tracker);
  scale_.set_state(state);
}

}  // namespace kusari::amp
