#include "kusari/framework/core/config.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/thread_owned.h"

namespace kusari {
namespace {

std::string text(bool value) { return value ? "True" : "False"; }
std::string text(Use value) { return value == Use::always ? "always" : value == Use::never ? "never" : "auto"; }
std::string text(DtypePolicy value) {
  if (!value.is_mixed()) return name(value.dtype());
  return value == mixed16 ? "mixed16" : "mixed_bf16";
}

}  // namespace

void Config::read_environment() {
  for_each([](const char* entry, auto& setting) {
    std::string upper = entry;
    std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
    for (const char* prefix : {"KUSARI_", "CHAINER_"}) {
      const std::string variable = prefix + upper;
      if (const char* value = environment::value(variable.c_str())) {
        auto parsed = setting.get();
        environment::parse(variable, value, parsed);
        setting = parsed;
        break;
      }
    }
  });
  if (const auto layout = environment::choice("KUSARI_LAYOUT")) channels_last = *layout == "nhwc";
  environment::check();  // here, where it can be caught, and not in the middle of a run
}

void Config::fall_back_to(Config& global) {
  std::vector<void*> entries;
  global.for_each([&](const char*, auto& setting) { entries.push_back(&setting); });
  size_t i = 0;
  for_each([&]<class T>(const char*, Setting<T>& setting) {
    setting.fall_back_to(*static_cast<Setting<T>*>(entries[i++]));
  });
}

std::string Config::show() const {
  std::vector<std::pair<std::string, std::string>> rows;
  size_t width = 0;
  const_cast<Config*>(this)->for_each([&](const char* entry, const auto& setting) {
    rows.emplace_back(entry, text(setting.get()));
    width = std::max(width, rows.back().first.size());
  });
  std::string result;
  for (const auto& [entry, value] : rows) result += entry + std::string(width - entry.size() + 1, ' ') + value + "\n";
  return result;
}

namespace {

// Appends a digit of the radix that the type needs.
void append(uint64_t& digits, bool value) noexcept { digits = digits * 2 + value; }
void append(uint64_t& digits, Use value) noexcept { digits = digits * 3 + static_cast<uint64_t>(value); }
void append(uint64_t& digits, DtypePolicy value) noexcept {
  digits = digits * 64 + static_cast<uint64_t>(value.dtype()) * 2 + static_cast<uint64_t>(value.is_mixed());
}

}  // namespace

uint64_t Config::signature() const noexcept {
  uint64_t result = 0;
  const_cast<Config*>(this)->for_each([&](const char*, const auto& setting) { append(result, setting.get()); });
  return result;
}

namespace {

template <class T>
constinit Lazy<T> global;  // outlives every static object that may read it

}  // namespace

Config& global_config() {
  struct Global : Config {
    Global() { read_environment(); }
  };
  return *global<Global>;
}

Config& config() {
  struct Local : Config {
    Local() { fall_back_to(global_config()); }
  };
  static constinit thread_local Local* local __attribute__((tls_model("initial-exec"))) = nullptr;
  return detail::thread_owned(local);
}

ConfigSnapshot::ConfigSnapshot() : values_{config()} {}

void ConfigSnapshot::install() const {
  Config& local = config();
  std::vector<const void*> entries;
  const_cast<Config&>(values_).for_each([&](const char*, auto& setting) { entries.push_back(&setting); });
  size_t i = 0;
  local.for_each([&]<class T>(const char*, Setting<T>& setting) {
    setting.restore(static_cast<const Setting<T>*>(entries[i++])->own());
  });
}

Dtype get_dtype(std::optional<Dtype> dtype, std::optional<Dtype> mixed) {
  if (dtype) return *dtype;
  const DtypePolicy policy = config().dtype;
  if (!is_floating(policy.dtype())) {
    throw TypeError(std::string("config.dtype is ") + name(policy.dtype()) +
                    " but must be float16, bfloat16, float32, float64, mixed16 or mixed_bf16");
  }
  return policy.is_mixed() && mixed ? *mixed : policy.dtype();
}

}  // namespace kusari
