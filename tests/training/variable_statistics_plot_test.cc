#include "kusari/framework/training/extensions/variable_statistics_plot.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/text_search.h"
#include "kusari/tests/training/fake_updater.h"

using namespace kusari;
using extensions::VariableStatisticsPlot;
using testing::FakeUpdater;
using testing::occurrences;
using testing::read_file;
using testing::ScratchDirectory;
namespace L = kusari::links;

namespace {

std::string plotted(VariableStatisticsPlot& plot, Variable x, int64_t from, int64_t to) {
  const ScratchDirectory out;
  FakeUpdater updater(2);
  updater.count = from;
  updater.on_update = [&] {
    const auto i = static_cast<double>(updater.count);
    x.array().copy_from(array<double>({i, 3 * i}));
    x.set_grad(array<double>({-i, -i}));
  };
  training::Trainer trainer(updater, {to, "iteration"}, out.path());
  trainer.extend(plot);
  trainer.run();
  CHECK(out.count() <= 1);
  return read_file(out / "s.svg");
}

}  // namespace

TEST_CASE("VariableStatisticsPlot draws means, deviations and percentiles of values and gradients") {
  const Variable x(array<double>({0, 0}));
  VariableStatisticsPlot plot({x}, {.percentile_sigmas = {0, 50, 100}, .filename = "s.svg"});
  const std::string svg = plotted(plot, x, 0, 4);
  CHECK(occurrences(svg, "<svg class=\"chart\"") == 4);
  CHECK(occurrences(svg, "class=\"band\"") == 4);  // mean +- std and the outer percentiles, of data and of grad
  CHECK(svg.find("data-name=\"mean, std\" data-points=\"1,2 2,4 3,6 4,8\"") != std::string::npos);
  CHECK(svg.find("data-name=\"mean, std\" data-points=\"1,-1 2,-2 3,-3 4,-4\"") != std::string::npos);
  CHECK(occurrences(svg, "data-name=\"percentile\"") == 2);
}

TEST_CASE("VariableStatisticsPlot draws what is wanted") {
  const Variable x(array<double>({0, 0}));
  VariableStatisticsPlot plot(
      {x},
      {.report_grad = false, .plot_mean = false, .percentile_sigmas = {}, .filename = "s.svg", .figsize = {640, 480}});
  const std::string svg = plotted(plot, x, 0, 2);
  CHECK(occurrences(svg, "<svg class=\"chart\"") == 1);
  CHECK(svg.find("viewBox=\"0 0 640 480\"") != std::string::npos);
  CHECK(svg.find("data-name=\"std\" data-points=\"1,1 2,2\"") != std::string::npos);
}

TEST_CASE("VariableStatisticsPlot keeps a sample of a limited size, over a resume too") {
  const ScratchDirectory dir;
  const Variable x(array<double>({0, 0}));
  const extensions::VariableStatisticsPlotOptions options{
      .max_sample_size = 10, .report_grad = false, .plot_std = false, .percentile_sigmas = {}, .filename = "s.svg"};
  VariableStatisticsPlot whole({x}, options), first({x}, options), second({x}, options);
  const std::string expected = plotted(whole, x, 0, 200);
  const size_t begin = expected.find("data-points=\"") + 13;
  const std::string points = expected.substr(begin, expected.find('"', begin) - begin);
  CHECK(occurrences(points, ",") == 10);
  CHECK(points.rfind("1,2 2,4 3,6 4,8 5,10 ", 0) != 0);  // not the first ten
  plotted(first, x, 0, 99);
  serializers::save_npz(dir / "plot", first);
  serializers::load_npz(dir / "plot", second);
  CHECK(plotted(second, x, 99, 200) == expected);
}

TEST_CASE("VariableStatisticsPlot of links, and of variables without gradient") {
  L::Linear model(2, 2);
  model.W.array().fill(1);
  model.b.array().fill(4);
  model.cleargrads();
  const Variable other(array<double>({7}));
  VariableStatisticsPlot plot({model.W, model, other}, {.percentile_sigmas = {0, 100}, .filename = "s.svg"});
  const std::string svg = plotted(plot, Variable(array<double>({0, 0})), 0, 2);
  CHECK(svg.find("data-points=\"1,2.09090909 2,2.09090909\"") != std::string::npos);  // (8 + 8 + 7) / 11
  CHECK(occurrences(svg, "data-points") == 1);
}

TEST_CASE("VariableStatisticsPlot's bad arguments") {
  const Variable x(array<double>({0}));
  CHECK_THROWS_WITH_AS(VariableStatisticsPlot(std::vector<extensions::StatisticsTarget>{}),
                       "VariableStatisticsPlot: targets is empty: it must have a variable or a link", ValueError);
  CHECK_THROWS_WITH_AS(VariableStatisticsPlot({x}, {.report_data = false, .report_grad = false}),
                       doctest::Contains("nothing to plot"), ValueError);
  CHECK_THROWS_WITH_AS(VariableStatisticsPlot({x}, {.plot_mean = false, .plot_std = false, .percentile_sigmas = {}}),
                       doctest::Contains("nothing to plot"), ValueError);
  CHECK_THROWS_WITH_AS(VariableStatisticsPlot({x}, {.max_sample_size = 0}),
                       "VariableStatisticsPlot: max_sample_size is 0 but must be positive", ValueError);
  CHECK_THROWS_WITH_AS(VariableStatisticsPlot({x}, {.percentile_sigmas = {101}}),
                       doctest::Contains("all must lie in [0, 100]"), ValueError);
  CHECK_THROWS_WITH_AS(VariableStatisticsPlot({x}, {.marker = "?"}), doctest::Contains("marker is '?'"), ValueError);
}
