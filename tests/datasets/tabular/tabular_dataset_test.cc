#include "kusari/framework/datasets/tabular/tabular_dataset.h"

#include <atomic>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/tabular/from_data.h"
#include "kusari/iterators/serial_iterator.h"

namespace kusari::datasets {
namespace {

using Numbers = std::vector<double>;

Numbers values(const Column& column) { return column.stacked().to_vector<double>(); }
Numbers row(const Dataset& table, int64_t i) {
  Numbers numbers;
  for (const Array& each : table.get(i)) numbers.push_back(each.item<double>());
  return numbers;
}

/// The example of Chainer's documentation: 4 rows of a, b, c with the numbers 0 .. 11. Counts what is asked for.
class Abc final : public TabularDataset {
 public:
  int64_t size() const override { return 4; }
  Keys names() const override { return {"a", "b", "c"}; }
  Columns get_examples(Indices rows, Indices columns) const override {
    Columns all;
    const std::vector<int64_t> every{0, 1, 2, 3}, each{0, 1, 2};
    for (const int64_t c : columns ? std::vector<int64_t>(columns->begin(), columns->end()) : each) {
      std::vector<float> numbers;
      for (const int64_t r : rows ? std::vector<int64_t>(rows->begin(), rows->end()) : every) {
        numbers.push_back(static_cast<float>(3 * r + c));
        ++reads;
      }
      all.emplace_back(array<float>(numbers));
    }
    return all;
  }
  mutable std::atomic<int> reads{0};
};

TEST_CASE("a table is read by rows and by columns") {
  const Abc table;
  CHECK(row(table, 1) == Numbers{3, 4, 5});
  CHECK_THROWS_WITH_AS(table.get(4), doctest::Contains("TabularDataset::get: index 4 is out of range"), IndexError);
  CHECK(table.keys().empty());
  const Columns all = table.fetch();
  REQUIRE(all.size() == 3);
  CHECK(values(all[2]) == Numbers{2, 5, 8, 11});
  CHECK(table.convert(all)[0].shape() == Shape{4});

  const TabularView named = table.asdict();
  CHECK(named.keys() == Keys{"a", "b", "c"});
  CHECK(named.mode() == TabularMode::dict);
  CHECK(row(named, 3) == Numbers{9, 10, 11});
  CHECK(named.astuple().keys().empty());
}

TEST_CASE("slices take rows and columns, and read nothing else") {
  const Abc table;
  const TabularView view = table.slice(std::vector<int64_t>{3, -2}, Keys{"c", "a"});
  CHECK(table.reads == 0);
  CHECK(view.size() == 2);
  CHECK(view.names() == Keys{"c", "a"});
  CHECK(row(view, 1) == Numbers{8, 6});
  CHECK(table.reads == 2);

  CHECK(values(table.slice(Range{.start = 1, .step = 2}).fetch()[0]) == Numbers{3, 9});
  CHECK(values(table.slice(Range{.step = -1}).fetch()[1]) == Numbers{10, 7, 4, 1});
  CHECK(values(table.slice(std::vector<bool>{true, false, false, true}).fetch()[0]) == Numbers{0, 9});
  CHECK(table.slice(std::vector<int64_t>{}).size() == 0);
  // A view of a view of a view, which are gone.
  const TabularView nested = table.slice(Range{.step = -1}).slice(Range{.start = 1}).slice({}, Keys{"b"});
  CHECK(values(nested.fetch()[0]) == Numbers{7, 4, 1});

  CHECK_THROWS_WITH_AS(table.slice(std::vector<int64_t>{4}),
                       "TabularDataset::slice: row 4 is out of range: there are 4", IndexError);
  CHECK_THROWS_AS(table.slice(std::vector<int64_t>{-5}), IndexError);
  CHECK_THROWS_WITH_AS(table.slice(std::vector<bool>{true}),
                       "TabularDataset::slice: the mask has 1 entries: it must have one for each of the 4 rows",
                       ValueError);
  CHECK_THROWS_WITH_AS(table.slice(Range{.step = 0}), "TabularDataset::slice: step is 0: it must be another number",
                       ValueError);
  CHECK_THROWS_WITH_AS(table.slice({}, Keys{"d"}), "TabularDataset::slice: there is no column 'd', only 'a' 'b' 'c'",
                       KeyError);
}

TEST_CASE("tables are put one behind the other and side by side") {
  const Abc table;
  const TabularView longer = table.concat({table.slice(Range{.stop = 2}), table.slice(Range{.start = 3})});
  CHECK(longer.size() == 7);
  CHECK(values(longer.fetch()[0]) == Numbers{0, 3, 6, 9, 0, 3, 9});
  CHECK(values(longer.slice(std::vector<int64_t>{6, 0, 5}, Keys{"b"}).fetch()[0]) == Numbers{10, 1, 4});
  CHECK_THROWS_WITH_AS(table.concat({table.slice({}, Keys{"a"})}),
                       "TabularDataset::concat: the tables have columns of different names", ValueError);

  const TabularView squares =
      from_data({{"d", [](int64_t i) { return array<double>({static_cast<double>(i * i)}, Shape{}); }}}, 4);
  const TabularView wider = table.join({squares});
  CHECK(wider.names() == Keys{"a", "b", "c", "d"});
  CHECK(row(wider, 3) == Numbers{9, 10, 11, 9});
  CHECK(row(wider.slice({}, Keys{"d", "a"}), 2) == Numbers{4, 6});
  CHECK_THROWS_WITH_AS(table.join({squares.slice(Range{.stop = 3})}),
                       "TabularDataset::join: the tables have 4 and 3 rows: the numbers must be equal", ValueError);
  CHECK_THROWS_WITH_AS(table.join({table}), "TabularDataset::join: the name 'a' comes twice", ValueError);
}

TEST_CASE("transforms make columns of examples, and of columns") {
  const Abc table;
  const auto sum = [](const Example& e) {
    const double total = e[0].item<double>() + e[1].item<double>() + e[2].item<double>();
    return Example{array<double>({total}, Shape{}), array<double>({-total}, Shape{})};
  };
  const TabularView sums = table.transform({"sum", "minus"}, sum);
  CHECK(row(sums, 2) == Numbers{21, -21});
  CHECK(values(sums.slice(Range{.start = 2}, Keys{"minus"}).fetch()[0]) == Numbers{-21, -30});
  CHECK_THROWS_WITH_AS(table.transform({"one"}, sum).get(0),
                       "TabularDataset::transform: the function gives 2 arrays for 1 columns", ValueError);
  CHECK_THROWS_AS(table.transform({}, sum), ValueError);
  CHECK_THROWS_AS(table.transform({"x"}, nullptr), ValueError);

  const auto twice = [](const Columns& in) {
    return Columns{array<double>(values(in[0])), array<double>(values(in[2]))};
  };
  const TabularView batches = table.transform_batch({"x", "y"}, twice);
  CHECK(row(batches, 3) == Numbers{9, 11});
  CHECK(values(batches.slice(std::vector<int64_t>{1, 0}, Keys{"y"}).fetch()[0]) == Numbers{5, 2});
  CHECK_THROWS_WITH_AS(table.transform_batch({"x"}, [](const Columns&) { return Columns{zeros({2})}; }).fetch(),
                       "TabularDataset::transform_batch: the function gives 2 rows of 4 in 'x'", ValueError);

  const TabularView converted =
      table.with_converter([](const Columns& c) { return Example{c[0].stacked().astype(Dtype::float64)}; });
  CHECK(converted.convert(converted.fetch())[0].dtype() == Dtype::float64);
  CHECK(converted.slice(Range{.stop = 1}).convert(table.fetch()).size() == 1);
}

TEST_CASE("from_data takes arrays, lists and functions") {
  const std::vector<Array> rows{ones({2}), ones({3}), ones({1})};
  const TabularView table = from_data({{"a", array<float>({1, 2, 3})},
                                       {"b", rows},
                                       {"c", [](int64_t i) { return array<int64_t>({10 * i}, Shape{}); }},
                                       {Keys{"d", "e"}, [](int64_t i) {
                                          return Example{array<int64_t>({i}), array<int64_t>({-i})};
                                        }}});
  CHECK(table.size() == 3);
  CHECK(table.names() == Keys{"a", "b", "c", "d", "e"});
  const Example example = table.get(2);
  CHECK(example[0].item<float>() == 3);
  CHECK(example[1].shape() == Shape{1});
  CHECK(example[2].item<int>() == 20);
  CHECK(example[4].item<int>() == -2);
  CHECK_THROWS_WITH_AS(table.slice({}, Keys{"b"}).convert(table.slice({}, Keys{"b"}).fetch()),
                       doctest::Contains("Column::stacked: row 1 has shape (3,)"), TypeError);

  CHECK_THROWS_WITH_AS(from_data({{"f", [](int64_t) { return ones({}); }}}),
                       "from_data: the columns are functions: give the size", ValueError);
  CHECK_THROWS_AS(from_data({}), ValueError);
  CHECK_THROWS_AS(from_data({{"a", ones({2})}, {"b", ones({3})}}), ValueError);
  CHECK_THROWS_AS(from_data({{"a", ones({2})}}, 3), ValueError);
  CHECK_THROWS_WITH_AS(from_data({{"a", ones({})}}),
                       "Column: the array is of no axes: rows must lie along its first axis", ValueError);
}

/// A table of one's own on top of another.
class Doubled final : public DelegateDataset {
 public:
  Doubled() : DelegateDataset(from_data({{"a", array<float>({1, 2, 3})}})) {}
  Columns get_examples(Indices rows, Indices columns) const override {
    Columns out;
    for (const Column& column : dataset.get_examples(rows, columns)) {
      Numbers numbers = values(column);
      for (double& number : numbers) number *= 2;
      out.emplace_back(array<double>(numbers));
    }
    return out;
  }
};

TEST_CASE("a delegate, and what iterators see") {
  CHECK(row(Doubled(), 1) == Numbers{4});
  const TabularView view = TabularView(Doubled()).slice(Range{.step = -1});  // which owns it
  CHECK(values(view.fetch()[0]) == Numbers{6, 4, 2});
  const TabularView named = view.asdict();
  iterators::SerialIterator iterator(named, 2, {.repeat = false, .shuffle = false});
  CHECK(iterator.keys() == Keys{"a"});
  CHECK(iterator.next()[1][0].item<double>() == 4);
}

}  // namespace
}  // namespace kusari::datasets
