#pragma once

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/shared_data.h"

namespace kusari::testing {

/// Calls visit(case, array) for each golden case of kind scheduler whose name passes; array(name) reads an array of it.
/// Returns how many there were: none without golden data.
template <class Wanted, class Visit>
int for_each_scheduler(const Wanted& wanted, const Visit& visit) {
  const std::string manifest = shared_path("golden/manifest.jsonl");
  if (manifest.empty()) {
    MESSAGE("no golden data: schedulers are not compared with Chainer's");
    return 0;
  }
  const serializers::NpzReader npz(shared_path("golden/schedulers.npz"));
  std::ifstream lines(manifest);
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto entry = nlohmann::json::parse(line);
    if (entry.at("kind") != "scheduler" || !wanted(entry.at("name").get<std::string>())) continue;
    CAPTURE(entry.at("case").get<std::string>());
    const std::string prefix = entry.at("prefix");
    visit(entry, [&](const std::string& name) { return npz.array(prefix + name).template to_vector<double>(); });
    ++count;
  }
  return count;
}

}  // namespace kusari::testing
