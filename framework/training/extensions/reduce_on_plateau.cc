#include "kusari/framework/training/extensions/reduce_on_plateau.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/monitor_mode.h"
#include "kusari/framework/training/optional_entry.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {

ReduceOnPlateau::ReduceOnPlateau(std::string attr, ReduceOnPlateauOptions options)
    : attr_{argument::not_empty("ReduceOnPlateau", "attr", std::move(attr), "name a hyperparameter")},
      options_{std::move(options)},
      larger_is_better_{is_larger_better("ReduceOnPlateau", options_.mode, options_.monitor)},
      unseen_{{options_.monitor}} {
  const auto expect = [](bool holds, const char* what, const std::string& found, const char* wanted) {
    if (!holds) throw ValueError(std::string("ReduceOnPlateau: ") + what + " is " + found + ": it must be " + wanted);
  };
  const ReduceOnPlateauOptions& o = options_;
  argument::not_empty("ReduceOnPlateau", "monitor", o.monitor, "name a reported value");
  expect(o.factor > 0 && o.factor < 1, "factor", general_text(o.factor), "between 0 and 1");
  expect(o.patience >= 0, "patience", std::to_string(o.patience), "at least 0");
  expect(o.cooldown >= 0, "cooldown", std::to_string(o.cooldown), "at least 0");
  expect(o.threshold >= 0 && o.threshold < 1, "threshold", general_text(o.threshold), "at least 0 and below 1");
  argument::finite("ReduceOnPlateau", "least", o.least);
}

bool ReduceOnPlateau::is_better(double mean) const {
  if (std::isnan(mean)) return false;
  if (!best_ || std::isnan(*best_)) return true;
  const double step = std::isfinite(*best_) ? std::abs(*best_) * options_.threshold : 0;
  return larger_is_better_ ? mean > *best_ + step : mean < *best_ - step;
}

void ReduceOnPlateau::initialize(Trainer& trainer) { unseen_.begin(trainer); }

void ReduceOnPlateau::finalize() { unseen_.warn_of_missing("ReduceOnPlateau: nobody has reported "); }

void ReduceOnPlateau::operator()(Trainer& trainer) {
  unseen_.add(trainer.observation());
  const ObservedValue* value = trainer.observation().find(options_.monitor);
  if (value != nullptr && value->is_scalar()) summary_.add(options_.monitor, *value);
  if (!options_.check_trigger(trainer)) return;
  unseen_.end_row();
  unseen_.warn_of_misspelt("ReduceOnPlateau: nobody reports ");
  if (!summary_.contains(options_.monitor)) return;
  const double mean = summary_.compute_mean().front().second;
  summary_.clear();
  if (is_better(mean)) {
    best_ = mean;
    waited_ = 0;
  } else {
    ++waited_;
  }
  if (cooldown_ > 0) {
    --cooldown_;
    waited_ = 0;
  }
  if (waited_ <= options_.patience) return;
  Optimizer& optimizer = options_.optimizer ? **options_.optimizer : trainer.updater().get_optimizer("main");
  double& hyperparameter = optimizer.hyperparameter(attr_);
  hyperparameter = std::min(hyperparameter, std::max(hyperparameter * options_.factor, options_.least));
  cooldown_ = options_.cooldown;
  waited_ = 0;
}

void ReduceOnPlateau::serialize(Serializer& serializer) {
  serialize_count(serializer, "waited", waited_);
  serialize_count(serializer, "cooldown", cooldown_);
  serialize_optional(serializer, "best", best_);
  serialize_summary_of(serializer, summary_, options_.monitor);
  options_.check_trigger.serialize(*serializer.child("check_trigger"));
}

}  // namespace kusari::training::extensions
