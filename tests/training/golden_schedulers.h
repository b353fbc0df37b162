#pragma once

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/golden_data.h"

namespace kusari::testing {

/// Calls visit(case, array) for each golden case of kind scheduler whose name passes; array(name) reads an array of it.
/// Returns how many there were.
template <class Wanted, class Visit>
int for_each_scheduler(const Wanted& wanted, const Visit& visit) {
  const serializers::NpzReader npz(golden_path("schedulers.npz"));
  std::ifstream lines(golden_path("manifest.jsonl"));
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
