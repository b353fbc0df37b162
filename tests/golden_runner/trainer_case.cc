#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/exponential_shift.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/extensions/value_observation.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/framework/training/triggers/manual_schedule_trigger.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/hooks/weight_decay.h"
#include "kusari/tests/golden_runner/compare.h"
#include "kusari/tests/golden_runner/models.h"
#include "kusari/tests/golden_runner/runners.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari::golden {
namespace {

namespace E = training::extensions;

/// The training run that the case describes.
struct TrainerRun {
  TrainerRun(const Case& c, int64_t iterations)
      : iterator(datasets::TupleDataset(c.array("x").to_device(Device()), c.array("t").to_device(Device())), 4,
                 {.shuffle = false}),
        model(Mlp()),
        optimizer(optimizers::AdamOptions{.alpha = 0.05}),
        updater((optimizer.setup(model), iterator), optimizer, {.device = c.device()}),
        trainer(updater, {iterations, "iteration"}) {
    model.to(c.device());
    optimizer.add_hook(optimizer_hooks::WeightDecay(0.01));
    trainer.extend(E::LogReport({.trigger = {2, "iteration"}, .filename = std::nullopt}));
    trainer.extend(E::ExponentialShift("alpha", 0.9), {.trigger = {2, "iteration"}});
    const std::vector<double> points{2, 6};
    trainer.extend(E::observe_value("five", [](training::Trainer&) { return 5.0; }),
                   {.name = "five", .trigger = training::triggers::ManualScheduleTrigger(points, "iteration")});
    trainer.extend([this](training::Trainer& t) { losses.push_back(t.observation().at("main/loss")); },
                   {.name = "losses", .trigger = {1, "iteration"}});
  }
  Parameter& param(const std::string& path) { return model.param("/" + path); }

  iterators::SerialIterator iterator;
  L::Classifier<Mlp> model;
  optimizers::Adam optimizer;
  updaters::StandardUpdater updater;
  training::Trainer trainer;
  std::vector<double> losses;
};

// A run from the start, stopped where Chainer's was, saves Chainer's entries with the same numbers.
void check_saved(const Case& c) {
  TrainerRun run(c, c.json().at("state").at("iteration"));
  for (const std::string& input : c.names("inputs")) {
    if (input.starts_with("param0/")) run.param(input.substr(7)).array().copy_from(c.array(input));
  }
  run.trainer.run();
  serializers::DictionarySerializer serializer;
  run.trainer.serialize(serializer);
  std::map<std::string, serializers::NpzValue> saved(serializer.dictionary().begin(), serializer.dictionary().end());
  for (const Json& entry : c.json().at("keys")) {
    const std::string key = entry.at("key");
    if (!saved.contains(key)) throw Mismatch("the saved trainer lacks " + key);
    const Json value = entry.value("value", Json());
    if (key == "_snapshot_elapsed_time" || !(value.is_number() || value.is_boolean())) continue;
    const double number = value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>();
    compare("saved " + key, saved.at(key).array.item<double>(), number, c.tolerance(key));
  }
}

}  // namespace

void run_trainer(const Case& c, const std::string& snapshot) {
  check_saved(c);
  TrainerRun run(c, 7);
  serializers::load_npz(snapshot, run.trainer, {.ignore = [](const std::string& key) {
                          return key.find("losses") != std::string::npos;  // an extension of this runner alone
                        }});
  run.trainer.run();
  for (const std::string& output : c.names("outputs")) {
    const std::string name = output.substr(output.find('/') + 1);
    Array got;
    if (name == "losses") {
      got = array<double>(run.losses).astype(Dtype::float32);
    } else if (name == "hyper") {
      got = full({}, run.optimizer.alpha, Dtype::float64);
    } else {
      got = run.param(name).array();
    }
    compare(output, got, c.array(output), c.tolerance(output));
  }
}

}  // namespace kusari::golden
