#pragma once

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/core/array.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/scratch_directory.h"

// The program golden_runner, which lies beside the tests, and folders of golden data that tests make for it.
namespace kusari::testing {

struct Outcome {
  int exit_code;
  std::string output;
};

inline std::string golden_runner() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "golden_runner").string();
}

inline Outcome run_golden(const std::string& arguments) {
  REQUIRE(std::filesystem::exists(golden_runner()));
  FILE* pipe = ::popen(("'" + golden_runner() + "' " + arguments + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome{-1, {}};
  std::array<char, 4096> buffer{};
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) outcome.output.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

/// A folder of golden data.
class GoldenFolder {
 public:
  using Arrays = std::vector<std::pair<std::string, Array>>;

  /// A case of the fields given and those that every case has, with its arrays.
  void add(nlohmann::ordered_json line, const Arrays& arrays) {
    const std::string id = line.at("case");
    line["dtype"] = line.value("dtype", "float32");
    line["file"] = "data.npz";
    line["prefix"] = id + "/";
    line["rtol"] = 1e-4;
    line["atol"] = 1e-5;
    manifest_ += line.dump() + "\n";
    for (const auto& [name, array] : arrays) entries_.emplace_back(id + "/" + name, serializers::NpzValue{array});
  }
  using Json = nlohmann::ordered_json;
  /// A case of a function without gradients: its arrays are x0, x1, ... and y0, y1, ...
  void add_function(const std::string& id, const std::string& name, const Json& args, const std::vector<Array>& xs,
                    const std::vector<Array>& ys) {
    Json line = {{"case", id},
                 {"kind", "function"},
                 {"name", name},
                 {"args", args},
                 {"attrs", Json::object()},
                 {"train", true},
                 {"inputs", Json::array()},
                 {"outputs", Json::array()},
                 {"grad_outputs", Json::array()},
                 {"grads", Json::array()}};
    Arrays arrays;
    for (size_t i = 0; i < xs.size(); ++i) {
      arrays.emplace_back("x" + std::to_string(i), xs[i]);
      line["inputs"].push_back(arrays.back().first);
    }
    for (size_t i = 0; i < ys.size(); ++i) {
      arrays.emplace_back("y" + std::to_string(i), ys[i]);
      line["outputs"].push_back(arrays.back().first);
    }
    line["returns"] = line["outputs"];
    add(line, arrays);
  }
  /// Runs all: each of them must pass.
  void check_all_pass() const {
    const Outcome outcome = run_golden(write() + " --quiet");
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.output);
    CHECK_MESSAGE(outcome.output.find(", 0 failed, 0 skipped\n") != std::string::npos, outcome.output);
  }
  /// Runs all: each of them must fail as it says, "FAIL id: text".
  void check_failures(const std::vector<std::string>& failures) const {
    const Outcome outcome = run_golden(write());
    CHECK(outcome.exit_code == 1);
    for (const std::string& failure : failures) {
      CHECK_MESSAGE(outcome.output.find("FAIL " + failure) != std::string::npos, failure, " is not in\n",
                    outcome.output);
    }
    const std::string end = "0 passed, " + std::to_string(failures.size()) + " failed, 0 skipped\n";
    CHECK_MESSAGE(outcome.output.ends_with(end), outcome.output);
  }

  /// Writes it; the path in quotes.
  std::string write() const {
    write_file(directory_ / "manifest.jsonl", manifest_);
    serializers::save_npz_dictionary(directory_ / "data.npz", entries_);
    return "'" + directory_.path() + "'";
  }

 private:
  ScratchDirectory directory_;
  std::string manifest_;
  serializers::NpzDictionary entries_;
};

}  // namespace kusari::testing
