#include <fnmatch.h>

#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/error.h"
#include "kusari/tests/golden_runner/compare.h"
#include "kusari/tests/golden_runner/golden_case.h"
#include "kusari/tests/golden_runner/runners.h"
#include "kusari/tests/golden_runner/signature.h"

// Runs a folder of golden data (see its README.md) and says which cases hold.

namespace kusari::golden {
namespace {

const std::map<std::string, void (*)(const Case&)> kRunners = {
    {"function", run_function},         {"initializer_stats", run_initializer}, {"link", run_link},
    {"loss_scaling", run_loss_scaling}, {"optimizer", run_optimizer},           {"scheduler", run_scheduler},
    {"serializer", run_serializer},
};

bool matches(const std::string& id, const std::string& filter) {
  if (filter.find_first_of("*?[") == std::string::npos) return id.find(filter) != std::string::npos;
  return fnmatch(filter.c_str(), id.c_str(), 0) == 0;
}

struct Totals {
  int passed = 0, failed = 0, skipped = 0;
  std::map<std::string, int> reasons;  ///< why cases were skipped, and how many

  void skip(const Case& c, const std::string& reason, bool quiet) {
    ++skipped;
    ++reasons[reason];
    if (!quiet) std::cout << "UNSUPPORTED " << c.id() << ": " << reason << "\n";
  }
  void fail(const Case& c, const std::string& what) {
    ++failed;
    std::cout << "FAIL " << c.id() << ": " << what << "\n";
  }
};

void run(const Case& c, bool quiet, Totals& totals) {
  try {
    const auto runner = kRunners.find(c.kind());
    if (runner == kRunners.end()) throw Unsupported("kind " + c.kind());
    // Parameters and arrays that a case does not give a dtype have the case's.
    const auto dtype = using_config(&Config::dtype, DtypePolicy(c.dtype()));
    runner->second(c);
    ++totals.passed;
    if (!quiet) std::cout << "PASS " << c.id() << "\n";
  } catch (const Unsupported& e) {
    totals.skip(c, e.what(), quiet);
  } catch (const std::exception& e) {
    totals.fail(c, e.what());
  }
}

int run_all(int argc, char** argv) {
  CLI::App app("Compares results with golden data");
  std::string path, filter, device = "cpu";
  bool quiet = false, is_replayed = false, in_tf32 = false;
  app.add_option("DIR", path, "folder with manifest.jsonl")->required();
  app.add_option("--filter", filter, "run only cases whose id contains this text or matches this glob");
  app.add_option("--device", device, "cpu or cuda:N");
  app.add_flag("--static-graph", is_replayed, "compare what static graphs of the functions replay; run no other cases");
  app.add_flag("--tf32", in_tf32,
               "products and convolutions of float32 in TF32, with the tolerance that belongs to it");
  app.add_flag("--quiet", quiet, "print failures and the summary only");
  CLI11_PARSE(app, argc, argv);

  global_config().use_tf32 = in_tf32;  // Chainer computed in full float32
  Folder folder(path);
  use_names_of(folder);
  std::ifstream manifest(folder / "manifest.jsonl");
  if (!manifest) {
    std::cerr << "golden_runner: cannot read " << folder / "manifest.jsonl"
              << "\n";
    return 2;
  }
  Totals totals;
  std::string line;
  while (std::getline(manifest, line)) {
    if (line.empty()) continue;
    const Case c(folder, Json::parse(line), get_device(device), is_replayed);
    if (is_replayed && c.kind() != "function") continue;
    if (filter.empty() || matches(c.id(), filter)) run(c, quiet, totals);
  }
  if (totals.skipped > 0) std::cout << "skipped for want of:\n";
  for (const auto& [reason, count] : totals.reasons)
    std::cout << "  " << reason << " (" << count << ")"
              << "\n";
  std::cout << totals.passed << " passed, " << totals.failed << " failed, " << totals.skipped << " skipped\n";
  return totals.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace kusari::golden

int main(int argc, char** argv) {
  try {
    return kusari::golden::run_all(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "golden_runner: " << e.what() << "\n";
    return 2;
  }
}
