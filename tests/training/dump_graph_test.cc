#include "kusari/framework/training/extensions/dump_graph.h"

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/unchain_variables.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

using namespace kusari;
using extensions::dump_graph;
using testing::FakeUpdater;
using testing::ScratchDirectory;
using training::Trainer;
namespace fs = std::filesystem;
namespace F = functions;

namespace {

/// Reports a loss that a graph computed.
struct Reporting : FakeUpdater {
  Reporting() {
    on_update = [this] {
      const Variable x(zeros({2}));
      report({{"loss", F::sum(F::relu(x))}, {"number", 3.0}});
      keeps.push_back(config().keep_graph_on_report);
    };
  }
  std::vector<bool> keeps;
};

}  // namespace

TEST_CASE("dump_graph writes the graph of the first iteration") {
  const ScratchDirectory dir;
  Reporting updater;
  Trainer trainer(updater, {3, "iteration"}, dir.path());
  trainer.extend(dump_graph("loss"));
  int iterations_with_graph = 0;
  trainer.extend([&](Trainer& t) { iterations_with_graph += t.observation().find("loss")->variable() != nullptr; });
  trainer.run();
  const std::string text = testing::read_file(dir / "cg.dot");
  CHECK(text.rfind("digraph graphname{rankdir=TB;0 [label=\"float32\",shape=\"octagon\",fillcolor=\"#E0E0E0\"", 0) ==
        0);
  CHECK(text.find("relu") != text.npos);
  CHECK(updater.keeps == std::vector<bool>{true, false, false});
  CHECK(iterations_with_graph == 1);
}

TEST_CASE("dump_graph: options, and a run that is resumed") {
  const ScratchDirectory dir;
  Reporting updater;
  const auto run = [&](const std::string& snapshot) {
    Trainer trainer(updater, {updater.count + 2, "iteration"}, dir.path());
    trainer.extend(dump_graph("loss", {.variable_style = {{"shape", "box"}}, .out_name = "graph.dot"}));
    if (!snapshot.empty()) serializers::load_npz(snapshot, trainer);
    trainer.run();
    serializers::save_npz(dir / "snapshot", trainer);
  };
  run("");
  CHECK(testing::read_file(dir / "graph.dot").find("shape=\"box\"") != std::string::npos);
  fs::remove(dir / "graph.dot");
  updater.keeps.clear();
  run(dir / "snapshot");
  CHECK_FALSE(fs::exists(dir / "graph.dot"));
  CHECK(updater.keeps == std::vector<bool>{false, false});
  CHECK_FALSE(config().keep_graph_on_report.own().has_value());
}

TEST_CASE("dump_graph draws a picture where Graphviz is installed") {
  const ScratchDirectory dir;
  // A program of that name: it copies its input.
  testing::write_file(dir / "dot", "#!/bin/sh\n[ \"$1\" = -Tpng ] && [ \"$3\" = -o ] && /bin/cp \"$2\" \"$4\"\n");
  ::chmod((dir / "dot").c_str(), 0755);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", dir.path().c_str(), 1);
  Reporting updater;
  Trainer trainer(updater, {1, "iteration"}, dir.path());
  trainer.extend(dump_graph("loss"));
  trainer.run();
  ::setenv("PATH", path.c_str(), 1);
  CHECK(testing::read_file(dir / "cg.png") == testing::read_file(dir / "cg.dot"));
  CHECK(dir.count() == 3);
}

TEST_CASE("dump_graph: errors leave the settings as they were") {
  const ScratchDirectory dir;
  for (const auto& [name, message] : {std::pair{"main/loss", "DumpGraph: nothing is reported as 'main/loss'"},
                                      std::pair{"number",
                                                "DumpGraph: what is reported as 'number' is not a variable "
                                                "with a graph"}}) {
    Reporting updater;
    Trainer trainer(updater, {3, "iteration"}, dir.path());
    trainer.extend(dump_graph(name));
    CHECK_THROWS_WITH(trainer.run(false), message);
    CHECK_FALSE(config().keep_graph_on_report.own().has_value());
    CHECK_FALSE(config().use_static_graph.own().has_value());
  }
}

TEST_CASE("dump_graph: an extension that cannot be initialized leaves the settings as they were") {
  const ScratchDirectory dir;
  Reporting updater;
  Trainer trainer(updater, {3, "iteration"}, dir.path());
  trainer.extend(dump_graph("loss"));
  trainer.extend(training::make_extension([](Trainer&) {},
                                          {.initializer = [](Trainer&) { throw std::runtime_error("not ready"); }}));
  CHECK_THROWS_WITH(trainer.run(false), "not ready");
  CHECK_FALSE(config().keep_graph_on_report.own().has_value());
  CHECK_FALSE(config().use_static_graph.own().has_value());
}

TEST_CASE("dump_graph: the settings end with the extension, though nobody finalizes it") {
  const ScratchDirectory dir;
  {
    Reporting updater;
    Trainer trainer(updater, {3, "iteration"}, dir.path());
    trainer.extend(dump_graph("loss"));
    trainer.get_extension("DumpGraph").initialize(trainer);
    CHECK(config().keep_graph_on_report.own() == true);
  }
  CHECK_FALSE(config().keep_graph_on_report.own().has_value());
  CHECK_FALSE(config().use_static_graph.own().has_value());
}

TEST_CASE("unchain_variables drops the graphs of reported variables") {
  const ScratchDirectory dir;
  const auto keep = using_config(&Config::keep_graph_on_report, true);
  Reporting updater;
  Trainer trainer(updater, {2, "iteration"}, dir.path());
  trainer.extend(extensions::unchain_variables());
  std::vector<bool> before, after;
  const auto has_graph = [](Trainer& t) { return t.observation().find("loss")->variable()->creator() != nullptr; };
  trainer.extend([&](Trainer& t) { before.push_back(has_graph(t)); }, {.priority = 1});
  trainer.extend([&](Trainer& t) { after.push_back(has_graph(t)); }, {.priority = -1});
  trainer.run();
  CHECK(before == std::vector<bool>{true, true});
  CHECK(after == std::vector<bool>{false, false});
}
