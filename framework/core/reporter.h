#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/shared.h"

namespace kusari {

class Variable;

/// One argument of report(): {"loss", loss}, {"grad_norm", 1.5}, {"accuracy", accuracy, weight}. A view: it lives no
/// longer than the call.
class Reported {
 public:
  Reported(std::string_view key, const Array& value, double value_weight = 1)
      : name{key}, array{&value}, weight{value_weight} {}
  template <class T>
  requires std::is_arithmetic_v<T> Reported(std::string_view key, T value, double value_weight = 1)
      : name{key}, number{static_cast<double>(value)}, weight{value_weight} {}
  /// A Variable: its array, and its graph where config.keep_graph_on_report says so.
  template <class V>
  requires requires(const V& v) {
    { v.array() } -> std::same_as<const Array&>;
    { v.is_defined() } -> std::convertible_to<bool>;
  }
  Reported(std::string_view key, const V& value, double value_weight = 1)
      : name{key},
        array{value.is_defined() ? &value.array() : nullptr},
        is_absent{!value.is_defined()},
        weight{value_weight},
        variable{&value},
        keep{&keep_variable<V>} {}

  std::string_view name;
  const Array* array = nullptr;  // null: `number` is the value
  double number = 0;
  bool is_absent = false;  // an undefined Variable
  double weight = 1;
  const void* variable = nullptr;  ///< what `array` was taken from, for `keep`
  /// Holds on to `variable` with its graph.
  Shared<const Variable> (*keep)(const void* variable) = nullptr;

 private:
  template <class V>
  static Shared<const Variable> keep_variable(const void* variable) {
    if constexpr (std::is_same_v<Variable, V> || std::is_base_of_v<Variable, V>) {
      using Kept = std::conditional_t<std::is_same_v<Variable, V>, V, Variable>;
      return std::make_shared<Kept>(static_cast<const Kept&>(*static_cast<const V*>(variable)));
    } else {
      return nullptr;
    }
  }
};

/// A reported number, or an array whose number is read when it is asked for.
class KUSARI_API ObservedValue {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> ObservedValue(T value, double weight = 1)
  noexcept : number_{static_cast<double>(value)}, weight_{weight} {}
  explicit ObservedValue(Array array, double weight = 1) noexcept : array_{std::move(array)}, weight_{weight} {}

  /// A number or a 0-d array. Others are kept but neither averaged nor logged.
  bool is_scalar() const noexcept { return !array_.is_defined() || array_.ndim() == 0; }
  /// Waits for the device. Throws TypeError for an array that is not 0-d.
  double value() const;
  double weight() const noexcept { return weight_; }
  /// Undefined for a number.
  const Array& array() const noexcept { return array_; }
  /// What was reported, with its graph; null unless config.keep_graph_on_report was on when the report's scope began.
  const Variable* variable() const noexcept { return variable_.get(); }
  void keep(Shared<const Variable> variable) noexcept { variable_ = std::move(variable); }

 private:
  Array array_;
  Shared<const Variable> variable_;
  double number_ = 0;
  double weight_ = 1;
};

/// Reported values under their full names, in the order in which the names appeared. What a Python dict is to Chainer.
class KUSARI_API Observation {
 public:
  using Entry = std::pair<std::string, ObservedValue>;

  /// Adds a value or replaces the one of that name.
  void set(std::string_view key, ObservedValue value) { set({}, key, std::move(value)); }
  /// The same for the name `prefix` + `key`.
  void set(std::string_view prefix, std::string_view key, ObservedValue value);
  bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }
  /// Null when nothing was reported under that name.
  const ObservedValue* find(std::string_view key) const noexcept;
  /// The number under that name. Throws KeyError, naming what there is, when it is missing.
  double at(std::string_view key) const;

