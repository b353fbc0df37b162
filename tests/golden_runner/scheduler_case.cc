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
  if (!value.is_array() || value.size() != 2) a.fail(name, "is not a period and its unit");
  return {value.at(0).get<double>(), value.at(1).get<std::string>()};
}

template <class Trigger>
std::shared_ptr<training::Trigger> best_value(Args& a) {
  return std::make_shared<Trigger>(a.text("key"), interval(a, "trigger"));
}

// `patients` is an older name of `patience`; 3 when neither is given.
int64_t patience(Args& a) {
  const std::optional<int64_t> given = a.optional_integer("patience"), older = a.optional_integer("patients");
  if (given && older) a.fail("patients", "comes with patience");
  return given.value_or(older.value_or(3));
}

const std::map<std::string, std::function<std::shared_ptr<training::Trigger>(Args&)>> kTriggers = {
    {"EarlyStoppingTrigger",
     [](Args& a) {
       T::EarlyStoppingOptions o;
       o.check_trigger = interval(a, "check_trigger");
       o.monitor = a.text("monitor");
       o.patience = patience(a);
       o.mode = a.text("mode");
       o.verbose = a.flag("verbose");
       o.max_trigger = interval(a, "max_trigger");
       return std::make_shared<T::EarlyStoppingTrigger>(o);
     }},
    {"IntervalTrigger",
     [](Args& a) { return std::make_shared<T::IntervalTrigger>(a.number("period"), a.text("unit")); }},
    {"ManualScheduleTrigger",
     [](Args& a) { return std::make_shared<T::ManualScheduleTrigger>(a.numbers("points"), a.text("unit")); }},
    {"MaxValueTrigger", best_value<T::MaxValueTrigger>},
    {"MinValueTrigger", best_value<T::MinValueTrigger>},
    {"OnceTrigger", [](Args& a) { return std::make_shared<T::OnceTrigger>(a.flag("call_on_resume")); }},
};

std::string attr(Args& a) {
  a.refuse("optimizer");  // the case's, which is the updater's main one
  return a.text("attr");
}

E::ShiftOptions shift_options(Args& a) {
  // MultistepShift has no target.
  const bool has_target = a.signature().find("target") != nullptr;
  return {.init = a.optional_number("init"), .target = has_target ? a.optional_number("target") : std::nullopt};
}

template <class T>
std::pair<T, T> range(Args& a, const std::string& name, const std::vector<T>& values) {
  if (values.size() != 2) a.fail(name, "is not a first and a last value");
  return {values[0], values[1]};
}

using Shift = std::shared_ptr<E::HyperparameterShift>;

const std::map<std::string, std::function<Shift(Args&)>> kShifts = {
    {"ExponentialShift",
     [](Args& a) { return std::make_shared<E::ExponentialShift>(attr(a), a.number("rate"), shift_options(a)); }},
    {"InverseShift",
     [](Args& a) {
       return std::make_shared<E::InverseShift>(attr(a), a.number("gamma"), a.number("power"), shift_options(a));
     }},
    {"LinearShift",
     [](Args& a) {
       return std::make_shared<E::LinearShift>(attr(a), range(a, "value_range", a.numbers("value_range")),
                                               range(a, "time_range", a.integers("time_range")));
     }},
    {"MultistepShift",
     [](Args& a) {
       return std::make_shared<E::MultistepShift>(attr(a), a.number("gamma"), a.integers("step_value"),
                                                  shift_options(a));
     }},
    {"PolynomialShift",
     [](Args& a) {
       return std::make_shared<E::PolynomialShift>(attr(a), a.number("rate"), a.integer("max_count"), shift_options(a));
     }},
    {"StepShift",
     [](Args& a) {
       return std::make_shared<E::StepShift>(attr(a), a.number("gamma"), a.integer("step"), shift_options(a));
     }},
    {"WarmupShift",
     [](Args& a) {
       return std::make_shared<E::WarmupShift>(attr(a), a.optional_number("warmup_start"), a.integer("warmup_iter"),
                                               a.number("init"));
     }},
};

template <class Table>
auto make_scheduler(const Table& table, const std::string& area, const std::string& name, const Json& ctor) {
  const auto entry = table.find(name);
  if (entry == table.end()) throw Unsupported(area + " " + name);
  const Inputs none;
  Args args(signature_of(area, name), ctor, Json::object(), none);
  auto made = entry->second(args);
  args.check_all_used();
  return made;
}

// The hyperparameter after initialize and after each call.
void run_shift(const Case& c, E::HyperparameterShift& shift) {
  const auto optimizer = make_optimizer(c.json().at("optimizer"), c.json().at("optimizer_ctor"));
  FixedUpdater updater;
  updater.optimizer = optimizer.get();
  training::Trainer trainer(updater);
  const Json& ctor = c.json().at("ctor");
  const std::string name = ctor.contains("attr") ? ctor.at("attr") : ctor.at("*").at(0);
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
  const std::string name = c.name(), prefix = "triggers.";
  const Json& ctor = c.json().at("ctor");
  if (name.starts_with(prefix)) {
    run_trigger(c, *make_scheduler(kTriggers, "trigger", name.substr(prefix.size()), ctor));
  } else {
    run_shift(c, *make_scheduler(kShifts, "trainer extension", name, ctor));
  }
}

}  // namespace kusari::golden
