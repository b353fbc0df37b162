#include "kusari/framework/datasets/text/text_dataset.h"

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/datasets/text/text_array.h"
#include "kusari/iterators/multiprocess_iterator.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari;
using namespace kusari::datasets;
using kusari::testing::ScratchDirectory;
using kusari::testing::write_file;

namespace {

std::vector<std::string> lines(const TextDataset& dataset) {
  std::vector<std::string> result;
  for (int64_t i = 0; i < dataset.size(); ++i) result.push_back(dataset.line(i));
  return result;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("text_array and text_of") {
  CHECK(text_array("日本").shape() == Shape{6});
  CHECK(text_of(text_array("日本")) == "日本");
  CHECK(text_array("").shape() == Shape{0});
  CHECK(text_of(text_array("")) == "");
  CHECK(text_of(array<uint8_t>({'a', 0, 'b', 0, 0}, {5})) == std::string("a\0b", 3));
  CHECK(text_of(text_array("abc").slice(0, 0, 2, 2)) == "ac");
  CHECK_THROWS_WITH_AS(text_of(arange(3, Dtype::int32)),
                       "text_of: the array has dtype int32 and shape (3,): uint8 and one axis are needed", TypeError);
  CHECK_THROWS_AS(text_of(Array()), TypeError);
}

TEST_CASE("TextDataset: the lines of a file") {
  const ScratchDirectory dir;
  const auto read = [&](const std::string& content) {
    write_file(dir / "text", content);
    return lines(TextDataset(dir / "text"));
  };
  CHECK(read("") == Lines{});
  CHECK(read("\n") == Lines{""});
  CHECK(read("one\ntwo\n") == Lines{"one", "two"});
  CHECK(read("one\n\n three") == Lines{"one", "", " three"});
  CHECK(read("dos\r\nend\r\n") == Lines{"dos", "end"});
  const std::string longer(3'000'000, 'x');  // over several of the parts in which files are scanned
  CHECK(read("a\n" + longer + "\nb") == Lines{"a", longer, "b"});
  std::string many;
  for (int i = 0; i < 200'000; ++i) many += std::to_string(i) + "\n";
  write_file(dir / "text", many);
  const TextDataset dataset(dir / "text");
  CHECK(dataset.size() == 200'000);
  CHECK(dataset.line(123'456) == "123456");
  CHECK(text_of(dataset[-1][0]) == "199999");
  CHECK(dataset.keys().empty());
  CHECK_THROWS_WITH_AS(dataset.get(200'000),
                       "TextDataset::get: index 200000 is out of range: the data set has 200000 examples", IndexError);
}

TEST_CASE("TextDataset: several files side by side, and a filter") {
  const ScratchDirectory dir;
  write_file(dir / "en", "one\ntwo\n\nfour\n");
  write_file(dir / "de", "eins\nzwei\ndrei\nvier\n");
  const TextDataset pairs({dir / "en", dir / "de"});
  CHECK(pairs.size() == 4);
  CHECK(pairs[1].size() == 2);
  CHECK(text_of(pairs[1][1]) == "zwei");
  CHECK(pairs.line(3, 1) == "vier");
  CHECK_THROWS_WITH_AS(pairs.line(0, 2), "TextDataset::line: file 2 is asked for, but there are 2", IndexError);

  const TextDataset full({dir / "en", dir / "de"},
                         {.filter_func = [](std::span<const std::string_view> l) { return !l[0].empty(); }});
  CHECK(lines(full) == Lines{"one", "two", "four"});
  CHECK(full.line_number(2) == 3);
  CHECK(full.line(2, 1) == "vier");

  write_file(dir / "short", "one\n");
  CHECK_THROWS_WITH_AS(TextDataset({dir / "en", dir / "short"}), doctest::Contains("short has 1 lines but "),
                       ValueError);
  CHECK_THROWS_WITH_AS(TextDataset(std::vector<std::string>{}), "TextDataset: no files are given", ValueError);
  CHECK_THROWS_WITH_AS(TextDataset(dir / "none"), doctest::Contains("none cannot be opened"), IoError);
}

TEST_CASE("TextDataset: threads, processes and batches") {
  const ScratchDirectory dir;
  std::string content;
  for (int i = 0; i < 1000; ++i) content += std::string(static_cast<size_t>(i % 7), 'a') + std::to_string(i) + "\n";
  write_file(dir / "text", content);
  const TextDataset dataset(dir / "text");
  const Lines expected = lines(dataset);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < expected.size(); ++i) {
        if (dataset.line(static_cast<int64_t>(i)) != expected[i]) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));

  iterators::MultiprocessIterator iterator(dataset, 10, {.repeat = false, .shuffle = false, .n_processes = 2});
  size_t i = 0;
  for (const iterators::Batch& batch : iterator) {
    const Example rows = concat_examples(batch, std::nullopt, 0);
    for (int64_t k = 0; k < rows[0].shape()[0]; ++k) CHECK(text_of(rows[0].at(k)) == expected[i++]);
  }
  CHECK(i == expected.size());
}

TEST_CASE("TextDataset: a file that became shorter is an error") {
  const ScratchDirectory dir;
  write_file(dir / "text", "one\ntwo\n");
  const TextDataset dataset(dir / "text");
  std::filesystem::resize_file(dir / "text", 5);
  CHECK(dataset.line(0) == "one");
  CHECK_THROWS_WITH_AS(dataset.line(1), doctest::Contains("text became shorter while it was read"), IoError);
}
