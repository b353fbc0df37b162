#include "kusari/framework/training/extensions/micro_average.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {

MicroAverage::MicroAverage(std::string numerator_key, std::string denominator_key, std::string result_key,
                           TriggerRef trigger)
    : numerator_key_{argument::not_empty("MicroAverage", "numerator_key", std::move(numerator_key),
                                         "name a reported value")},
      denominator_key_{
          argument::not_empty("MicroAverage", "denominator_key", std::move(denominator_key), "name a reported value")},
      result_key_{argument::not_empty("MicroAverage", "result_key", std::move(result_key), "name the value to report")},
      trigger_{std::move(trigger)},
      unseen_{{numerator_key_, denominator_key_}} {}

void MicroAverage::initialize(Trainer& trainer) { unseen_.begin(trainer); }

void MicroAverage::finalize() { unseen_.warn_of_missing("MicroAverage: nobody has reported "); }

void MicroAverage::operator()(Trainer& trainer) {
  unseen_.add(trainer.observation());
  if (trainer.updater().is_new_epoch()) unseen_.end_row();
  unseen_.warn_of_misspelt("MicroAverage: nobody reports ");
  const ObservedValue* numerator = trainer.observation().find(numerator_key_);
  const ObservedValue* denominator = trainer.observation().find(denominator_key_);
  if (numerator == nullptr || denominator == nullptr) return;
  const auto unweighted = [](const ObservedValue& value) {
    return value.array().is_defined() ? ObservedValue(value.array()) : ObservedValue(value.value());
  };
  numerator_.add(unweighted(*numerator));
  denominator_.add(unweighted(*denominator));
  if (!trigger_(trainer)) return;
  report({{result_key_, numerator_.compute_sum() / denominator_.compute_sum()}});
  numerator_ = Summary();
  denominator_ = Summary();
}

void MicroAverage::serialize(Serializer& serializer) {
  const auto serialize_sum = [&](const char* name, Summary& summary) {
    double sum = summary.compute_sum();
    serializer(name, sum);
    if (serializer.is_writer()) return;
    summary = Summary();
    summary.add(sum);
  };
  serialize_sum("_numerator", numerator_);
  serialize_sum("_denominator", denominator_);
  // Chainer forgets where in its interval the trigger was. What the entries of a trigger are is its own matter.
  bool is_kept = true;
  if (!serializer.contains("_has_trigger")) return;
  serializer("_has_trigger", is_kept);
  trigger_.serialize(*serializer.child("_trigger"));
}

}  // namespace kusari::training::extensions
