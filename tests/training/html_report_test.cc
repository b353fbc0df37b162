#include "kusari/framework/training/extensions/html_report.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/html/run_report.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/hooks/weight_decay.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/text_search.h"
#include "kusari/tests/training/fake_updater.h"

using namespace kusari;
using extensions::HtmlReport;
using testing::contains;
using testing::read_file;
using testing::ScratchDirectory;
using training::Trainer;
namespace L = kusari::links;
namespace html = kusari::training::html;

namespace {

/// An updater with a model under an optimizer.
struct AdamUpdater : testing::FakeUpdater {
  AdamUpdater() : FakeUpdater(2) {
    adam.setup(model);
    adam.add_hook(optimizer_hooks::WeightDecay(0.01));
    on_update = [this] {
      const auto n = static_cast<double>(count);
      kusari::report({{"main/loss", 1 / n}, {"validation/main/loss", 1 / n + 1}});
      if (count == fails_at) throw std::runtime_error("it <failed>");
    };
  }
  std::vector<std::pair<std::string, Optimizer*>> get_all_optimizers() override { return {{"main", &adam}}; }

  L::Linear model{3, 2};
  optimizers::Adam adam;
  int64_t fails_at = -1;
};

}  // namespace

TEST_CASE("HtmlReport shows a run on one page") {
  const ScratchDirectory dir;
  AdamUpdater updater;
  Trainer trainer(updater, {3, "epoch"}, dir / "out");
  trainer.extend(HtmlReport(
      {.title = "A <run>", .configuration = {{"data", "<MNIST>"}}, .model_summary = "1 & 2", .reload_seconds = 20}));
  trainer.extend(extensions::LogReport());
  std::string on_the_way;
  trainer.extend([&](Trainer&) { on_the_way = read_file(dir / "out/report.html"); },
                 {.trigger = {2, "epoch"}, .priority = 0});
  trainer.run();
  CHECK(contains(on_the_way, "<span class=\"state running\">running</span>"));
  CHECK(contains(on_the_way, "66.7%</div>"));
  CHECK(contains(on_the_way, "<dt>Remaining</dt>"));
  CHECK(contains(on_the_way, "http-equiv=\"refresh\" content=\"20\""));

  const std::string html = read_file(dir / "out/report.html");
  CHECK(html.rfind("<!DOCTYPE html>\n", 0) == 0);
  CHECK(contains(html, "<title>A &lt;run&gt;</title>"));
  CHECK_FALSE(contains(html, "A <run>"));
  CHECK(contains(html, "Model summary"));
  CHECK(contains(html, "1 &amp; 2"));
  CHECK(contains(html, "<span class=\"state finished\">finished</span>"));
  CHECK_FALSE(contains(html, "http-equiv=\"refresh\""));
  CHECK_FALSE(contains(html, "<dt>Remaining</dt>"));
  CHECK(contains(html, "<dt>Epoch</dt><dd>3 <small>of 3</small></dd>"));
  CHECK(contains(html, "<dt>Best validation/<wbr>main/<wbr>loss</dt><dd>1.18333 <small>epoch 3</small></dd>"));
  // Means of two iterations: (1 + 1/2) / 2 = 0.75; in one chart, with validation's.
  CHECK(contains(html, "data-name=\"main/loss\" data-points=\"1,0.75 2,0.291666667 3,0.183333333\""));
  CHECK(contains(html, "data-name=\"validation/main/loss\" data-points=\"1,1.75 "));
  CHECK(contains(html, "<td class=\"best\">0.183333</td>"));
  CHECK_FALSE(contains(html, "<td class=\"best\">0.75</td>"));
  CHECK(contains(html, "Linear(in_size=3, out_size=2"));
  CHECK(contains(html, "<dt>parameters</dt><dd>8</dd>"));
  CHECK(contains(html, "<dt>method</dt><dd>Adam</dd>"));
  CHECK(contains(html, "<dt>alpha</dt><dd>0.001</dd>"));
  CHECK(contains(html, "<dt>hook</dt><dd>WeightDecay</dd>"));
  CHECK(contains(html, "<dt>data</dt><dd>&lt;MNIST&gt;</dd>"));
  CHECK(contains(html, "<td>HtmlReport</td><td>every epoch</td><td>50</td>"));
  CHECK(contains(html, "enable_backprop"));  // config
  CHECK(contains(html, "Platform"));         // runtime_info
  for (const char* outside : {"src=", "href=", "@import", "url("}) CHECK_FALSE(contains(html, outside));
}

