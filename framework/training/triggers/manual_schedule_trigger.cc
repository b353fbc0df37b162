#include "kusari/framework/training/triggers/manual_schedule_trigger.h"

#include <algorithm>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/serializer.h"

namespace kusari::training::triggers {

ManualScheduleTrigger::ManualScheduleTrigger(std::vector<double> points, const std::string& unit)
    : points_{std::move(points)}, unit_{unit_from_name(unit, "ManualScheduleTrigger")} {
  if (points_.empty()) throw ValueError("ManualScheduleTrigger: points is empty: there must be at least one");
  for (const double point : points_) {
    if (!(point >= 0)) {
      throw ValueError("ManualScheduleTrigger: points has " + general_text(point) + ": none may be negative");
    }
  }
}

bool ManualScheduleTrigger::operator()(Trainer& trainer) {
  const double previous = previous_.in(unit_, trainer);
  const double now = PreviousTime::now(unit_, trainer);
  previous_.update(trainer);
  const bool fire = std::any_of(points_.begin(), points_.end(), [&](double p) { return previous < p && p <= now; });
  if (fire && now >= *std::max_element(points_.begin(), points_.end())) finished_ = true;
  return fire;
}

void ManualScheduleTrigger::serialize(Serializer& serializer) {
  previous_.serialize(serializer, "ManualScheduleTrigger");
  serializer("finished", finished_);
}

}  // namespace kusari::training::triggers
