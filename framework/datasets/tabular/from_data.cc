#include "kusari/framework/datasets/tabular/from_data.h"

#include <memory>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"

namespace kusari::datasets {
namespace {

class ColumnTable final : public TabularDataset {
 public:
  ColumnTable(Keys names, Column column) : names_{std::move(names)}, column_{std::move(column)} {}
  int64_t size() const override { return column_.size(); }
  Keys names() const override { return names_; }
  Columns get_examples(Indices rows, Indices columns) const override {
    return Columns(columns ? columns->size() : 1, rows ? column_.take(*rows) : column_);
  }

 private:
  Keys names_;
  Column column_;
};

/// The numbers of the rows.
class IndexTable final : public TabularDataset {
 public:
  explicit IndexTable(int64_t size) : size_{size} {}
  int64_t size() const override { return size_; }
  Keys names() const override { return {"index"}; }
  Columns get_examples(Indices rows, Indices columns) const override {
    std::vector<Array> numbers;
    const int64_t count = rows ? static_cast<int64_t>(rows->size()) : size_;
    for (int64_t i = 0; i < count; ++i)
      numbers.push_back(array<int64_t>({rows ? (*rows)[static_cast<size_t>(i)] : i}, Shape{}));
    return Columns(columns ? columns->size() : 1, Column(std::move(numbers)));
  }

 private:
  int64_t size_;
};

}  // namespace

TabularView from_data(std::vector<ColumnSource> sources, std::optional<int64_t> size) {
  if (sources.empty()) throw ValueError("from_data: no columns are given");
  if (size) argument::not_negative("from_data", "size", *size);
  for (const ColumnSource& source : sources) {
    if (source.column_ && !size) size = source.column_->size();
  }
  if (!size) throw ValueError("from_data: the columns are functions: give the size");
  std::vector<TabularView> tables;
  for (ColumnSource& source : sources) {
    if (source.column_) {
      tables.emplace_back(std::make_shared<const ColumnTable>(source.names_, *std::move(source.column_)));
      continue;
    }
    const TabularView rows(std::make_shared<const IndexTable>(*size));
    auto function = argument::callable("from_data", "a column's function", std::move(source.function_));
    tables.push_back(rows.transform(
        source.names_, [f = std::move(function)](const Example& row) { return f(row[0].item<int64_t>()); }));
  }
  const TabularView first = tables.front();
  if (first.size() != *size) {
    throw ValueError("from_data: the first column has " + std::to_string(first.size()) + " rows: it must have " +
                     std::to_string(*size));
  }
  tables.erase(tables.begin());
  return first.join(tables);
}

}  // namespace kusari::datasets
