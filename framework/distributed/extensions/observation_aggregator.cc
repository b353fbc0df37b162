#include "kusari/framework/distributed/extensions/observation_aggregator.h"

#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/distributed/byte_messages.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::distributed {
namespace {

double mean_of(const std::vector<std::vector<double>>& ranks) {
  double sum = 0, count = 0;
  for (const std::vector<double>& rank : ranks) {
    for (const double value : rank) {
      sum += value;
      count += 1;
    }
  }
  return sum / count;
}

}  // namespace

ObservationAggregator::ObservationAggregator(const Communicator& comm, std::string original_key,
                                             std::string aggregated_key, ObservationAggregatorOptions options)
    : comm_{comm},
      original_key_{argument::not_empty("ObservationAggregator", "original_key", std::move(original_key),
                                        "name a reported value")},
      aggregated_key_{aggregated_key.empty() ? original_key_ : std::move(aggregated_key)},
      options_{std::move(options)} {
  if (!options_.aggregator) options_.aggregator = mean_of;
}

void ObservationAggregator::operator()(training::Trainer& trainer) {
  constexpr const char* kCall = "ObservationAggregator";
  const ObservedValue* observed = trainer.observation().find(original_key_);
  if (observed != nullptr && observed->is_scalar()) history_.push_back(*observed);
  if (!options_.comm_trigger(trainer)) return;

  MessageWriter writer;
  writer.number(static_cast<int64_t>(history_.size()));
  for (const ObservedValue& value : history_) writer.real(value.value());
  history_.clear();
  const std::vector<std::string> messages = comm_.gather_obj(writer.bytes());
  MessageWriter answer;
  if (comm_.is_root()) {
    std::vector<std::vector<double>> ranks;
    size_t count = 0;
    for (const std::string& message : messages) {
      MessageReader reader(kCall, message);
      std::vector<double> values(static_cast<size_t>(reader.number()));
      for (double& value : values) value = reader.real();
      count += values.size();
      ranks.push_back(std::move(values));
    }
    answer.number(count > 0 ? 1 : 0);
    answer.real(count > 0 ? options_.aggregator(ranks) : 0);
  }
  const std::string bytes = comm_.bcast_obj(answer.bytes());
  MessageReader reader(kCall, bytes);
  if (reader.number() != 0) trainer.observation().set(aggregated_key_, reader.real());
}

void ObservationAggregator::serialize(Serializer& serializer) {
  options_.comm_trigger.serialize(*serializer.child("_trigger"));
  if (!serializer.contains("_observed")) return;
  std::vector<double> values;
  for (const ObservedValue& value : history_) values.push_back(value.value());
  Array observed = serializer.is_writer() ? array(values) : Array();
  serializer("_observed", observed);
  if (serializer.is_writer()) return;
  history_.clear();
  if (!observed.is_defined()) return;
  for (const double value : observed.to_vector<double>()) history_.emplace_back(value);
}

}  // namespace kusari::distributed
