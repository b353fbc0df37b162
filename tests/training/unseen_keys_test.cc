#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/training/extensions/evaluator.h"
#include "kusari/framework/training/extensions/html_report.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/extensions/micro_average.h"
#include "kusari/framework/training/extensions/plot_report.h"
#include "kusari/framework/training/extensions/print_report.h"
#include "kusari/framework/training/extensions/reduce_on_plateau.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/framework/training/triggers/early_stopping_trigger.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/captured_stderr.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/text_search.h"
#include "kusari/tests/training/fake_updater.h"
#include "kusari/updaters/standard_updater.h"

// Mistakes in what is asked of a run, noticed before a night is lost.
using namespace kusari;
using testing::contains;
using testing::FakeUpdater;
using testing::occurrences;
using testing::ScratchDirectory;
using training::Trainer;

namespace {

/// Runs a PrintReport of these columns over rows of iteration, main/loss and what `more` reports; gives the warnings.
std::string warnings(const std::vector<std::string>& columns, int64_t rows,
                     const std::function<void(int64_t iteration)>& more = {},
                     const std::function<void(Trainer&)>& extend = {}, std::string* before_last = nullptr) {
  const ScratchDirectory dir;
  std::FILE* const out = std::tmpfile();
  std::string said;
  {
    const testing::CapturedStderr captured;
    FakeUpdater updater;
    updater.on_update = [&] {
      report({{"main/loss", 1.0}, {"main/accuracy", 0.5}});
      if (more) more(updater.count);
      if (before_last != nullptr && updater.count == rows) *before_last = captured.text();
    };
    Trainer trainer(updater, {rows, "iteration"}, dir.path());
    trainer.extend(extensions::LogReport({.trigger = {1, "iteration"}, .filename = std::nullopt}));
    trainer.extend(extensions::PrintReport(columns, {.out = out}), {.trigger = {1, "iteration"}});
    if (extend) extend(trainer);
    trainer.run(false);
    said = captured.text();
  }
  std::fclose(out);
  return said;
}

class Nothing final : public training::Extension {
 public:
  void operator()(Trainer&) override {}
  std::string default_name() const override { return "validation"; }
};

}  // namespace

TEST_CASE("PrintReport warns once of a misspelt column, and names what is near") {
  std::string early;
  const std::string said = warnings({"iteration", "main/los", "main/Accuracy", "loss"}, 10, {}, {}, &early);
  CHECK(occurrences(said, "'main/los'") == 1);
  CHECK(contains(said, "PrintReport: no row of the log has 'main/los' (is 'main/loss' meant?)"));
  CHECK(contains(said, "'main/Accuracy' (is 'main/accuracy' meant?)"));
  CHECK(contains(said, "'loss' (is 'main/loss' meant?)"));
  CHECK(occurrences(said, "PrintReport") == 3);
  CHECK(early == said);  // not only at the end
  // A short run, at its end.
  CHECK(contains(warnings({"main/los"}, 1), "PrintReport: no row of the log had 'main/los' (is 'main/loss' meant?)"));
  CHECK(contains(warnings({"quite/different"}, 5), "no row of the log had 'quite/different'"));
}

TEST_CASE("PrintReport does not warn of columns that come later") {
  const auto validation = [](int64_t iteration) {
    if (iteration == 9) report({{"validation/main/loss", 2.0}, {"validation_1/main/loss", 2.0}});
  };
  CHECK(warnings({"main/loss", "validation/main/loss", "validation_1/main/loss"}, 10, validation).empty());
  CHECK(warnings({"validation/main/loss", "epoch", "elapsed_time"}, 10, validation).empty());
  // An Evaluator that has not run.
  const auto seldom = [](Trainer& trainer) { trainer.extend(Nothing(), {.trigger = {100, "iteration"}}); };
  CHECK(warnings({"main/loss", "validation/main/loss"}, 10, {}, seldom).empty());
  CHECK(contains(warnings({"main/loss", "validaton/main/loss"}, 10, validation), "validaton/main/loss"));
}

namespace {

/// The warnings of a run of 5 epochs whose iterations report main/loss and main/n.
std::string warnings_of(const std::function<void(Trainer&)>& extend, training::TriggerRef stop = {5, "epoch"}) {
  const ScratchDirectory dir;
  const testing::CapturedStderr captured;
  FakeUpdater updater(2);
  updater.on_update = [&] { report({{"main/loss", 1.0}, {"main/n", 2.0}}); };
  Trainer trainer(updater, std::move(stop), dir.path());
  extend(trainer);
  trainer.run(false);
  return captured.text();
}

}  // namespace

