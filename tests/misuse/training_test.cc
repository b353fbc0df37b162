#include <functional>

#include "kusari/tests/misuse/misuse.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::misuse {
namespace {

using namespace iterators;

using namespace datasets;

namespace trg = training::triggers;

namespace ext = training::extensions;

// One update by SGD.
void update(const TupleDataset& examples, const updaters::StandardUpdaterOptions& options = {}) {
  Net net;
  optimizers::SGD optimizer;
  optimizer.setup(net);
  SerialIterator iterator(examples, 2);
  updaters::StandardUpdater updater(iterator, optimizer, options);
  updater.update();
}

// A trainer of one epoch.
void with(void (*use)(training::Trainer& trainer)) {
  const testing::ScratchDirectory directory;
  Net net;
  optimizers::SGD optimizer;
  optimizer.setup(net);
  SerialIterator iterator(TupleDataset(ones({4, 3})), 2);
  updaters::StandardUpdater updater(iterator, optimizer);
  training::Trainer trainer(updater, {1, "epoch"}, directory.path());
  use(trainer);
}

TEST_CASE("misuse: training") {
  check_misuses({
      {[] { trg::IntervalTrigger(0, "epoch"); }, is<ValueError>, "IntervalTrigger: period is 0: it must be positive"},
      {[] { trg::IntervalTrigger(-1, "epoch"); }, is<ValueError>, "IntervalTrigger: period is -1: it must be positive"},
      {[] { trg::IntervalTrigger(kNaN, "epoch"); }, is<ValueError>,
       "IntervalTrigger: period is nan: it must be positive"},
      {[] { trg::IntervalTrigger(1, "second"); }, is<ValueError>,
       "IntervalTrigger: unit is 'second': it must be 'epoch' or 'iteration'"},
      {[] {
         trg::ManualScheduleTrigger({1, 2}, "hour");
       },
       is<ValueError>, "ManualScheduleTrigger: unit is 'hour': it must be 'epoch' or 'iteration'"},
      {[] { trg::ManualScheduleTrigger(std::vector<double>{}, "epoch"); }, is<ValueError>,
       "ManualScheduleTrigger: points is empty: there must be at least one"},
      {[] { trg::ManualScheduleTrigger({kNaN}, "epoch"); }, is<ValueError>,
       "ManualScheduleTrigger: points has nan: none may be negative"},
      {[] { trg::TimeTrigger(0); }, is<ValueError>, "TimeTrigger: period is 0: it must be positive"},
      {[] { trg::TimeTrigger(-1); }, is<ValueError>, "TimeTrigger: period is -1: it must be positive"},
      {[] { trg::EarlyStoppingTrigger({.patience = 0}); }, is<ValueError>,
       "EarlyStoppingTrigger: patience is 0: it must be positive"},
      {[] { trg::EarlyStoppingTrigger({.mode = "median"}); }, is<ValueError>,
       "EarlyStoppingTrigger: mode is 'median': it must be 'max', 'min' or 'auto'"},
      {[] { trg::BestValueTrigger("k", {}); }, is<ValueError>,
       "BestValueTrigger: compare is empty: it must be callable"},
      {[] { training::TriggerRef(0, "epoch"); }, is<ValueError>, "IntervalTrigger: period is 0: it must be positive"},
      {[] { training::TriggerRef(1, "year"); }, is<ValueError>,
       "IntervalTrigger: unit is 'year': it must be 'epoch' or 'iteration'"},
      {[] {
         ext::LinearShift("lr", {1, 0}, {5, 2});
       },
       is<ValueError>, "LinearShift: the time range is 5 to 2: it must ascend"},
      {[] { ext::StepShift("lr", 0.1, 0); }, is<ValueError>, "StepShift: step is 0: it must be positive"},
      {[] { ext::StepShift("lr", 0.1, -3); }, is<ValueError>, "StepShift: step is -3: it must be positive"},
      {[] { ext::WarmupShift("lr", 0.1, 0, 1); }, is<ValueError>, "WarmupShift: warmup_iter is 0: it must be positive"},
      {[] { ext::WarmupShift("lr", 0.1, -1, 1); }, is<ValueError>,
       "WarmupShift: warmup_iter is -1: it must be positive"},
      {[] { ext::CosineShift("lr", 0); }, is<ValueError>, "CosineShift: period is 0: it must be positive"},
      {[] { ext::CosineShift("lr", 10, {.warmup = -1}); }, is<ValueError>,
       "CosineShift: warmup is -1: it must not be negative"},
      {[] { ext::CosineShift("lr", 10, {.period_factor = 0}); }, is<ValueError>,
       "CosineShift: period_factor is 0: it must be at least 1"},
      {[] { ext::PolynomialShift("lr", 1, 0); }, is<ValueError>,
       "PolynomialShift: max_count is 0: it must be positive"},
      {[] { ext::OneCycleShift("lr", 0); }, is<ValueError>, "OneCycleShift: length is 0: it must be positive"},
      {[] { ext::OneCycleShift("lr", 10, {.rising = 2}); }, is<ValueError>,
       "OneCycleShift: rising is 2: it must be between 0 and 1"},
      {[] { ext::InverseShift("lr", kNaN, 1); }, is<ValueError>,
       "InverseShift: gamma is nan: it must be finite and not negative"},
      {[] { ext::ExponentialShift("lr", kNaN); }, is<ValueError>,
       "ExponentialShift: rate is nan: it must be finite and not negative"},
      {[] { ext::ExponentialShift("lr", -1); }, is<ValueError>,
       "ExponentialShift: rate is -1: it must be finite and not negative"},
      {[] { ext::PlotReport({"a"}, "iteration", {.marker = "?"}); }, is<ValueError>,
       "PlotReport: marker is '?': it must be one of . o x + * s ^ v D, or empty"},
      {[] { with([](training::Trainer& t) { t.get_extension("nope"); }); }, is<ValueError>,
       "Trainer::get_extension: there is no extension 'nope', only none"},
      {[] {
         with([](training::Trainer& t) {
           t.extend(ext::ExponentialShift("nope", 0.5));
           t.run();
         });
       },
       is<KeyError>, "SGD::hyperparameter: there is no 'nope': it must be one of lr"},
      {[] { with([](training::Trainer& t) { t.updater().get_optimizer("nope"); }); }, is<KeyError>,
       "StandardUpdater: there is no optimizer 'nope', only 'main'"},
      {[] {
         with([](training::Trainer& t) {
           t.run();
           t.run();
         });
       },
       is<StateError>, "Trainer::run: cannot run training loop multiple times"},
      {[] { with([](training::Trainer& t) { t.get_extension<ext::LogReport>("nope"); }); }, is<ValueError>,
       "Trainer::get_extension: there is no extension 'nope', only none"},
      {[] {
         with([](training::Trainer& t) {
           t.extend(ext::snapshot({.filename = "{nope}"}));
           t.run();
         });
       },
       is<ValueError>,
       "snapshot: filename has the field '{nope}': it may have {.updater.iteration}, {.updater.epoch} and "
       "{.updater.epoch_detail}"},
      {[] {
         with([](training::Trainer& t) {
           t.extend(std::function<void(training::Trainer&)>(), {.name = "f"});
           t.run();
         });
       },
       is<ValueError>, "FunctionExtension: function is empty: it must be callable"},
      {[] {
         Net n;
         optimizers::SGD o;
         SerialIterator it(TupleDataset(ones({4, 3})), 2);
         updaters::StandardUpdater u(it, o);
         u.update();
       },
       is<StateError>, "SGD: no target; call setup(model) first"},
      {[] {
         update(TupleDataset(ones({4, 3})), {.accumulate = 0});
       },
       is<ValueError>, "StandardUpdater: prefetch is 0 and accumulate is 0: they must be at least 0 and 1"},
      {[] {
         update(TupleDataset(ones({4, 3})), {.prefetch = -1});
       },
       is<ValueError>, "StandardUpdater: prefetch is -1 and accumulate is 1: they must be at least 0 and 1"},
      {[] {
         update(TupleDataset(ones({4, 3})), {.loss_scale = -1});
       },
       is<ValueError>, "SGD::loss_scaling: scale is -1: it must be positive and finite"},
      {[] {
         update(TupleDataset(ones({4, 5})));
       },
       is<TypeError>,
       "F::linear: x has shape (2, 5) but W has shape (2, 3): x.shape[1] must equal W.shape[1] (5 != 3)"},
      {[] {
         update(TupleDataset(ones({4, 3}), ones({4, 3})));
       },
       is<TypeError>, "the model takes 1 variables, but the batch has 2"},
  });
}

}  // namespace
}  // namespace kusari::misuse
