#include "kusari/framework/training/triggers/interval_trigger.h"

#include <cmath>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::triggers {
namespace {

// The quotient as Python's // rounds it: of 1.0 and 0.1 it is 9, because 0.1 is a little more than a tenth.
double floor_divide(double a, double b) {
  const double rounded = a / b;
  const double below = std::floor(rounded);
  if (rounded != below || b == 1) return below;  // no rounding across an integer: spare the slow remainder
  const double quotient = (a - std::fmod(a, b)) / b;
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

}  // namespace

Unit unit_from_name(const std::string& name, const char* trigger) {
  if (name == "epoch") return Unit::epoch;
  if (name == "iteration") return Unit::iteration;
  throw ValueError(std::string(trigger) + ": unit is '" + name + "': it must be 'epoch' or 'iteration'");
}

const char* name(Unit unit) noexcept { return unit == Unit::epoch ? "epoch" : "iteration"; }

double PreviousTime::in(Unit unit, Trainer& trainer) const {
  if (unit == Unit::epoch) {
    return epoch_detail >= 0 ? epoch_detail : trainer.updater().previous_epoch_detail().value_or(0);
  }
  return static_cast<double>(iteration >= 0 ? iteration : trainer.updater().iteration() - 1);
}

double PreviousTime::now(Unit unit, Trainer& trainer) {
  return unit == Unit::epoch ? trainer.updater().epoch_detail() : static_cast<double>(trainer.updater().iteration());
}

void PreviousTime::update(Trainer& trainer) {
  iteration = trainer.updater().iteration();
  epoch_detail = trainer.updater().epoch_detail();
}

void PreviousTime::serialize(Serializer& serializer, const char* trigger) {
  const auto visit = [&](const char* entry, auto& value) {
    if (serializer.contains(entry)) {
      serializer(entry, value);
    } else {
      log::warn(std::string(trigger) + ": the snapshot has no " + entry + "; guessed from the updater");
      value = -1;
    }
  };
  visit("previous_iteration", iteration);
  visit("previous_epoch_detail", epoch_detail);
  constexpr double kLargest = 9007199254740992;  // 2^53
  const auto check = [&](const char* entry, double value) {
    if (serializer.is_writer() || serializer.restores() || std::abs(value) <= kLargest) return;
    throw ValueError(serializer.place(entry) + "is " + general_text(value) + ": it must be finite and at most 2^53");
  };
  check("previous_iteration", static_cast<double>(iteration));
  check("previous_epoch_detail", epoch_detail);
}

IntervalTrigger::IntervalTrigger(double period, const std::string& unit)
    : period_{argument::positive("IntervalTrigger", "period", period)},
      unit_{unit_from_name(unit, "IntervalTrigger")} {}

bool IntervalTrigger::operator()(Trainer& trainer) {
  const double previous = previous_.in(unit_, trainer);
  const double now = PreviousTime::now(unit_, trainer);
  previous_.update(trainer);
  return floor_divide(previous, period_) != floor_divide(now, period_);
}

}  // namespace kusari::training::triggers
