#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/training/extensions/exponential_shift.h"
#include "kusari/framework/training/extensions/inverse_shift.h"
#include "kusari/framework/training/extensions/linear_shift.h"
#include "kusari/framework/training/extensions/multistep_shift.h"
#include "kusari/framework/training/extensions/polynomial_shift.h"
#include "kusari/framework/training/extensions/step_shift.h"
#include "kusari/framework/training/extensions/warmup_shift.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/framework/training/trigger.h"
#include "kusari/framework/training/triggers/best_value_trigger.h"
#include "kusari/framework/training/triggers/early_stopping_trigger.h"
#include "kusari/framework/training/triggers/interval_trigger.h"
#include "kusari/framework/training/triggers/manual_schedule_trigger.h"
#include "kusari/framework/training/triggers/once_trigger.h"
#include "kusari/tests/golden_runner/args.h"
#include "kusari/tests/golden_runner/compare.h"
#include "kusari/tests/golden_runner/optimizers.h"
#include "kusari/tests/golden_runner/runners.h"
#include "kusari/updaters/updater.h"

namespace kusari::golden {
namespace {

namespace E = training::extensions;
namespace T = training::triggers;

/// An updater that stands where the case says.
class FixedUpdater final : public updaters::Updater {
 public:
  void update() override { throw StateError("FixedUpdater::update: the case moves it"); }
  int64_t iteration() const override { return now_iteration; }
  int64_t epoch() const override { return now_epoch; }
  double epoch_detail() const override { return now_epoch_detail; }
  std::optional<double> previous_epoch_detail() const override { return std::nullopt; }
  bool is_new_epoch() const override { return now_is_new_epoch; }
  Optimizer& get_optimizer(const std::string& name) override {
    if (optimizer == nullptr || name != "main") throw KeyError("FixedUpdater has no optimizer " + name);
    return *optimizer;
  }
  std::vector<std::pair<std::string, Optimizer*>> get_all_optimizers() override { return {}; }
  void serialize(Serializer&) override {}

