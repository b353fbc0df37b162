#include "kusari/framework/datasets/tabular/tabular_dataset.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/range_indices.h"

namespace kusari::datasets {
namespace {

using Indices = TabularDataset::Indices;
using Table = std::shared_ptr<const TabularDataset>;
using Numbers = std::vector<int64_t>;

std::optional<Numbers> chosen(const std::optional<Numbers>& from, Indices places) {
  if (!from) return places ? std::optional(Numbers(places->begin(), places->end())) : std::nullopt;
  if (!places) return from;
  Numbers merged;
  for (const int64_t place : *places) merged.push_back((*from)[static_cast<size_t>(place)]);
  return merged;
}

Indices as_indices(const std::optional<Numbers>& numbers) { return numbers ? Indices(*numbers) : std::nullopt; }

/// All of 0 .. count-1, or those that are given.
Numbers listed(Indices places, int64_t count) {
  if (places) return {places->begin(), places->end()};
  Numbers all(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) all[static_cast<size_t>(i)] = i;
  return all;
}

Keys checked_names(const char* call, const Keys& names) {
  if (names.empty()) throw ValueError(std::string(call) + ": no names of columns are given");
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.empty()) throw ValueError(std::string(call) + ": a name is empty");
    if (!seen.insert(name).second) throw ValueError(std::string(call) + ": the name '" + name + "' comes twice");
  }
  return names;
}

/// A table made of another one.
class DerivedTable : public TabularDataset {
 public:
  explicit DerivedTable(Table table) : table_{std::move(table)} {}
  int64_t size() const override { return table_->size(); }
  Keys names() const override { return table_->names(); }
  TabularMode mode() const override { return table_->mode(); }
  Columns get_examples(Indices rows, Indices columns) const override { return table_->get_examples(rows, columns); }
  Example convert(const Columns& columns) const override { return table_->convert(columns); }

 protected:
  Table table_;
};

class ModeTable final : public DerivedTable {
 public:
  ModeTable(Table table, TabularMode mode) : DerivedTable{std::move(table)}, mode_{mode} {}
  TabularMode mode() const override { return mode_; }

 private:
  TabularMode mode_;
};

class SlicedTable final : public DerivedTable {
 public:
  SlicedTable(Table table, std::optional<Numbers> rows, std::optional<Numbers> columns)
      : DerivedTable{std::move(table)}, rows_{std::move(rows)}, columns_{std::move(columns)} {}
  int64_t size() const override { return rows_ ? static_cast<int64_t>(rows_->size()) : table_->size(); }
  Keys names() const override {
    const Keys all = table_->names();
    if (!columns_) return all;
    Keys some;
    for (const int64_t i : *columns_) some.push_back(all[static_cast<size_t>(i)]);
    return some;
  }
  Columns get_examples(Indices rows, Indices columns) const override {
    const std::optional<Numbers> these = chosen(rows_, rows), those = chosen(columns_, columns);
    return table_->get_examples(as_indices(these), as_indices(those));
  }

 private:
  std::optional<Numbers> rows_, columns_;
};

class ConcatenatedTable final : public DerivedTable {
 public:
  explicit ConcatenatedTable(std::vector<Table> tables) : DerivedTable{tables.front()}, tables_{std::move(tables)} {
    for (const Table& table : tables_) {
      if (table->names() != tables_.front()->names()) {
        throw ValueError("TabularDataset::concat: the tables have columns of different names");
      }
      begins_.push_back(size_);
      size_ += table->size();
    }
  }
  int64_t size() const override { return size_; }
  Columns get_examples(Indices rows, Indices columns) const override {
    const Numbers wanted = listed(rows, size_);
    const size_t width = columns ? columns->size() : names().size();
    std::vector<std::vector<Array>> found(width, std::vector<Array>(wanted.size()));
    for (size_t t = 0; t < tables_.size(); ++t) {
      Numbers inside, places;
      for (size_t i = 0; i < wanted.size(); ++i) {
        const int64_t row = wanted[i] - begins_[t];
        if (row < 0 || row >= tables_[t]->size()) continue;
        inside.push_back(row);
        places.push_back(static_cast<int64_t>(i));
      }
      if (inside.empty()) continue;
      const Columns part = tables_[t]->get_examples(Indices(inside), columns);
      for (size_t c = 0; c < width; ++c) {
        for (size_t i = 0; i < places.size(); ++i) {
          found[c][static_cast<size_t>(places[i])] = part[c][static_cast<int64_t>(i)];
        }
      }
    }
    Columns all;
    for (std::vector<Array>& column : found) all.emplace_back(std::move(column));
    return all;
  }

