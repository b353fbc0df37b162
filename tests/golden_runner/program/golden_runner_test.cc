#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/scratch_directory.h"

// The program golden_runner, which lies beside the tests, on folders made here: what it says and how it exits.
namespace kusari {
namespace {

std::string program() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "golden_runner").string();
}

struct Outcome {
  int exit_code;
  std::string output;
};

Outcome run(const std::string& arguments) {
  FILE* pipe = ::popen(("'" + program() + "' " + arguments + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome{-1, {}};
  std::array<char, 4096> buffer{};
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) outcome.output.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

/// A folder with cases of leaky_relu on x = (-2, 3), slope 0.2 unless `attrs` says otherwise.
class Golden {
 public:
  void add(const std::string& id, const Array& y, const Array& gx, const std::string& attrs = "{}",
           const std::string& name = "leaky_relu") {
    manifest_ += R"({"case": ")" + id + R"(", "kind": "function", "name": ")" + name +
                 R"(", "args": {"x": "x0"}, "attrs": )" + attrs +
                 R"(, "train": true, "inputs": ["x0"], "outputs": ["y0"], "returns": "y0", "grad_outputs": ["gy0"], )"
                 R"("grads": ["gx0"], "dtype": "float32", "file": "data.npz", "prefix": ")" +
                 id + R"(/", "rtol": 1e-4, "atol": 1e-5})" + "\n";
    entries_.emplace_back(id + "/x0", serializers::NpzValue{array<float>({-2, 3})});
    entries_.emplace_back(id + "/y0", serializers::NpzValue{y});
    entries_.emplace_back(id + "/gy0", serializers::NpzValue{array<float>({10, 100})});
    entries_.emplace_back(id + "/gx0", serializers::NpzValue{gx});
  }
  std::string write() const {
    testing::write_file(directory_ / "manifest.jsonl", manifest_);
    serializers::save_npz_dictionary(directory_ / "data.npz", entries_);
    return "'" + directory_.path() + "'";
  }

 private:
  testing::ScratchDirectory directory_;
  std::string manifest_;
  serializers::NpzDictionary entries_;
};

const Array kY = array<float>({-0.4f, 3}), kGx = array<float>({2, 100});

TEST_CASE("golden_runner tells right from wrong") {
  REQUIRE(std::filesystem::exists(program()));
  Golden golden;
  golden.add("right", kY, kGx);
  golden.add("other_slope", array<float>({-1, 3}), array<float>({5, 100}), R"({"slope": 0.5})");
  SUBCASE("all right") {
    const Outcome all = run(golden.write());
    CHECK(all.exit_code == 0);
    CHECK(all.output == "PASS right\nPASS other_slope\n2 passed, 0 failed, 0 skipped\n");
    CHECK(run(golden.write() + " --quiet").output == "2 passed, 0 failed, 0 skipped\n");
  }
  SUBCASE("wrong values, dtypes and shapes fail, naming the worst element") {
    golden.add("wrong_y", array<float>({-0.4f, 3.5f}), kGx);
    golden.add("wrong_gx", kY, array<float>({2.001f, 100.5f}));
    golden.add("wrong_dtype", array<double>({-0.4, 3}), kGx);
    golden.add("wrong_shape", array<float>({-0.4f, 3}, {1, 2}), kGx);
    golden.add("close_enough", array<float>({-0.40004f, 3.0003f}), kGx);
    golden.add("nan", array<float>({-0.4f, NAN}), kGx);
    const Outcome outcome = run(golden.write() + " --quiet");
    CHECK(outcome.exit_code == 1);
    const auto says = [&](const std::string& text) {
      CHECK_MESSAGE(outcome.output.find(text) != std::string::npos, outcome.output);
    };
    says("FAIL wrong_y: y0[1]: expected 3.5, got 3, difference 0.5 is above 0.00036");
    says("FAIL wrong_gx: gx0[1]: expected 100.5, got 100, ");
    says("FAIL wrong_dtype: y0: expected dtype float64, got float32\n");
    says("FAIL wrong_shape: y0: expected shape (1, 2), got (2,)\n");
    says("FAIL nan: y0[1]: expected nan, got 3");
    says("3 passed, 5 failed, 0 skipped\n");
  }
  SUBCASE("an option that no adapter reads fails; a function that nobody knows is skipped") {
    golden.add("unread", kY, kGx, R"({"inplace": true})");
    golden.add("unknown", kY, kGx, "{}", "leakier_relu");
    const Outcome outcome = run(golden.write());
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.output.find("FAIL unread: argument inplace=true was not passed on\n") != std::string::npos);
    CHECK(outcome.output.find("UNSUPPORTED unknown: function leakier_relu\n") != std::string::npos);
    CHECK(outcome.output.ends_with("2 passed, 1 failed, 1 skipped\n"));
  }
  SUBCASE("filters are parts of names or globs") {
    CHECK(run(golden.write() + " --filter slope").output == "PASS other_slope\n1 passed, 0 failed, 0 skipped\n");
    CHECK(run(golden.write() + " --filter 'r*t'").output == "PASS right\n1 passed, 0 failed, 0 skipped\n");
    CHECK(run(golden.write() + " --filter nothing").output == "0 passed, 0 failed, 0 skipped\n");
  }
}

TEST_CASE("golden_runner without data or device says so") {
  REQUIRE(std::filesystem::exists(program()));
  const testing::ScratchDirectory empty;
  const Outcome outcome = run("'" + empty.path() + "'");
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.output.find("golden_runner: cannot read ") == 0);
  Golden golden;
  golden.add("right", kY, kGx);
  const Outcome device = run(golden.write() + " --device abacus");
  CHECK(device.exit_code == 2);
  CHECK(device.output.find("get_device: 'abacus' is not a device") != std::string::npos);
}

}  // namespace
}  // namespace kusari
