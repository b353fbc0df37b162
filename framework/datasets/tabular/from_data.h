#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/tabular/tabular_dataset.h"

namespace kusari::datasets {

/// Where the values of a column, or of several, come from: `{"a", array}`, `{"b", rows}` with an array for each row,
/// `{"c", [](int64_t i) { return array(i * i); }}`, `{{"d", "e"}, [](int64_t i) { return Example{...}; }}`.
class ColumnSource {
 public:
  ColumnSource(std::string name, Column column) : names_{std::move(name)}, column_{std::move(column)} {}
  ColumnSource(std::string name, const Array& whole) : ColumnSource(std::move(name), Column(whole)) {}
  ColumnSource(std::string name, std::vector<Array> rows) : ColumnSource(std::move(name), Column(std::move(rows))) {}
  template <class F>
  requires std::is_invocable_r_v<Array, const F&, int64_t> ColumnSource(std::string name, F function)
      : names_{std::move(name)}, function_{[f = std::move(function)](int64_t i) { return Example{f(i)}; }} {}
  ColumnSource(Keys names, Callable<Example(int64_t)> function)
      : names_{std::move(names)}, function_{std::move(function)} {}

 private:
  friend KUSARI_API TabularView from_data(std::vector<ColumnSource> sources, std::optional<int64_t> size);

  Keys names_;
  std::optional<Column> column_;  // none: the function's
  Callable<Example(int64_t)> function_;
};

/// A table of these columns, which it owns. `size`: the number of rows, which must be given where there is no column
/// but functions; they are called when rows are asked for, by several threads at once. Throws ValueError without
/// columns, when sizes differ or none is known, and for a name that comes twice. chainer.dataset.tabular.from_data.
KUSARI_API TabularView from_data(std::vector<ColumnSource> sources, std::optional<int64_t> size = std::nullopt);

}  // namespace kusari::datasets
