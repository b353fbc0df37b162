#include "kusari/framework/core/environment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "kusari/framework/core/error.h"

namespace kusari::environment {
namespace {

enum class Kind { flag, number, choice };

struct Known {
  const char* variable;
  Kind kind;
  std::array<const char*, 6> names = {};  // of a choice
  uint64_t low = 0;                       // of a number
  uint64_t high = std::numeric_limits<uint64_t>::max();

  std::span<const char* const> choices() const {
    return {names.data(), static_cast<size_t>(std::find(names.begin(), names.end(), nullptr) - names.begin())};
  }
  void check(const std::string& value) const {
    bool ignored;
    switch (kind) {
      case Kind::flag:
        return parse(variable, value, ignored);
      case Kind::number:
        return void(parse_number(variable, value, low, high));
      case Kind::choice:
        return void(parse_choice(variable, value, choices()));
    }
  }
};

// Beside the entries of Config, and folders, which may be anything: KUSARI_CACHE_DIR, KUSARI_CUDA_GRAPH_DOT and
// KUSARI_DATASET_ROOT.
constexpr Known kKnown[] = {
    {.variable = "CHAINER_SEED", .kind = Kind::number},
    {.variable = "KUSARI_CONVOLUTION",
     .kind = Kind::choice,
     .names = {"direct", "blocked", "winograd", "im2col", "packed", "depthwise"}},
    {.variable = "KUSARI_CONVOLUTION_SUMS", .kind = Kind::flag},
    {.variable = "KUSARI_CPU_ISA", .kind = Kind::choice, .names = {"v1", "v3", "v4", "v4_vnni", "v4_bf16"}},
    {.variable = "KUSARI_CUDA_GRAPHS", .kind = Kind::flag},
    {.variable = "KUSARI_CUDA_MEMORY_LIMIT", .kind = Kind::number},
    {.variable = "KUSARI_DISTRIBUTED_DEBUG", .kind = Kind::flag},
    {.variable = "KUSARI_DISTRIBUTED_STALL_WARNING", .kind = Kind::number, .low = 1, .high = 1'000'000},
    {.variable = "KUSARI_DISTRIBUTED_TIMEOUT", .kind = Kind::number, .low = 1, .high = 100'000'000},
    {.variable = "KUSARI_FLASH_ATTENTION", .kind = Kind::flag},
    {.variable = "KUSARI_LAYOUT", .kind = Kind::choice, .names = {"nchw", "nhwc"}},
    {.variable = "KUSARI_LOG_LEVEL", .kind = Kind::choice, .names = {"trace", "debug", "info", "warn", "error", "off"}},
    {.variable = "KUSARI_MAX_WORKSPACE_SIZE", .kind = Kind::number},
    {.variable = "KUSARI_MEMORY_POOL", .kind = Kind::flag},
    {.variable = "KUSARI_NORMALIZATION_MASKS", .kind = Kind::flag},
    {.variable = "KUSARI_NORMALIZED_CONVOLUTIONS", .kind = Kind::flag},
    {.variable = "KUSARI_NUM_THREADS", .kind = Kind::number, .low = 1, .high = 4096},
    {.variable = "KUSARI_NVTX", .kind = Kind::flag},
    {.variable = "KUSARI_SEED", .kind = Kind::number},
    {.variable = "KUSARI_STATIC_GRAPH", .kind = Kind::flag},
};

const Known* find(const char* variable) {
  const auto* const found = std::find_if(std::begin(kKnown), std::end(kKnown), [variable](const Known& known) {
    return std::strcmp(known.variable, variable) == 0;
  });
  return found != std::end(kKnown) ? found : nullptr;
}

const Known& known(const char* variable) {
  const Known* const found = find(variable);
  if (found == nullptr) throw KeyError(std::string("environment: '") + variable + "' is not in the list of variables");
  return *found;
}

std::string in_lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool is_of_entry(const std::string& variable, const char* entry) {
  std::string upper = entry;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return variable == "KUSARI_" + upper || variable == "CHAINER_" + upper;
}

std::optional<size_t> place(const std::string& value, std::span<const char* const> names) {
  const auto found = std::find(names.begin(), names.end(), value);
  return found != names.end() ? std::optional(static_cast<size_t>(found - names.begin())) : std::nullopt;
}

[[noreturn]] void throw_bad(const std::string& what, const std::string& value, std::span<const char* const> names) {
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    list += std::string(i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + names[i];
  }
  throw ValueError(what + ": '" + value + "' is not " + list);
}

}  // namespace

void parse(const std::string& what, const std::string& value, bool& result) {
  const std::string lower = in_lower_case(value);
  if (lower == "1" || lower == "true" || lower == "on") {
    result = true;
  } else if (lower == "0" || lower == "false" || lower == "off") {
    result = false;
  } else {
    throw_bad(what, value, std::array{"0", "1"});
  }
}

void parse(const std::string& what, const std::string& value, Use& result) {
  constexpr Use kUses[] = {Use::always, Use::automatic, Use::never};
  result = kUses[parse_choice(what, value, std::array{"always", "auto", "never"})];
}

void parse(const std::string& what, const std::string& value, DtypePolicy& result) {
  constexpr DtypePolicy kPolicies[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32,
                                       Dtype::float64, mixed16,         mixed_bf16};
  constexpr std::array kNames = {"float16", "bfloat16", "float32", "float64", "mixed16", "mixed_bf16"};
  const std::optional<size_t> i = place(in_lower_case(value), kNames);
  if (!i) throw_bad(what, value, kNames);
  result = kPolicies[*i];
}

uint64_t parse_number(const std::string& what, const std::string& value, uint64_t low, uint64_t high) {
  uint64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error == std::errc() && stop == end && number >= low && number <= high) return number;
  throw ValueError(what + ": '" + value + "' is not a whole number from " + std::to_string(low) + " to " +
                   std::to_string(high));
}

size_t parse_choice(const std::string& what, const std::string& value, std::span<const char* const> names) {
  const std::optional<size_t> i = place(value, names);
  if (!i) throw_bad(what, value, names);
  return *i;
}

const char* value(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? nullptr : text;
}

std::optional<bool> flag(const char* variable) {
  const char* const text = value(known(variable).variable);
  if (text == nullptr) return std::nullopt;
  bool result;
  parse(variable, text, result);
  return result;
}

std::optional<uint64_t> number(const char* variable) {
  const char* const text = value(variable);
  if (text == nullptr) return std::nullopt;
  return parse_number(variable, text, known(variable).low, known(variable).high);
}

std::optional<std::string> choice(const char* variable) {
  const char* const text = value(variable);
  if (text == nullptr) return std::nullopt;
  const auto names = known(variable).choices();
  return names[parse_choice(variable, text, names)];
}

void check() {
  for (const Known& known : kKnown) {
    if (const char* const text = value(known.variable)) known.check(text);
  }
}

bool check(const std::string& variable, const std::string& value) {
  if (const Known* const known = find(variable.c_str())) {
    if (!value.empty()) known->check(value);
    return true;
  }
  bool is_entry = false;
  global_config().for_each([&]<class T>(const char* entry, const Setting<T>& setting) {
    if (!is_of_entry(variable, entry)) return;
    T ignored = setting.get();
    if (!value.empty()) parse(variable, value, ignored);
    is_entry = true;
  });
  return is_entry;
}

}  // namespace kusari::environment
