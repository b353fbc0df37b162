#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari {

/// Variables with names: what a model is called with whose call operator takes one,
/// `Variable operator()(const DictVariables& batch) { return net(batch["image"]); }`, when the data set has keys. In
/// Chainer these are keyword arguments.
class KUSARI_API DictVariables {
 public:
  using Entry = std::pair<std::string, Variable>;

  DictVariables() = default;
  /// `model(DictVariables{{"x", x}, {"t", t}})`. Throws ValueError for a name that comes twice.
  DictVariables(std::initializer_list<Entry> entries);
  /// Throws ValueError unless there is one key for each variable, and for a name that comes twice.
  DictVariables(std::span<const std::string> keys, std::span<const Variable> variables);

  size_t size() const noexcept { return entries_.size(); }
  bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }
  /// Throws KeyError, naming the keys that there are.
  const Variable& operator[](std::string_view key) const;
  /// All others, in their order. Throws KeyError when there is none of that name.
  DictVariables without(std::string_view key) const;
  /// The variables alone, in the order of the keys.
  Variables values() const;

  auto begin() const noexcept { return entries_.begin(); }
  auto end() const noexcept { return entries_.end(); }

 private:
  const Variable* find(std::string_view key) const noexcept;
  [[noreturn]] void throw_missing(std::string_view key) const;
  void check_keys() const;

  std::vector<Entry> entries_;
};

}  // namespace kusari