 private:
  std::vector<Table> tables_;
  Numbers begins_;
  int64_t size_ = 0;
};

class JoinedTable final : public DerivedTable {
 public:
  explicit JoinedTable(std::vector<Table> tables) : DerivedTable{tables.front()}, tables_{std::move(tables)} {
    for (const Table& table : tables_) {
      if (table->size() != size()) {
        throw ValueError("TabularDataset::join: the tables have " + std::to_string(size()) + " and " +
                         std::to_string(table->size()) + " rows: the numbers must be equal");
      }
      begins_.push_back(static_cast<int64_t>(names_.size()));
      for (const std::string& name : table->names()) names_.push_back(name);
    }
    checked_names("TabularDataset::join", names_);
  }
  Keys names() const override { return names_; }
  Columns get_examples(Indices rows, Indices columns) const override {
    const Numbers wanted = listed(columns, static_cast<int64_t>(names_.size()));
    std::vector<std::optional<Column>> found(wanted.size());
    for (size_t t = 0; t < tables_.size(); ++t) {
      const auto width = static_cast<int64_t>(tables_[t]->names().size());
      Numbers inside, places;
      for (size_t i = 0; i < wanted.size(); ++i) {
        const int64_t column = wanted[i] - begins_[t];
        if (column < 0 || column >= width) continue;
        inside.push_back(column);
        places.push_back(static_cast<int64_t>(i));
      }
      if (inside.empty()) continue;
      Columns part = tables_[t]->get_examples(rows, Indices(inside));
      for (size_t i = 0; i < places.size(); ++i) found[static_cast<size_t>(places[i])] = std::move(part[i]);
    }
    Columns all;
    for (std::optional<Column>& column : found) all.push_back(std::move(*column));
    return all;
  }

 private:
  std::vector<Table> tables_;
  Keys names_;
  Numbers begins_;
};

class TransformedTable final : public DerivedTable {
 public:
  TransformedTable(Table table, Keys names, Callable<Example(const Example&)> function)
      : DerivedTable{std::move(table)}, names_{std::move(names)}, function_{std::move(function)} {}
  Keys names() const override { return names_; }
  Columns get_examples(Indices rows, Indices columns) const override {
    const Columns in = table_->get_examples(rows, std::nullopt);
    const int64_t count = rows ? static_cast<int64_t>(rows->size()) : size();
    const Numbers wanted = listed(columns, static_cast<int64_t>(names_.size()));
    std::vector<std::vector<Array>> out(wanted.size());
    for (int64_t i = 0; i < count; ++i) {
      Example example;
      for (const Column& column : in) example.push_back(column[i]);
      const Example made = function_(example);
      if (made.size() != names_.size()) {
        throw ValueError("TabularDataset::transform: the function gives " + std::to_string(made.size()) +
                         " arrays for " + std::to_string(names_.size()) + " columns");
      }
      for (size_t c = 0; c < wanted.size(); ++c) out[c].push_back(made[static_cast<size_t>(wanted[c])]);
    }
    Columns all;
    for (std::vector<Array>& column : out) all.emplace_back(std::move(column));
    return all;
  }

 private:
  Keys names_;
  Callable<Example(const Example&)> function_;
};

class BatchTransformedTable final : public DerivedTable {
 public:
  BatchTransformedTable(Table table, Keys names, Callable<Columns(const Columns&)> function)
      : DerivedTable{std::move(table)}, names_{std::move(names)}, function_{std::move(function)} {}
  Keys names() const override { return names_; }
  Columns get_examples(Indices rows, Indices columns) const override {
    const int64_t count = rows ? static_cast<int64_t>(rows->size()) : size();
    const Columns made = function_(table_->get_examples(rows, std::nullopt));
    if (made.size() != names_.size()) {
      throw ValueError("TabularDataset::transform_batch: the function gives " + std::to_string(made.size()) +
                       " columns: it must give " + std::to_string(names_.size()));
    }
    Columns all;
    for (const int64_t c : listed(columns, static_cast<int64_t>(names_.size()))) {
      const Column& column = made[static_cast<size_t>(c)];
      if (column.size() != count) {
        throw ValueError("TabularDataset::transform_batch: the function gives " + std::to_string(column.size()) +
                         " rows of " + std::to_string(count) + " in '" + names_[static_cast<size_t>(c)] + "'");
      }
      all.push_back(column);
    }
    return all;
  }