  int64_t now_iteration = 0;
  int64_t now_epoch = 0;
  double now_epoch_detail = 0;
  bool now_is_new_epoch = false;
  Optimizer* optimizer = nullptr;
};

// [2, "iteration"]
training::TriggerRef interval(Args& a, const std::string& name) {
  const Json& value = a.raw(name);
  return {value.at(0).get<double>(), value.at(1).get<std::string>()};
}

template <class Trigger>
std::shared_ptr<training::Trigger> best_value(Args& a) {
  return std::make_shared<Trigger>(a.text("key", ""), interval(a, "trigger"));
}

const std::map<std::string, std::function<std::shared_ptr<training::Trigger>(Args&)>> kTriggers = {
    {"triggers.EarlyStoppingTrigger",
     [](Args& a) {
       T::EarlyStoppingOptions o;
       o.check_trigger = interval(a, "check_trigger");
       o.monitor = a.text("monitor", o.monitor);
       o.patience = a.integer("patience", o.patience);
       o.mode = a.text("mode", o.mode);
       o.max_trigger = interval(a, "max_trigger");
       return std::make_shared<T::EarlyStoppingTrigger>(o);
     }},
    {"triggers.IntervalTrigger",
     [](Args& a) { return std::make_shared<T::IntervalTrigger>(a.number("period", 0), a.text("unit", "")); }},
    {"triggers.ManualScheduleTrigger",
     [](Args& a) { return std::make_shared<T::ManualScheduleTrigger>(a.numbers("points"), a.text("unit", "")); }},
    {"triggers.MaxValueTrigger", best_value<T::MaxValueTrigger>},
    {"triggers.MinValueTrigger", best_value<T::MinValueTrigger>},
    {"triggers.OnceTrigger", [](Args& a) { return std::make_shared<T::OnceTrigger>(a.flag("call_on_resume", false)); }},
};

E::ShiftOptions shift_options(Args& a) {
  return {.init = a.optional_number("init"), .target = a.optional_number("target")};
}

std::string attr(Args& a) { return a.text("attr", ""); }

template <class T>
std::pair<T, T> range(const std::vector<T>& values) {
  return {values.at(0), values.at(1)};
}

using Shift = std::shared_ptr<E::HyperparameterShift>;

const std::map<std::string, std::function<Shift(Args&)>> kShifts = {
    {"ExponentialShift",
     [](Args& a) { return std::make_shared<E::ExponentialShift>(attr(a), a.number("rate", 1), shift_options(a)); }},
    {"InverseShift",
     [](Args& a) {
       return std::make_shared<E::InverseShift>(attr(a), a.number("gamma", 0), a.number("power", 0), shift_options(a));
     }},
    {"LinearShift",
     [](Args& a) {
       return std::make_shared<E::LinearShift>(attr(a), range(a.numbers("value_range")),
                                               range(a.integers("time_range")));
     }},
    {"MultistepShift",
     [](Args& a) {
       return std::make_shared<E::MultistepShift>(attr(a), a.number("gamma", 1), a.integers("step_value"),
                                                  shift_options(a));
     }},
    {"PolynomialShift",
     [](Args& a) {
       return std::make_shared<E::PolynomialShift>(attr(a), a.number("rate", 1), a.integer("max_count", 1),
                                                   shift_options(a));
     }},
    {"StepShift",
     [](Args& a) {
       return std::make_shared<E::StepShift>(attr(a), a.number("gamma", 1), a.integer("step", 1), shift_options(a));
     }},
    {"WarmupShift",
     [](Args& a) {
       return std::make_shared<E::WarmupShift>(attr(a), a.optional_number("warmup_start"), a.integer("warmup_iter", 1),
                                               a.number("init", 0));
     }},
};

// The hyperparameter after initialize and after each call.
void run_shift(const Case& c, E::HyperparameterShift& shift) {
  const auto optimizer = make_optimizer(c.json().at("optimizer"), c.json().at("optimizer_ctor"));
  FixedUpdater updater;
  updater.optimizer = optimizer.get();
  training::Trainer trainer(updater);
  const std::string name = c.json().at("ctor").at("attr");
  std::vector<double> values;
  shift.initialize(trainer);
  values.push_back(optimizer->hyperparameter(name));
  for (int64_t i = 0; i < c.json().at("calls").get<int64_t>(); ++i) {
    shift(trainer);
    values.push_back(optimizer->hyperparameter(name));
  }
  compare("values", array<double>(values), c.array("values"), c.tolerance("values"));
}

void run_trigger(const Case& c, training::Trigger& trigger) {
  FixedUpdater updater;
  training::Trainer trainer(updater);
  const auto iterations = c.array("iteration").to_vector<int64_t>();
  const auto epochs = c.array("epoch").to_vector<int64_t>();
  const auto details = c.array("epoch_detail").to_vector<double>();
  const auto new_epochs = c.array("is_new_epoch").to_vector<uint8_t>();
  const Json& key = c.json().at("observation_key");
  std::vector<double> observed;
  if (!key.is_null()) observed = c.array("observation").to_vector<double>();
  std::vector<uint8_t> fired;
  for (size_t i = 0; i < iterations.size(); ++i) {
    updater.now_iteration = iterations[i];
    updater.now_epoch = epochs[i];
    updater.now_epoch_detail = details[i];
    updater.now_is_new_epoch = new_epochs[i] != 0;
    if (!key.is_null()) trainer.observation().set(key.get<std::string>(), observed[i]);
    fired.push_back(trigger(trainer) ? 1 : 0);
  }
  compare("fired", array<uint8_t>(fired).astype(Dtype::bool_), c.array("fired"), {0, 0});
}

}  // namespace

void run_scheduler(const Case& c) {
  const Inputs none;
  Args ctor(c.json().at("ctor"), Json::object(), none);
  if (const auto entry = kTriggers.find(c.name()); entry != kTriggers.end()) {
    const std::shared_ptr<training::Trigger> trigger = entry->second(ctor);
    ctor.check_all_used();
    run_trigger(c, *trigger);
  } else if (const auto shift_entry = kShifts.find(c.name()); shift_entry != kShifts.end()) {
    const Shift shift = shift_entry->second(ctor);
    ctor.check_all_used();
    run_shift(c, *shift);
  } else {
    throw Unsupported("scheduler " + c.name());
  }
}

}  // namespace kusari::golden