  size_t size() const noexcept { return entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }
  void clear() noexcept { entries_.clear(); }
  std::vector<Entry>::const_iterator begin() const noexcept { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const noexcept { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

class Reporter;

/// Observers that may move in memory, such as a model and the links inside it.
class KUSARI_API ObserverSource {
 public:
  virtual ~ObserverSource();
  /// Another number whenever the observers may have moved, come or gone.
  virtual uint64_t version() const = 0;
  /// Calls reporter.add_observer for each.
  virtual void add_observers(Reporter& reporter) const = 0;
};

/// Makes a reporter current in this thread, with `observation` as the place for what is reported; the destructor puts
/// the previous ones back. Scopes end in the reverse order of their beginning, in the thread that began them.
class KUSARI_API ReportScope {
 public:
  ReportScope(Reporter& reporter, Observation& observation) noexcept;
  /// Another place for what the current reporter is told. Throws StateError when none is current.
  explicit ReportScope(Observation& observation);
  ReportScope(const ReportScope&) = delete;
  ReportScope& operator=(const ReportScope&) = delete;
  ~ReportScope();

 private:
  Reporter* reporter_;
  Reporter* previous_reporter_;
  Observation* previous_observation_;
  bool previous_keeps_graphs_;
};

/// Gathers the values that links and other observers report while it is current: a value `key` of an observer
/// registered as `name` is kept as "name/key". chainer.Reporter.
class KUSARI_API Reporter {
 public:
  Reporter() = default;
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  /// Registers the object at `observer`; the address is its identity.
  void add_observer(const std::string& name, const void* observer);
  template <class T>
  requires std::is_polymorphic_v<T>
  void add_observer(const std::string& name, const T& observer) {
    add_observer(name, dynamic_cast<const void*>(&observer));
  }
  /// Registers what the source names, again whenever it moved.
  void add_observers(std::unique_ptr<ObserverSource> source);

  /// Registers what `other` knows. Of each pair, `second` gets the name that `first` has there: a copy of a model then
  /// reports under the names of the model.
  void add_observers(Reporter& other, std::span<const std::pair<const void*, const void*>> copies);
  /// Another number, for all reporters, whenever observers were registered or may have moved.
  uint64_t observers_version();

  /// Throws KeyError when the observer is not registered, ValueError for an undefined value.
  void report(std::initializer_list<Reported> values, const void* observer = nullptr);
  /// `const auto scope = reporter.scope(observation);`
  [[nodiscard]] ReportScope scope(Observation& observation) noexcept { return ReportScope(*this, observation); }
  /// Where values go now: the innermost scope's observation.
  Observation& observation() noexcept { return *observation_; }

 private:
  friend class ReportScope;
  struct Name {
    const void* observer;
    std::string prefix;  // the name and '/'
  };
  struct Source {
    Owned<ObserverSource> source;
    uint64_t version;  // when `names_` was made
  };

  const std::string* find(const void* observer) noexcept;
  bool sources_moved() const;
  void register_sources();

  std::vector<Name> own_names_;  // added by add_observer
  std::vector<Name> names_;      // of the sources
  std::vector<Source> sources_;
  bool registering_ = false;
  uint64_t version_ = 0;
  Observation* observation_ = &outside_;
  Observation outside_;
  // Asked when a scope begins: an updater whose optimizers share graphs turns the setting on for itself.
  bool keeps_graphs_ = false;
};

/// The reporter of the innermost scope in this thread; null outside.
KUSARI_API Reporter* get_current_reporter() noexcept;

/// Reports values to the current reporter, under the name of `observer` if one is given:
/// `report({{"loss", loss}, {"accuracy", accuracy}}, *this);` in a link. Does nothing when no reporter is current.
/// chainer.report.
KUSARI_API void report(std::initializer_list<Reported> values, const void* observer = nullptr);
template <class T>
requires std::is_polymorphic_v<T>
void report(std::initializer_list<Reported> values, const T& observer) {
  report(values, dynamic_cast<const void*>(&observer));
}
/// `const auto scope = report_scope(observation);` chainer.report_scope.
[[nodiscard]] inline ReportScope report_scope(Observation& observation) { return ReportScope(observation); }

}  // namespace kusari
