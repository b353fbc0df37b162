#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/kernels/axis_mask.h"

namespace kusari {

/// The options of one call of a function, by name and in order: what FunctionNode::describe() tells of a node, for
/// exporters, drawings of graphs and messages.
class KUSARI_API Attributes {
 public:
  using Value = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>, std::vector<double>, Array>;
  struct Entry {
    std::string name;
    Value value;
  };

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries);

  /// Adds an option, or replaces the one of that name.
  void set(std::string_view name, Value value);
  template <std::integral T>
  void set(std::string_view name, T value) {
    if constexpr (std::same_as<T, bool>) {
      set_boolean(name, value);
    } else {
      set_integer(name, static_cast<int64_t>(value));
    }
  }
  void set(std::string_view name, double value);
  void set(std::string_view name, const char* value);
  void set(std::string_view name, const std::string& value);
  void set(std::string_view name, const Dims& value);
  /// The axes in it, in order.
  void set(std::string_view name, AxisMask axes);
  void set(std::string_view name, const Array& value);
  void set(std::string_view name, Dtype value);
  void set(std::string_view name, Scalar value);
  /// Nothing when there is none.
  template <class T>
  void set(std::string_view name, const std::optional<T>& value) {
    if (value) set(name, *value);
  }

  bool has(std::string_view name) const noexcept { return find(name) != nullptr; }
  /// Null when there is no such option.
  const Value* find(std::string_view name) const noexcept;
  /// The value of an option. Throw KeyError listing what there is, TypeError when it is of another kind.
  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  bool boolean(std::string_view name) const { return get<bool>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  const std::vector<int64_t>& integers(std::string_view name) const { return get<std::vector<int64_t>>(name); }
  const std::vector<double>& reals(std::string_view name) const { return get<std::vector<double>>(name); }
  const Array& array(std::string_view name) const { return get<Array>(name); }

  bool empty() const noexcept { return size() == 0; }
  size_t size() const noexcept;
  std::vector<Entry>::const_iterator begin() const noexcept { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const noexcept { return entries_.end(); }

 private:
  void set_boolean(std::string_view name, bool value);
  void set_integer(std::string_view name, int64_t value);
  template <class T>
  const T& get(std::string_view name) const;

  std::vector<Entry> entries_;
};

/// "axis=1, keepdims=False": Python's spelling; of an array its dtype and shape.
KUSARI_API std::string to_string(const Attributes& attributes);
KUSARI_API std::string to_string(const Attributes::Value& value);

}  // namespace kusari
