#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/datasets/download.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/tests/core/child_process.h"

// Whatever stands in a variable of the environment, it is a setting that it names or a ValueError that says all.
namespace kusari {
namespace {

const std::vector<std::string> kFlags = {"0", "1", "true", "false", "on", "off", "True", "OFF"};
const std::vector<std::string> kUses = {"always", "auto", "never"};
const std::vector<std::string> kDtypes = {"float16", "bfloat16", "float32", "float64", "mixed16", "mixed_bf16"};

std::string in_lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

bool is_among(const std::vector<std::string>& words, const std::string& value) {
  return std::find(words.begin(), words.end(), value) != words.end();
}

bool is_flag(const std::string& value) { return is_among(kFlags, in_lower_case(value)); }

/// Digits alone that make a number in [low, high], both of which have as many digits as they need.
bool is_number(const std::string& value, const std::string& low, const std::string& high) {
  if (value.empty() || value.find_first_not_of("0123456789") != std::string::npos) return false;
  std::string digits = value.substr(std::min(value.find_first_not_of('0'), value.size()));
  if (digits.empty()) digits = "0";
  const auto is_below = [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  return !is_below(digits, low) && !is_below(high, digits);
}

struct Setting {
  std::string variable;
  std::vector<std::string> good;                    // some of what it may be
  std::function<bool(const std::string&)> is_good;  // whether it may be that
  std::vector<std::string> said;                    // by the error
};

Setting choice(const std::string& variable, const std::vector<std::string>& words) {
  return {variable, words, [words](const std::string& value) { return is_among(words, value); }, words};
}
Setting number(const std::string& variable, const std::string& low, const std::string& high) {
  return {variable,
          {low, high, "7", "007", "128"},
          [low, high](const std::string& value) { return is_number(value, low, high); },
          {"a whole number from " + low + " to " + high}};
}

std::vector<Setting> settings() {
  const std::string kMax = "18446744073709551615";
  std::vector<Setting> all = {
      choice("KUSARI_CONVOLUTION", {"direct", "blocked", "winograd", "im2col", "packed", "depthwise"}),
      choice("KUSARI_CPU_ISA", {"v1", "v3", "v4", "v4_vnni", "v4_bf16"}),
      choice("KUSARI_LAYOUT", {"nchw", "nhwc"}),
      choice("KUSARI_LOG_LEVEL", {"trace", "debug", "info", "warn", "error", "off"}),
      number("KUSARI_CUDA_MEMORY_LIMIT", "0", kMax),
      number("KUSARI_DISTRIBUTED_STALL_WARNING", "1", "1000000"),
      number("KUSARI_DISTRIBUTED_TIMEOUT", "1", "100000000"),
      number("KUSARI_MAX_WORKSPACE_SIZE", "0", kMax),
      number("KUSARI_NUM_THREADS", "1", "4096"),
      number("KUSARI_SEED", "0", kMax),
      number("CHAINER_SEED", "0", kMax),
  };
  for (const char* variable : {"KUSARI_CONVOLUTION_SUMS", "KUSARI_CUDA_GRAPHS", "KUSARI_DISTRIBUTED_DEBUG",
                               "KUSARI_FLASH_ATTENTION", "KUSARI_MEMORY_POOL", "KUSARI_NORMALIZATION_MASKS",
                               "KUSARI_NORMALIZED_CONVOLUTIONS", "KUSARI_NVTX", "KUSARI_STATIC_GRAPH"}) {
    all.push_back({variable, kFlags, is_flag, {"0 or 1"}});
  }
  for (const std::string prefix : {"KUSARI_", "CHAINER_"}) {
    for (const char* entry : {"AUTOTUNE", "CHANNELS_LAST", "CUDNN_DETERMINISTIC", "CUDNN_FAST_BATCH_NORMALIZATION",
                              "DEBUG", "ENABLE_BACKPROP", "IN_RECOMPUTING", "KEEP_GRAPH_ON_REPORT", "SAVE_MEMORY",
                              "TRAIN", "TYPE_CHECK", "USE_STATIC_GRAPH", "USE_TF32", "WARN_NONDETERMINISTIC"}) {
      all.push_back({prefix + entry, kFlags, is_flag, {"0 or 1"}});
    }
    for (const char* entry : {"USE_CUDNN", "USE_CUDNN_TENSOR_CORE"}) all.push_back(choice(prefix + entry, kUses));
    all.push_back(
        {prefix + "DTYPE", kDtypes, [](const std::string& v) { return is_among(kDtypes, in_lower_case(v)); }, kDtypes});
  }
  return all;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : seed_{seed} {}

  std::string mutate(std::string value, const std::vector<std::string>& others) {
    for (uint32_t n = 1 + draw(3); n > 0; --n) mutate_once(value, others);
    return value;
  }

 private:
  uint32_t draw(size_t n) { return philox_word(seed_, at_++) % static_cast<uint32_t>(n); }
  char character() {
    static constexpr char kCharacters[] = "0123456789 -+._,;xXeEkKaAfnN\t\n'\"$\\/%\x01\x7f\x80\xff";
    return kCharacters[draw(sizeof kCharacters - 1)];
  }
  void mutate_once(std::string& value, const std::vector<std::string>& others) {
    static const std::vector<std::string> kOddities = {"",
                                                       " ",
                                                       "-1",
                                                       "+1",
                                                       "1.0",
                                                       "1e3",
                                                       "0x10",
                                                       "nan",
                                                       "None",
                                                       "yes",
                                                       "no",
                                                       "2",
                                                       "null",
                                                       "auto",
                                                       "int8",
                                                       "4k",
                                                       "fp16",
                                                       "float",
                                                       "float128",
                                                       "default",
                                                       "false;",
                                                       "inf",
                                                       "v2",
                                                       "v5",
                                                       "99999999999999999999",
                                                       "18446744073709551616",
                                                       "4294967296",
                                                       "4097",
                                                       "-0",
                                                       "\xc3\xa9",
                                                       "１"};
    const size_t place = value.empty() ? 0 : draw(value.size());
    switch (draw(8)) {
      case 0:
        value.insert(value.begin() + static_cast<std::ptrdiff_t>(place), character());
        break;
      case 1:
        if (!value.empty()) value.erase(place, 1);
        break;
      case 2:
        if (!value.empty()) value[place] = character();
        break;
      case 3:
        value = draw(2) == 0 ? value + " " : " " + value;
        break;
      case 4:
        if (!value.empty()) value[place] = static_cast<char>(value[place] ^ 0x20);  // the case of a letter
        break;
      case 5:
        value = kOddities[draw(kOddities.size())];
        break;
      case 6:
        value += others[draw(others.size())];
        break;
      default:
        value = std::string(draw(2000), value.empty() ? '9' : value[place]);
    }
    std::erase(value, '\0');  // which no variable can have
  }

  uint64_t seed_;
  uint64_t at_ = 0;
};

TEST_CASE("environment: values are settings, or errors that say all") {
  constexpr int kCases = 100;
  int n = 0, n_bad = 0;
  for (const Setting& setting : settings()) {
    CAPTURE(setting.variable);
    Mutator mutator(static_cast<uint64_t>(n));
    std::vector<std::string> values = setting.good;
    for (int i = 0; i < kCases; ++i) {
      values.push_back(mutator.mutate(setting.good[static_cast<size_t>(i) % setting.good.size()], setting.good));
    }
    for (const std::string& value : values) {
      CAPTURE(value);
      ++n;
      std::string problem;
      bool is_known = true;
      try {
        is_known = environment::check(setting.variable, value);
      } catch (const ValueError& error) {
        problem = error.what();
      }
      REQUIRE(is_known);
      REQUIRE(problem.empty() == (value.empty() || setting.is_good(value)));
      if (problem.empty()) continue;
      ++n_bad;
      CHECK(problem.starts_with(setting.variable + ": '" + value + "' is not "));
      problem.erase(0, setting.variable.size() + value.size() + 4);
      for (const std::string& word : setting.said) CHECK(problem.find(word) != std::string::npos);
    }
  }
  CHECK(n > 4500);
  CHECK(n_bad > 3000);
}

TEST_CASE("environment: other variables are not Kusari's") {
  CHECK_FALSE(environment::check("HOME", "/"));
  CHECK_FALSE(environment::check("KUSARI_", "1"));
  CHECK_FALSE(environment::check("KUSARI_dtype", "float8"));
  CHECK_FALSE(environment::check("CHAINER_NUM_THREADS", "x"));
}

TEST_CASE("environment: KUSARI_DATASET_ROOT is any folder") {
  const char* const before = std::getenv("KUSARI_DATASET_ROOT");
  const std::string restored = before != nullptr ? before : "";
  Mutator mutator(7);
  for (int i = 0; i < 200; ++i) {
    const std::string root = mutator.mutate("/tmp/data", {"/", "..", "~"});
    CAPTURE(root);
    ::setenv("KUSARI_DATASET_ROOT", root.c_str(), 1);
    if (!root.empty()) CHECK(datasets::dataset_root() == root);
  }
  ::setenv("KUSARI_DATASET_ROOT", "/dev/null", 1);
  CHECK_THROWS_AS(datasets::get_dataset_directory("digits"), IoError);
  ::setenv("KUSARI_DATASET_ROOT", "", 1);  // as if it were not set
  CHECK(datasets::dataset_root().ends_with("/.kusari/dataset"));
  ::setenv("KUSARI_DATASET_ROOT", restored.c_str(), 1);
}

// What is read of the environment, by the sources.
std::set<std::string> variables_of_sources() {
  std::set<std::string> found;
  for (const char* folder : {"framework", "cuda", "iterators", "optimizers", "updaters"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::string(KUSARI_SOURCE_DIR) + "/" + folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cc" && extension != ".h" && extension != ".cu") continue;
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      for (const std::string prefix : {"\"KUSARI_", "\"CHAINER_"}) {
        for (size_t at = 0; (at = text.find(prefix, at)) != std::string::npos; ++at) {
          const size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", at + 1);
          if (end != std::string::npos && text[end] == '"') found.insert(text.substr(at + 1, end - at - 1));
        }
      }
    }
  }
  return found;
}

TEST_CASE("environment: this test knows all variables") {
  std::set<std::string> known = {"KUSARI_CACHE_DIR", "KUSARI_CUDA_GRAPH_DOT", "KUSARI_DATASET_ROOT"};  // folders
  known.insert({"KUSARI_", "CHAINER_"});  // of entries of Config
  for (const Setting& setting : settings()) known.insert(setting.variable);
  for (const std::string& variable : variables_of_sources()) CHECK_MESSAGE(known.contains(variable), variable);
  size_t entries = 0;
  global_config().for_each([&](const std::string& entry, const auto&) {
    std::string upper = entry;
    for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    CHECK_MESSAGE(known.contains("KUSARI_" + upper), entry);
    ++entries;
  });
  CHECK(entries == 17);
}

TEST_CASE("environment: bad values end a program with their error") {
  const std::string unset = "-u KUSARI_LOG_LEVEL ";
  for (const Setting& setting : settings()) {
    const testing::ChildResult child =
        testing::run_in_child(unset + setting.variable + "='odd value'", "use the configuration");
    CAPTURE(setting.variable);
    CHECK_MESSAGE(child.exit_code == 1, child.output);  // a test that failed, and no signal
    CHECK_MESSAGE(child.output.find(setting.variable + ": 'odd value' is not ") != std::string::npos, child.output);
  }
}

TEST_CASE("environment: an empty variable is as if it were not set") {
  std::string all;
  for (const Setting& setting : settings()) all += setting.variable + "= ";
  all += "KUSARI_DATASET_ROOT= KUSARI_CUDA_GRAPH_DOT= ";
  const testing::ChildResult child = testing::run_in_child(all, "use what variables set");
  CHECK_MESSAGE(child.exit_code == 0, child.output);
  const testing::ChildResult chainer =
      testing::run_in_child("KUSARI_DTYPE= CHAINER_DTYPE=float64", "config.dtype is float64");
  CHECK_MESSAGE(chainer.exit_code == 0, chainer.output);
}

TEST_CASE("use what variables set" * doctest::skip()) {
  CHECK(get_dtype() == Dtype::float32);
  CHECK(config().type_check);
  for (const Setting& setting : settings()) {
    const char* const variable = setting.variable.c_str();
    CAPTURE(setting.variable);
    CHECK(environment::value(variable) == nullptr);
    CHECK(environment::check(setting.variable, ""));
  }
  CHECK(num_threads() >= 1);
  CHECK(random::permutation(3).size() == 3);
  log::warn("a warning");
  CHECK(
      functions::convolution_2d(ones({1, 1, 5, 5}), ones({1, 1, 3, 3})).array().at(0).at(0).at(0).at(0).item<float>() ==
      9);
  CHECK(datasets::dataset_root().ends_with("/.kusari/dataset"));
}

TEST_CASE("config.dtype is float64" * doctest::skip()) { CHECK(get_dtype() == Dtype::float64); }

TEST_CASE("environment: good values start a program") {
  std::string all;
  for (const Setting& setting : settings()) all += setting.variable + "=" + setting.good.front() + " ";
  const testing::ChildResult child = testing::run_in_child(all, "use the configuration");
  CHECK_MESSAGE(child.exit_code == 0, child.output);
}

TEST_CASE("use the configuration" * doctest::skip()) {
  (void)config();
  CHECK(full({}, 3, Dtype::float32).item<double>() == 3);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need more memory than there will be
TEST_CASE("threads that the system does not give are done without") {
  const testing::ChildResult child = testing::run_in_child("-u KUSARI_LOG_LEVEL", "use many threads in little memory");
  CHECK_MESSAGE(child.exit_code == 0, child.output);
  CHECK_MESSAGE(child.output.find("threads: the system gives no more than ") != std::string::npos, child.output);
}

TEST_CASE("use many threads in little memory" * doctest::skip()) {
  set_num_threads(64);
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto bytes = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + (rlim_t{32} << 20);  // a few stacks
  const rlimit limit{bytes, bytes};
  REQUIRE(::setrlimit(RLIMIT_AS, &limit) == 0);
  for (int i = 0; i < 3; ++i) {
    std::atomic<int64_t> sum{0};
    parallel_for(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    CHECK(sum == 1000);
  }
}
#endif

TEST_CASE("config.dtype is floating") {
  for (int i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const auto guard = using_config(&Config::dtype, dtype);
    if (is_floating(dtype)) {
      CHECK(get_dtype() == dtype);
      continue;
    }
    const std::string message = std::string("config.dtype is ") + name(dtype) +
                                " but must be float16, bfloat16, float32, float64, mixed16 or mixed_bf16";
    CHECK_THROWS_WITH_AS(get_dtype(), message.c_str(), TypeError);
    CHECK(get_dtype(Dtype::int32) == Dtype::int32);  // whoever names one gets it
  }
}

}  // namespace
}  // namespace kusari
