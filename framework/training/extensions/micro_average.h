#pragma once

#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/summary.h"
#include "kusari/framework/training/extension.h"
#include "kusari/framework/training/unseen_keys.h"

namespace kusari::training::extensions {

/// Reports, whenever `trigger` fires, the sum of one reported value divided by the sum of another since the last time:
/// correct answers over examples, whatever the sizes of the batches. Warns once of a value
/// that nobody reports, and names those that may be meant. chainer.training.extensions.MicroAverage.
class KUSARI_API MicroAverage final : public Extension {
 public:
  MicroAverage(std::string numerator_key, std::string denominator_key, std::string result_key,
               TriggerRef trigger = {1, "epoch"});

  void operator()(Trainer& trainer) override;
  void initialize(Trainer& trainer) override;
  void finalize() override;
  std::string default_name() const override { return "MicroAverage"; }
  int default_priority() const override { return kPriorityEditor; }
  void serialize(Serializer& serializer) override;

 private:
  std::string numerator_key_, denominator_key_, result_key_;
  TriggerRef trigger_;
  Summary numerator_, denominator_;
  UnseenKeys unseen_;
};

}  // namespace kusari::training::extensions
