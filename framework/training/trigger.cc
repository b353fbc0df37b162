#include "kusari/framework/training/trigger.h"

#include "kusari/framework/training/triggers/interval_trigger.h"

namespace kusari::training {
namespace {

class FunctionTrigger final : public Trigger {
 public:
  explicit FunctionTrigger(std::function<bool(Trainer&)> function) : function_{std::move(function)} {}
  bool operator()(Trainer& trainer) override { return function_(trainer); }

 private:
  std::function<bool(Trainer&)> function_;
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

std::shared_ptr<Trigger> TriggerRef::interval(double period, const std::string& unit) {
  return std::make_shared<triggers::IntervalTrigger>(period, unit);
}

std::shared_ptr<Trigger> TriggerRef::from_function(std::function<bool(Trainer&)> function) {
  return std::make_shared<FunctionTrigger>(std::move(function));
}

}  // namespace kusari::training
