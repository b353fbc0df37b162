#include "kusari/framework/training/trigger.h"

#include <cstdlib>
#include <typeinfo>

#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/type_name.h"
#include "kusari/framework/training/triggers/interval_trigger.h"

namespace kusari::training {
namespace {

class FunctionTrigger final : public Trigger {
 public:
  explicit FunctionTrigger(Callable<bool(Trainer&)> function) : function_{std::move(function)} {}
  bool operator()(Trainer& trainer) override { return function_(trainer); }

 private:
  Callable<bool(Trainer&)> function_;
};

}  // namespace

Trigger::~Trigger() = default;
bool Trigger::finished() const { return false; }
std::optional<TrainingLength> Trigger::get_training_length() const { return std::nullopt; }
void Trigger::serialize(Serializer&) {}

TriggerRef::TriggerRef(const TriggerRef& other)
    : trigger_{other.separate_copies_ ? std::make_shared<triggers::IntervalTrigger>(
                                            static_cast<const triggers::IntervalTrigger&>(*other.trigger_))
                                      : other.trigger_},
      separate_copies_{other.separate_copies_} {}

std::string TriggerRef::describe() const {
  if (trigger_ == nullptr) return "never";
  const Trigger& trigger = *trigger_;
  if (dynamic_cast<const FunctionTrigger*>(&trigger) != nullptr) return "a function";
  if (const auto* interval = dynamic_cast<const triggers::IntervalTrigger*>(&trigger)) {
    const TrainingLength length = *interval->get_training_length();
    if (length.period == 1) return "every " + length.unit;
    return "every " + general_text(length.period, 15) + " " + length.unit + "s";
  }
  return type_name(typeid(trigger));
}

Shared<Trigger> TriggerRef::interval(double period, const std::string& unit) {
  return std::make_shared<triggers::IntervalTrigger>(period, unit);
}

Shared<Trigger> TriggerRef::from_function(Callable<bool(Trainer&)> function) {
  return std::make_shared<FunctionTrigger>(std::move(function));
}

}  // namespace kusari::training
