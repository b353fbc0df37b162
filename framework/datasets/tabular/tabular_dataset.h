#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/framework/datasets/tabular/column.h"

namespace kusari::datasets {

class TabularView;

/// What examples of a table are to iterators and models: tuples, or dictionaries by the names of the columns.
enum class TabularMode : uint8_t { tuple, dict };

/// Which rows a view has: all, a range, indices (negative ones count from the end), or those where a mask is true.
class RowSelection {
 public:
  RowSelection() = default;
  RowSelection(const Range& range) : kind_{Kind::range}, range_{range} {}
  RowSelection(std::vector<int64_t> indices) : kind_{Kind::indices}, indices_{std::move(indices)} {}
  RowSelection(std::vector<bool> mask) : kind_{Kind::mask}, mask_{std::move(mask)} {}
  /// In a table of that size; none: all. Throws IndexError for an index that is out of range, ValueError for a mask of
  /// another length and for step 0.
  KUSARI_API std::optional<std::vector<int64_t>> indices(const char* call, int64_t size) const;

 private:
  enum class Kind : uint8_t { all, range, indices, mask };

  Kind kind_ = Kind::all;
  Range range_;
  std::vector<int64_t> indices_;
  std::vector<bool> mask_;
};

/// A data set whose examples have columns with names, so that columns can be chosen, joined, transformed and read as a
/// whole, without reading the others. Derive from it and give names(), size() and get_examples(); get() and what
/// iterators need follow. Views refer to the data set of which they are made, which must live as long as they; views of
/// views hold them. chainer.dataset.TabularDataset.
class KUSARI_API TabularDataset : public Dataset {
 public:
  /// Indices of rows or of columns, in range; none: all.
  using Indices = std::optional<std::span<const int64_t>>;

  /// Names of the columns, each another. chainer's `keys`, which it has in both modes.
  virtual Keys names() const = 0;
  virtual TabularMode mode() const { return TabularMode::tuple; }
  /// The columns, in the order of `columns`, with the rows in the order of `rows`. Several threads or processes call it
  /// at once.
  virtual Columns get_examples(Indices rows, Indices columns) const = 0;
  /// What a model takes of fetched columns: each stacked, unless with_converter says otherwise. Throws TypeError where
  /// rows of a column differ in shape or dtype.
  virtual Example convert(const Columns& columns) const;

  /// The row. Throws IndexError unless 0 <= i < size().
  Example get(int64_t i) const final;
  /// The names with dictionaries, none with tuples.
  Keys keys() const final { return mode() == TabularMode::dict ? names() : Keys(); }
  /// All rows, column by column.
  Columns fetch() const { return get_examples(std::nullopt, std::nullopt); }

  /// The same table as tuples, and as dictionaries.
  TabularView astuple() const;
  TabularView asdict() const;
  /// Some rows, and some columns in another order perhaps: `table.slice({.stop = 10}, {"image"})`. What is not asked
  /// for is not read. Throws what RowSelection does, and KeyError for a name that there is not.
  TabularView slice(const RowSelection& rows, const std::optional<Keys>& columns = std::nullopt) const;
  /// The rows of these tables behind these. Throws ValueError when the names differ. The mode is this table's, and so
  /// is the converter, as in join.
  TabularView concat(const std::vector<TabularView>& tables) const;
  /// Their columns beside these. Throws ValueError when sizes differ or a name comes twice.
  TabularView join(const std::vector<TabularView>& tables) const;
  /// Columns of these names, made of each example by a function that gives as many arrays; ValueError where it does
  /// not.
  TabularView transform(const Keys& names, Callable<Example(const Example&)> function) const;
  /// The same of whole columns: the function gets all columns of the rows that are asked for, and gives columns of as
  /// many rows; ValueError where it does not.
  TabularView transform_batch(const Keys& names, Callable<Columns(const Columns&)> function) const;
  TabularView with_converter(Callable<Example(const Columns&)> function) const;

 protected:
  TabularDataset() = default;
  TabularDataset(const TabularDataset&) = default;
  TabularDataset& operator=(const TabularDataset&) = default;

 private:
  friend class TabularView;
  /// For views of this one: without owning, but of a view.
  virtual std::shared_ptr<const TabularDataset> shared() const { return {std::shared_ptr<void>(), this}; }
};

/// A table that is held, or referred to, in a value that is cheap to copy: what the methods of TabularDataset and
/// from_data give.
class KUSARI_API TabularView final : public TabularDataset {
 public:
  /// Refers to a table, which must live as long; one given by rvalue is owned.
  TabularView(const TabularDataset& table) : table_{table.shared()} {}
  template <std::derived_from<TabularDataset> D>
  requires(!std::is_const_v<D> && !std::same_as<D, TabularView>)  // binds rvalues only
      TabularView(D&& table)
      : table_{std::make_shared<const D>(std::move(table))} {}
  TabularView(const TabularView&) = default;
  TabularView& operator=(const TabularView&) = default;
  /// Owns it. Throws ValueError for none.
  explicit TabularView(std::shared_ptr<const TabularDataset> table);

  int64_t size() const override { return table_->size(); }
  Keys names() const override { return table_->names(); }
  TabularMode mode() const override { return table_->mode(); }
  Columns get_examples(Indices rows, Indices columns) const override { return table_->get_examples(rows, columns); }
  Example convert(const Columns& columns) const override { return table_->convert(columns); }

 private:
  friend class TabularDataset;
  std::shared_ptr<const TabularDataset> shared() const override { return table_; }

  std::shared_ptr<const TabularDataset> table_;
};

/// A table that is another one, to derive from: what is not overridden is the other's.
/// chainer.dataset.tabular.DelegateDataset.
class KUSARI_API DelegateDataset : public TabularDataset {
 public:
  explicit DelegateDataset(TabularView table) : dataset{std::move(table)} {}

  int64_t size() const override { return dataset.size(); }
  Keys names() const override { return dataset.names(); }
  TabularMode mode() const override { return dataset.mode(); }
  Columns get_examples(Indices rows, Indices columns) const override { return dataset.get_examples(rows, columns); }
  Example convert(const Columns& columns) const override { return dataset.convert(columns); }

  TabularView dataset;
};

}  // namespace kusari::datasets
