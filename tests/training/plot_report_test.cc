#include "kusari/framework/training/extensions/plot_report.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

using namespace kusari;
namespace charts = kusari::training::charts;
using extensions::PlotReport;
using testing::FakeUpdater;
using testing::read_file;
using testing::ScratchDirectory;

namespace {

/// $PATH for the life of the object: a folder whose gnuplot is this shell script, or that has none.
class Path {
 public:
  Path(const ScratchDirectory& dir, const char* gnuplot) : before_{std::getenv("PATH")} {
    if (gnuplot != nullptr) {
      testing::write_file(dir / "gnuplot", std::string("#!/bin/sh\nPATH=/usr/bin:/bin\n") + gnuplot);
      ::chmod((dir / "gnuplot").c_str(), 0755);
    }
    ::setenv("PATH", dir.path().c_str(), 1);
  }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  ~Path() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

void run_plot(const ScratchDirectory& out, PlotReport& plot, int64_t iterations = 4, int64_t from = 0) {
  FakeUpdater updater(2);
  updater.count = from;
  updater.on_update = [&] {
    report({{"main/loss", 1.0 / static_cast<double>(updater.count)}});
    if (updater.count == 4) report({{"it's", 3}});
  };
  training::Trainer trainer(updater, {iterations, "iteration"}, out.path());
  trainer.extend(plot);
  trainer.run();
}

// A gnuplot that copies its script to the picture.
constexpr const char* kCopy = "cp \"$1\" \"$(sed -n \"s/^set output '\\(.*\\)'/\\1/p\" \"$1\")\"\n";

}  // namespace

TEST_CASE("PlotReport gives gnuplot the means of each interval") {
  const ScratchDirectory bin, out;
  const Path path(bin, kCopy);
  CHECK(PlotReport::available());
  PlotReport plot({"main/loss", "it's", "never"}, "epoch",
                  {.postprocess = [](charts::LineChart& chart) { chart.title = "Curves\nof a run"; },
                   .filename = "loss.png",
                   .marker = "o",
                   .grid = false});
  run_plot(out, plot);
  CHECK(out.count() == 1);
  CHECK(
      read_file(out / "loss.png") ==
      "set terminal png truecolor noenhanced size 800,600\nset output '" + (out / "loss.png.tmp") +
          "'\n$curve0 << END\n1 0.75\n2 0.29166666666666663\nEND\n"
          "$curve1 << END\n2 3\nEND\n"
          "set title 'Curves of a run'\nset xlabel 'epoch'\nset ylabel ''\nunset grid\nunset logscale y\n"
          "set yrange [*:*]\nset key outside top center horizontal\n"
          "plot $curve0 using 1:2 with linespoints pointtype 7 linewidth 2 linecolor rgb '#1f6fb5' title 'main/loss', "
          "$curve1 using 1:2 with linespoints pointtype 7 linewidth 2 linecolor rgb '#d9650b' title 'it''s'\n");
}

TEST_CASE("PlotReport draws SVG files by itself") {
  const ScratchDirectory bin, out;
  const Path path(bin, nullptr);
  PlotReport plot({"main/loss", "it's"}, "iteration", {.filename = "loss.svg", .marker = ""});
  run_plot(out, plot);
  CHECK(out.count() == 1);
  const std::string svg = read_file(out / "loss.svg");
  CHECK(svg.rfind("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg ", 0) == 0);
  CHECK(svg.find("data-name=\"main/loss\" data-points=\"2,0.75 4,0.291666667\"") != std::string::npos);
  CHECK(svg.find("data-name=\"it&#39;s\" data-points=\"4,3\"") != std::string::npos);
  CHECK(svg.find("class=\"mark\"") == std::string::npos);
}

TEST_CASE("PlotReport goes on with its curves after a resume") {
  const ScratchDirectory bin, out, whole, files;
  const Path path(bin, kCopy);
  PlotReport all({"main/loss"}), first({"main/loss"}), second({"main/loss"});
  run_plot(whole, all);
  run_plot(out, first, 3);
  serializers::save_npz(files / "plot", first);
  CHECK(serializers::NpzReader(files / "plot").value("_plot_plot.png").text == R"({"main/loss":[[2.0,0.75]]})");
  serializers::load_npz(files / "plot", second);
  run_plot(out, second, 4, 3);
  const std::string expected = read_file(whole / "plot.png"), got = read_file(out / "plot.png");
  CHECK(got.substr(got.find("$curve0")) == expected.substr(expected.find("$curve0")));
}

TEST_CASE("PlotReport without a working gnuplot draws SVG instead, and leaves nothing else behind") {
  const ScratchDirectory bin, out;
  bool is_there = false;
  SUBCASE("missing") { is_there = false; }
  SUBCASE("failing") { is_there = true; }
  const Path path(bin, is_there ? "exit 1\n" : nullptr);
  CHECK(PlotReport::available() == is_there);
  PlotReport plot({"main/loss"});
  run_plot(out, plot);
  CHECK(out.count() == 1);
  CHECK(read_file(out / "plot.svg").find("data-points=\"2,0.75 4,0.291666667\"") != std::string::npos);
}

TEST_CASE("PlotReport takes gnuplot's picture though the program ignores the ends of its children") {
  const ScratchDirectory bin, out;
  const Path path(bin, kCopy);
  const auto previous = std::signal(SIGCHLD, SIG_IGN);
  PlotReport plot({"main/loss"});
  run_plot(out, plot);
  std::signal(SIGCHLD, previous);
  CHECK(out.count() == 1);
  CHECK(std::filesystem::exists(out / "plot.png"));
}

TEST_CASE("PlotReport's bad arguments") {
  CHECK_THROWS_WITH_AS(PlotReport({"main/loss"}, "time"),
                       "PlotReport: x_key is 'time': it must be 'iteration' or 'epoch'", ValueError);
  CHECK_THROWS_WITH_AS(PlotReport({"main/loss"}, "epoch", {.marker = "xx"}),
                       "PlotReport: marker is 'xx': it must be one of . o x + * s ^ v D, or empty", ValueError);
}