TEST_CASE("extensions and triggers warn once of a value that nobody reports, and name what is near") {
  const auto plot = [](const std::string& key) {
    return [=](Trainer& trainer) { trainer.extend(extensions::PlotReport({key}, "epoch", {.filename = "p.svg"})); };
  };
  CHECK(warnings_of(plot("main/los")) ==
        "[kusari warning] PlotReport: nobody reports 'main/los' (is 'main/loss' meant?)\n");
  CHECK(warnings_of(plot("main/los"), {2, "iteration"}) ==  // a short run, at its end
        "[kusari warning] PlotReport: nobody has reported 'main/los' (is 'main/loss' meant?)\n");
  CHECK(warnings_of(plot("main/n")).empty());
  const auto reduce = [](const std::string& monitor) {
    return [=](Trainer& trainer) { trainer.extend(extensions::ReduceOnPlateau("lr", {.monitor = monitor})); };
  };
  CHECK(warnings_of(reduce("main/los")) ==
        "[kusari warning] ReduceOnPlateau: nobody reports 'main/los' (is 'main/loss' meant?)\n");
  CHECK(warnings_of(reduce("validation/main/loss")) ==
        "[kusari warning] ReduceOnPlateau: nobody has reported 'validation/main/loss' (is 'main/loss' meant?)\n");
  CHECK(warnings_of(reduce("main/loss")).empty());
  CHECK(warnings_of([&](Trainer& trainer) {  // an Evaluator that has not run
          reduce("validation/main/loss")(trainer);
          trainer.extend(Nothing(), {.trigger = {100, "iteration"}});
        })
            .empty());
  const auto average = [](const std::string& numerator, const std::string& denominator) {
    return [=](Trainer& trainer) { trainer.extend(extensions::MicroAverage(numerator, denominator, "r")); };
  };
  CHECK(warnings_of(average("main/nn", "main/dd")) ==
        "[kusari warning] MicroAverage: nobody reports 'main/nn' (is 'main/n' meant?)\n"
        "[kusari warning] MicroAverage: nobody has reported 'main/dd'\n");
  CHECK(warnings_of(average("main/loss", "main/n")).empty());
  const auto nothing = [](Trainer&) {};
  const auto until = [](const std::string& monitor) {
    return triggers::EarlyStoppingTrigger({.monitor = monitor, .patience = 10, .max_trigger = {5, "epoch"}});
  };
  CHECK(warnings_of(nothing, until("main/los")) ==
        "[kusari warning] EarlyStoppingTrigger: 'main/los' was not reported; there is main/loss, main/n\n");
  CHECK(warnings_of(nothing, until("main/loss")).empty());
}

TEST_CASE("reports without their LogReport are noticed before the first update") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Trainer trainer(updater, {3, "iteration"}, dir.path());
  trainer.extend(extensions::PrintReport({"epoch"}), {.trigger = {100, "epoch"}});
  CHECK_THROWS_WITH_AS(trainer.run(false), doctest::Contains("there is no extension 'LogReport'"), ValueError);
  CHECK(updater.count == 0);
  Trainer other(updater, {3, "iteration"}, dir.path());
  other.extend(extensions::HtmlReport(), {.trigger = {100, "epoch"}});
  CHECK_THROWS_WITH_AS(other.run(false), doctest::Contains("there is no extension 'LogReport'"), ValueError);
  CHECK(updater.count == 0);
}

TEST_CASE("an Evaluator refuses an iterator that would not end") {
  const datasets::TupleDataset data(ones({4, 3}));
  links::Linear model{3, 2};
  CHECK_THROWS_WITH_AS(extensions::Evaluator(iterators::SerialIterator(data, 2), model),
                       "Evaluator: the iterator repeats, so an evaluation would not end: create it with "
                       "{.repeat = false}",
                       ValueError);
}

TEST_CASE("an empty data set is named") {
  const datasets::TupleDataset none(zeros({0, 3}));
  links::Linear model{3, 2};
  extensions::Evaluator evaluator(iterators::SerialIterator(none, 2, {.repeat = false}), model);
  CHECK_THROWS_WITH_AS(evaluator(), doctest::Contains("Evaluator 'validation': the iterator gave a batch without"),
                       ValueError);
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  for (const bool repeat : {true, false}) {
    updaters::StandardUpdater updater(iterators::SerialIterator(none, 2, {.repeat = repeat}), optimizer);
    CHECK_THROWS_WITH_AS(updater.update(),
                         doctest::Contains(repeat ? "SerialIterator: the data set is empty"
                                                  : "the iterator 'main' gave a batch without"),
                         ValueError);
  }
}
