#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"

namespace kusari {

/// `config.dtype`: the dtype of new parameters and of the floating arrays that converters hand to a model. The mixed
/// policies are 16-bit with float32 normalization parameters and statistics.
class DtypePolicy {
 public:
  constexpr DtypePolicy(Dtype dtype) noexcept : dtype_{dtype} {}
  static constexpr DtypePolicy mixed(Dtype half) noexcept {
    DtypePolicy policy(half);
    policy.mixed_ = true;
    return policy;
  }
  constexpr Dtype dtype() const noexcept { return dtype_; }
  constexpr bool is_mixed() const noexcept { return mixed_; }
  friend constexpr bool operator==(DtypePolicy, DtypePolicy) noexcept = default;

 private:
  Dtype dtype_;
  bool mixed_ = false;
};
inline constexpr DtypePolicy mixed16 = DtypePolicy::mixed(Dtype::float16);
inline constexpr DtypePolicy mixed_bf16 = DtypePolicy::mixed(Dtype::bfloat16);

/// always / auto / never of the cuDNN settings.
enum class Use : uint8_t { always, automatic, never };

/// One entry of a Config: a value, or for a thread's Config "whatever the global one says". Reads and assigns like T.
template <class T>
class Setting {
 public:
  Setting(T value) : value_{std::move(value)}, is_set_{true} {}
  Setting(const Setting& other) = default;
  Setting& operator=(const Setting& other) { return *this = other.get(); }
  Setting& operator=(T value) {
    value_ = std::move(value);
    is_set_ = true;
    return *this;
  }
  const T& get() const noexcept { return is_set_ || fallback_ == nullptr ? value_ : fallback_->value_; }
  operator const T&() const noexcept { return get(); }
  /// Back to the global value; no effect on the global Config itself.
  void reset() noexcept {
    if (fallback_ != nullptr) is_set_ = false;
  }
  /// This thread's own value, if it has one.
  std::optional<T> own() const { return is_set_ ? std::optional<T>(value_) : std::nullopt; }
  void restore(const std::optional<T>& value) {
    is_set_ = value.has_value() || fallback_ == nullptr;
    if (value) value_ = *value;
  }

 private:
  friend class Config;
  void fall_back_to(const Setting& global) {
    fallback_ = &global;
    is_set_ = false;
  }

  T value_;
  bool is_set_;
  const Setting* fallback_ = nullptr;
};

/// Everything that changes how functions behave without being their argument. Names, defaults and the two levels are
/// Chainer's; a KUSARI_<NAME> environment variable (or CHAINER_<NAME>) sets the global value at the start.
class KUSARI_API Config {
 public:
  Setting<bool> autotune{false};
  Setting<bool> cudnn_deterministic{false};
  Setting<bool> cudnn_fast_batch_normalization{false};
  Setting<bool> debug{false};
  Setting<DtypePolicy> dtype{Dtype::float32};
  Setting<bool> enable_backprop{true};
  Setting<bool> in_recomputing{false};
  Setting<bool> keep_graph_on_report{false};
  Setting<bool> save_memory{false};  ///< normalizations and their ReLU are computed again in backward, not kept
  Setting<bool> train{true};
  Setting<bool> type_check{true};
  Setting<Use> use_cudnn{Use::automatic};
  Setting<Use> use_cudnn_tensor_core{Use::automatic};
  Setting<bool> use_static_graph{true};
  Setting<bool> use_tf32{true};
  Setting<bool> warn_nondeterministic{false};
  Setting<bool> channels_last{true};  ///< false: KUSARI_LAYOUT=nchw, the debugging layout

  /// The values as Chainer prints them: sorted names, padded, one blank, the value.
  std::string show() const;
  /// A number that differs where any value differs.
  uint64_t signature() const noexcept;
  /// Calls visit(name, setting) for each entry, names sorted.
  template <class Visitor>
  void for_each(Visitor&& visit) {
    visit("autotune", autotune);
    visit("channels_last", channels_last);
    visit("cudnn_deterministic", cudnn_deterministic);
    visit("cudnn_fast_batch_normalization", cudnn_fast_batch_normalization);
    visit("debug", debug);
    visit("dtype", dtype);
    visit("enable_backprop", enable_backprop);
    visit("in_recomputing", in_recomputing);
    visit("keep_graph_on_report", keep_graph_on_report);
    visit("save_memory", save_memory);
    visit("train", train);
    visit("type_check", type_check);
    visit("use_cudnn", use_cudnn);
    visit("use_cudnn_tensor_core", use_cudnn_tensor_core);
    visit("use_static_graph", use_static_graph);
    visit("use_tf32", use_tf32);
    visit("warn_nondeterministic", warn_nondeterministic);
  }

 private:
  friend KUSARI_API Config& config();
  friend KUSARI_API Config& global_config();
  friend class ConfigSnapshot;
  Config() = default;
  void read_environment();
  void fall_back_to(Config& global);
};

/// The process-wide values. Set them before starting threads.
KUSARI_API Config& global_config();
/// This thread's values; what it has not set falls through to global_config().
KUSARI_API Config& config();

/// Sets an entry of this thread's Config for the object's life:
/// `const auto guard = using_config(&Config::train, false);`
template <class T>
class ScopedSetting {
 public:
  ScopedSetting(Setting<T> Config::*entry, T value) : entry_{&(config().*entry)}, previous_{entry_->own()} {
    *entry_ = std::move(value);
  }
  ScopedSetting(const ScopedSetting&) = delete;
  ScopedSetting& operator=(const ScopedSetting&) = delete;
  ~ScopedSetting() { entry_->restore(previous_); }

 private:
  Setting<T>* entry_;
  std::optional<T> previous_;
};
template <class T>
[[nodiscard]] ScopedSetting<T> using_config(Setting<T> Config::*entry, std::type_identity_t<T> value) {
  return ScopedSetting<T>(entry, std::move(value));
}
/// No graph is recorded while the result lives.
[[nodiscard]] inline ScopedSetting<bool> no_backprop_mode() { return using_config(&Config::enable_backprop, false); }
/// A graph is recorded even inside no_backprop_mode().
[[nodiscard]] inline ScopedSetting<bool> force_backprop_mode() { return using_config(&Config::enable_backprop, true); }

/// A thread's own settings, to be installed in the threads that it starts.
class KUSARI_API ConfigSnapshot {
 public:
  /// Of the calling thread.
  ConfigSnapshot();
  /// Gives the calling thread the same settings.
  void install() const;

 private:
  Config values_;
};

/// The dtype to use: `dtype` if given, else config's; a mixed policy gives its 16-bit dtype, or `mixed` where the
/// caller (a normalization) names another.
KUSARI_API Dtype get_dtype(std::optional<Dtype> dtype = std::nullopt, std::optional<Dtype> mixed = std::nullopt);

}  // namespace kusari
