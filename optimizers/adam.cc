#include "kusari/optimizers/adam.h"

#include "kusari/framework/core/error.h"
#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

namespace {

kernels::AdamSchedule schedule_of(const AdamOptions& o) {
  return {o.alpha, o.beta1, o.beta2, o.eps, o.eta, o.weight_decay_rate};
}

// Schedules change alpha; the final learning rate keeps its proportion to it.
kernels::AdaBoundSchedule bound_schedule_of(const AdamOptions& o, double initial_alpha) {
  return {schedule_of(o), o.final_lr * o.alpha / initial_alpha, o.gamma};
}

}  // namespace

double Adam::lr() const {
  const int64_t steps = t();
  if (steps == 0) throw StateError(std::string(name()) + "::lr: alpha_t is known from the first step on");
  return schedule_of(*this).corrected_alpha(static_cast<double>(steps));
}

std::vector<Optimizer::Field> Adam::fields() {
  std::vector<Field> fields = {{"alpha", &alpha, adabound && initial_alpha_ == 0 ? Range::positive : Range::finite},
                               {"beta1", &beta1, Range::zero_to_below_one},
                               {"beta2", &beta2, Range::zero_to_below_one},
                               {"eps", &eps, Range::not_negative},
                               {"eta", &eta},
                               {"weight_decay_rate", &weight_decay_rate, Range::not_negative}};
  if (adabound) {
    fields.insert(fields.end(), {{"final_lr", &final_lr, Range::not_negative}, {"gamma", &gamma, Range::positive}});
  }
  return fields;
}

std::span<const char* const> Adam::state_names() const noexcept {
  static constexpr const char* kNames[] = {"m", "v", "vhat"};
  return {kNames, amsgrad ? size_t{3} : size_t{2}};
}

detail::StepMethod Adam::method() const {
  using detail::run_step;
  if (adabound) {
    return detail::StepMethod::scheduled(bound_schedule_of(*this, initial_alpha_),
                                         amsgrad ? run_step<kernels::AmsBoundStep> : run_step<kernels::AdaBoundStep>);
  }
  return detail::StepMethod::scheduled(schedule_of(*this),
                                       amsgrad ? run_step<kernels::AmsGradStep> : run_step<kernels::AdamStep>);
}

}  // namespace kusari::optimizers