 private:
  Keys names_;
  Callable<Columns(const Columns&)> function_;
};

class ConvertedTable final : public DerivedTable {
 public:
  ConvertedTable(Table table, Callable<Example(const Columns&)> function)
      : DerivedTable{std::move(table)}, function_{std::move(function)} {}
  Example convert(const Columns& columns) const override { return function_(columns); }

 private:
  Callable<Example(const Columns&)> function_;
};

template <class T, class... Args>
TabularView view_of(Args&&... args) {
  return TabularView(std::make_shared<const T>(std::forward<Args>(args)...));
}

}  // namespace

std::optional<std::vector<int64_t>> RowSelection::indices(const char* call, int64_t size) const {
  if (kind_ == Kind::all) return std::nullopt;
  if (kind_ == Kind::range) return range_indices(call, range_, size);
  std::vector<int64_t> chosen_rows;
  if (kind_ == Kind::mask) {
    if (static_cast<int64_t>(mask_.size()) != size) {
      throw ValueError(std::string(call) + ": the mask has " + std::to_string(mask_.size()) +
                       " entries: it must have one for each of the " + std::to_string(size) + " rows");
    }
    for (int64_t i = 0; i < size; ++i) {
      if (mask_[static_cast<size_t>(i)]) chosen_rows.push_back(i);
    }
    return chosen_rows;
  }
  for (const int64_t i : indices_) {
    const int64_t row = i < 0 ? i + size : i;
    if (row < 0 || row >= size) {
      throw IndexError(std::string(call) + ": row " + std::to_string(i) + " is out of range: there are " +
                       std::to_string(size));
    }
    chosen_rows.push_back(row);
  }
  return chosen_rows;
}

Example TabularDataset::convert(const Columns& columns) const {
  Example arrays;
  for (const Column& column : columns) arrays.push_back(column.stacked());
  return arrays;
}

Example TabularDataset::get(int64_t i) const {
  check_index("TabularDataset::get", i, size());
  Example example;
  for (const Column& column : get_examples(std::span<const int64_t>(&i, 1), std::nullopt)) example.push_back(column[0]);
  return example;
}

TabularView TabularDataset::astuple() const { return view_of<ModeTable>(shared(), TabularMode::tuple); }
TabularView TabularDataset::asdict() const { return view_of<ModeTable>(shared(), TabularMode::dict); }

TabularView TabularDataset::slice(const RowSelection& rows, const std::optional<Keys>& columns) const {
  std::optional<Numbers> places;
  if (columns) {
    const Keys all = checked_names("TabularDataset", names());
    places.emplace();
    for (const std::string& name : *columns) {
      const auto found = std::find(all.begin(), all.end(), name);
      if (found == all.end()) {
        std::string message = "TabularDataset::slice: there is no column '" + name + "', only";
        for (const std::string& known : all) message += " '" + known + "'";
        throw KeyError(message);
      }
      places->push_back(found - all.begin());
    }
  }
  return view_of<SlicedTable>(shared(), rows.indices("TabularDataset::slice", size()), std::move(places));
}

TabularView TabularDataset::concat(const std::vector<TabularView>& tables) const {
  std::vector<Table> all{shared()};
  for (const TabularView& table : tables) all.push_back(table.shared());
  return view_of<ConcatenatedTable>(std::move(all));
}

TabularView TabularDataset::join(const std::vector<TabularView>& tables) const {
  std::vector<Table> all{shared()};
  for (const TabularView& table : tables) all.push_back(table.shared());
  return view_of<JoinedTable>(std::move(all));
}

TabularView TabularDataset::transform(const Keys& names, Callable<Example(const Example&)> function) const {
  return view_of<TransformedTable>(shared(), checked_names("TabularDataset::transform", names),
                                   argument::callable("TabularDataset::transform", "function", std::move(function)));
}

TabularView TabularDataset::transform_batch(const Keys& names, Callable<Columns(const Columns&)> function) const {
  return view_of<BatchTransformedTable>(
      shared(), checked_names("TabularDataset::transform_batch", names),
      argument::callable("TabularDataset::transform_batch", "function", std::move(function)));
}

TabularView TabularDataset::with_converter(Callable<Example(const Columns&)> function) const {
  return view_of<ConvertedTable>(shared(),
                                 argument::callable("TabularDataset::with_converter", "function", std::move(function)));
}

TabularView::TabularView(std::shared_ptr<const TabularDataset> table) : table_{std::move(table)} {
  if (!table_) throw ValueError("TabularView: there is no table");
}

}  // namespace kusari::datasets
