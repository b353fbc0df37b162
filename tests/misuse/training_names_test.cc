#include "kusari/tests/misuse/misuse.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::misuse {
namespace {

namespace ext = training::extensions;
namespace trg = training::triggers;

TEST_CASE("misuse: empty names in extensions and triggers") {
  check_misuses({
      {[] { ext::DumpGraph e(""); }, is<ValueError>, "DumpGraph: root_name is empty: it must name a reported variable"},
      {[] { ext::DumpGraph e("main/loss", {.out_name = ""}); }, is<ValueError>,
       "DumpGraph: out_name is empty: it must name a file"},
      {[] { ext::HtmlReport e({.filename = ""}); }, is<ValueError>,
       "HtmlReport: filename is empty: it must name a file"},
      {[] { ext::HtmlReport e({.log_report = ""}); }, is<ValueError>,
       "HtmlReport: log_report is empty: it must name the trainer's LogReport"},
      {[] { ext::LogReport e({.filename = ""}); }, is<ValueError>,
       "LogReport: filename is empty: it must name a file or be nullopt"},
      {[] { ext::LogReport().last(); }, is<StateError>, "LogReport::last: nothing has been logged yet"},
      {[] { ext::PlotReport e({"main/loss"}, "epoch", {.filename = ""}); }, is<ValueError>,
       "PlotReport: filename is empty: it must name a file"},
      {[] { ext::PrintReport e({"epoch"}, {.log_report = ""}); }, is<ValueError>,
       "PrintReport: log_report is empty: it must name the trainer's LogReport"},
      {[] { ext::snapshot({.filename = ""}); }, is<ValueError>, "snapshot: filename is empty: it must name a file"},
      {[] {
         Net net;
         ext::snapshot_object(net, "");
       },
       is<ValueError>, "snapshot: filename is empty: it must name a file"},
      {[] { ext::MicroAverage e("", "n", "mean"); }, is<ValueError>,
       "MicroAverage: numerator_key is empty: it must name a reported value"},
      {[] { ext::MicroAverage e("sum", "", "mean"); }, is<ValueError>,
       "MicroAverage: denominator_key is empty: it must name a reported value"},
      {[] { ext::MicroAverage e("sum", "n", ""); }, is<ValueError>,
       "MicroAverage: result_key is empty: it must name the value to report"},
      {[] { ext::observe_value("", [](training::Trainer&) { return 1.0; }); }, is<ValueError>,
       "observe_value: observation_key is empty: it must name the value to report"},
      {[] { ext::observe_value("x", nullptr); }, is<ValueError>,
       "observe_value: target_func is empty: it must be callable"},
      {[] { ext::observe_lr("main", ""); }, is<ValueError>,
       "observe_lr: observation_key is empty: it must name the value to report"},
      {[] {
         Net net;
         ext::VariableStatisticsPlot e({training::extensions::StatisticsTarget(net.l.W)}, {.filename = ""});
       },
       is<ValueError>, "VariableStatisticsPlot: filename is empty: it must name a file"},
      {[] { trg::MaxValueTrigger t(""); }, is<ValueError>,
       "BestValueTrigger: key is empty: it must name a reported value"},
      {[] { trg::EarlyStoppingTrigger t({.monitor = ""}); }, is<ValueError>,
       "EarlyStoppingTrigger: monitor is empty: it must name a reported value"},
      {[] { trg::IntervalTrigger t(kNaN, "epoch"); }, is<ValueError>,
       "IntervalTrigger: period is nan: it must be positive"},
      {[] { trg::TimeTrigger t(kNaN); }, is<ValueError>, "TimeTrigger: period is nan: it must be positive"},
      {[] {
         Net net;
         optimizers::SGD optimizer;
         optimizer.setup(net);
         iterators::SerialIterator iterator(ten_examples(), 2);
         updaters::StandardUpdater updater(iterator, optimizer);
         training::Trainer trainer(updater, {1, "epoch"}, "");
       },
       is<ValueError>, "Trainer: out is empty: it must name a directory"},
  });
}

class Nameless final : public training::Extension {
 public:
  void operator()(training::Trainer&) override {}
  std::string default_name() const override { return ""; }
};

TEST_CASE("misuse: an extension without a name") {
  Net net;
  optimizers::SGD optimizer;
  optimizer.setup(net);
  iterators::SerialIterator iterator(ten_examples(), 2);
  updaters::StandardUpdater updater(iterator, optimizer);
  const testing::ScratchDirectory directory;
  training::Trainer trainer(updater, {1, "epoch"}, directory.path());
  CHECK_THROWS_WITH_AS(trainer.extend(Nameless()), "Trainer::extend: the extension has no name: give it one",
                       ValueError);
  trainer.extend(Nameless(), {.name = "given"});
  CHECK(trainer.get_extension("given").name() == "given");
}

}  // namespace
}  // namespace kusari::misuse
