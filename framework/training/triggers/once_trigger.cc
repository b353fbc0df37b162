#include "kusari/framework/training/triggers/once_trigger.h"

#include "kusari/framework/core/serializer.h"

namespace kusari::training::triggers {

bool OnceTrigger::operator()(Trainer&) {
  const bool fire = !finished();
  first_ = false;
  resumed_ = false;
  return fire;
}

void OnceTrigger::serialize(Serializer& serializer) { serializer("_flag_first", first_); }

}  // namespace kusari::training::triggers
