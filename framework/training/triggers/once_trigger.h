#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/trigger.h"

namespace kusari::training::triggers {

struct OnceTriggerOptions {
  bool call_on_resume = false;
};

/// Fires the first time it is asked; with `call_on_resume`, the first time after a resume as well.
/// chainer.training.triggers.OnceTrigger.
class KUSARI_API OnceTrigger final : public Trigger {
 public:
  explicit OnceTrigger(const OnceTriggerOptions& options = {}) : resumed_{options.call_on_resume} {}
  explicit OnceTrigger(bool call_on_resume) : resumed_{call_on_resume} {}

  bool operator()(Trainer& trainer) override;
  bool finished() const override { return !first_ && !resumed_; }
  void serialize(Serializer& serializer) override;

 private:
  bool first_ = true;
  bool resumed_;
};

}  // namespace kusari::training::triggers