TEST_CASE("HtmlReport of a run that fails says why") {
  const ScratchDirectory dir;
  AdamUpdater updater;
  updater.fails_at = 3;
  Trainer trainer(updater, {4, "epoch"}, dir.path());
  trainer.extend(extensions::LogReport());
  trainer.extend(HtmlReport());
  CHECK_THROWS_AS(trainer.run(false), std::runtime_error);
  const std::string html = read_file(dir / "report.html");
  CHECK(contains(html, "<span class=\"state failed\">failed</span>"));
  CHECK(contains(html, "<div class=\"error\">it &lt;failed&gt;</div>"));
  CHECK(contains(html, "<dt>Iteration</dt><dd>3</dd>"));

  updater.fails_at = -1;
  trainer.run();
  CHECK(contains(read_file(dir / "report.html"), "<span class=\"state finished\">"));
}

TEST_CASE("HtmlReport has the computational graph, drawn once, or as text where it cannot be drawn") {
  const ScratchDirectory dir, bin;
  testing::write_file(dir / "cg.dot", "digraph graphname{a [label=\"<x>\"]; a -> b;}");
  const std::string path = std::getenv("PATH");
  bool is_there = false;
  SUBCASE("without dot") { is_there = false; }
  SUBCASE("with dot") {
    is_there = true;
    testing::write_file(bin / "dot",
                        "#!/bin/sh\necho called >> " + (bin / "calls") +
                            "\n[ $1$2 = -Tsvg-o ] && echo '<?xml version=\"1.0\"?>\n<svg id=\"drawn\"></svg>' > $3\n");
    ::chmod((bin / "dot").c_str(), 0755);
  }
  ::setenv("PATH", bin.path().c_str(), 1);
  AdamUpdater updater;
  Trainer trainer(updater, {3, "epoch"}, dir.path());
  trainer.extend(extensions::LogReport({.filename = std::nullopt}));
  trainer.extend(HtmlReport());
  trainer.run();
  ::setenv("PATH", path.c_str(), 1);
  const std::string html = read_file(dir / "report.html");
  CHECK(contains(html, "<h2>Computational graph</h2>"));
  CHECK(contains(html, "<pre>digraph graphname{a [label=&quot;&lt;x&gt;&quot;]; a -&gt; b;}</pre>"));
  CHECK(contains(html, "<div class=\"graph\"><svg id=\"drawn\"></svg>") == is_there);
  CHECK_FALSE(contains(html, "<?xml"));
  CHECK(dir.count() == 2);
  if (is_there) CHECK(read_file(bin / "calls") == "called\n");
}

TEST_CASE("HtmlReport's bad arguments") {
  const ScratchDirectory dir;
  CHECK_THROWS_WITH_AS(HtmlReport({.x_key = "time"}), "HtmlReport: x_key is 'time': it must be 'iteration' or 'epoch'",
                       ValueError);
  AdamUpdater updater;
  Trainer trainer(updater, {1, "epoch"}, dir.path());
  trainer.extend(HtmlReport({.log_report = "Log"}));
  CHECK_THROWS_WITH_AS(trainer.run(false), doctest::Contains("there is no extension 'Log'"), ValueError);
}

TEST_CASE("to_html keeps long logs short, and says so") {
  html::RunReport page{"t", "s"};
  for (int i = 0; i < 1234; ++i) {
    page.log.emplace_back().set("iteration", i);
    page.log.back().set("loss", i == 1000 ? 0.25 : 1.0);
  }
  const std::string html = html::to_html(page);
  CHECK(contains(html, "The last 500 of 1,234 rows."));
  CHECK_FALSE(contains(html, "<td>733</td>"));
  CHECK(contains(html, "<td>734</td>"));
  CHECK(contains(html, "<td>1000</td><td class=\"best\">0.25</td>"));
}
