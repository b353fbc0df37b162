#include "kusari/framework/datasets/example_file.h"

#include <csignal>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/cache.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/datasets/dict_dataset.h"
#include "kusari/framework/datasets/text/text_array.h"
#include "kusari/framework/datasets/transform_dataset.h"
#include "kusari/iterators/multiprocess_iterator.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari;
using namespace kusari::datasets;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;
using kusari::testing::write_file;

namespace {

namespace fs = std::filesystem;

/// Example i: i + 1 numbers i, and the text "i".
Example example(int64_t i) {
  return {array(std::vector<float>(static_cast<size_t>(i + 1), static_cast<float>(i)), {i + 1}),
          text_array(std::to_string(i))};
}

void check_examples(const Dataset& dataset, int64_t n) {
  REQUIRE(dataset.size() == n);
  for (int64_t i = 0; i < n; ++i) {
    CAPTURE(i);
    const Example read = dataset.get(i);
    REQUIRE(read.size() == 2);
    CHECK(read[0].to_vector<float>() == std::vector<float>(static_cast<size_t>(i + 1), static_cast<float>(i)));
    CHECK(text_of(read[1]) == std::to_string(i));
  }
}

void write_examples(const std::string& path, int64_t n, const Keys& keys = {}) {
  ExampleFileWriter writer(path, {.keys = keys});
  for (int64_t i = 0; i < n; ++i) writer.write(example(i));
  writer.close();
}

}  // namespace

TEST_CASE("ExampleFile: what is written is read") {
  const ScratchDirectory dir;
  write_examples(dir / "file", 20);
  check_examples(ExampleFileDataset(dir / "file"), 20);
  CHECK(dir.count() == 1);
  CHECK(ExampleFileDataset(dir / "file").keys().empty());
  write_examples(dir / "file", 3, {"x", "name"});  // in place of the old one
  check_examples(ExampleFileDataset(dir / "file"), 3);
  CHECK(ExampleFileDataset(dir / "file").keys() == Keys{"x", "name"});
  CHECK_THROWS_WITH_AS(ExampleFileDataset(dir / "file").get(3),
                       "ExampleFileDataset::get: index 3 is out of range: the data set has 3 examples", IndexError);
  write_examples(dir / "none", 0);
  CHECK(ExampleFileDataset(dir / "none").size() == 0);
}

TEST_CASE("ExampleFile: dtypes, shapes, views") {
  const ScratchDirectory dir;
  Example all;
  for (int dtype = 0; dtype < kDtypeCount; ++dtype) {
    all.push_back(array<int64_t>({0, 1, 1, 0, 1, 0}, {2, 3}).astype(static_cast<Dtype>(dtype)));
  }
  const Array scalar = array<double>({-0.25}, Shape{}), nothing = zeros({2, 0, 3});
  const Array turned = arange(6, Dtype::int32).reshape({2, 3}).transpose({1, 0});
  {
    ExampleFileWriter writer(dir / "file");
    writer.write(all);
    writer.write({scalar, nothing, turned});
    writer.write({});
    CHECK(writer.size() == 3);
    writer.close();
    CHECK_THROWS_WITH_AS(writer.write({scalar}), "ExampleFileWriter::write: the file is closed", StateError);
    CHECK_THROWS_AS(writer.close(), StateError);
    CHECK_THROWS_AS(writer.flush(), StateError);
  }
  const ExampleFileDataset dataset(dir / "file");
  for (size_t i = 0; i < all.size(); ++i) {
    CHECK(dataset[0][i].dtype() == all[i].dtype());
    CHECK(dataset[0][i].shape() == Shape{2, 3});
    CHECK(dataset[0][i].to_vector<float>() == all[i].to_vector<float>());
  }
  CHECK(dataset[1][0].shape() == Shape{});
  CHECK(dataset[1][0].item<double>() == -0.25);
  CHECK(dataset[1][1].shape() == Shape{2, 0, 3});
  CHECK(dataset[1][2].to_vector<int>() == std::vector<int>{0, 3, 1, 4, 2, 5});
  CHECK(dataset[2].empty());
}

TEST_CASE("ExampleFile: a writer that ends early leaves no file, and can be resumed") {
  const ScratchDirectory dir;
  {
    ExampleFileWriter writer(dir / "file", {.keys = {"x", "name"}});
    for (int64_t i = 0; i < 5; ++i) writer.write(example(i));
  }
  CHECK_FALSE(fs::exists(dir / "file"));
  CHECK_THROWS_WITH_AS((ExampleFileWriter(dir / "file", {.keys = {"x"}, .resume = true})),
                       doctest::Contains("file.part has the keys ('x', 'name'), not ('x')"), IoError);
  const std::string part = read_file(dir / "file.part");
  // However much of it got to the disk.
  for (size_t size = 0; size <= part.size(); ++size) {
    CAPTURE(size);
    write_file(dir / "file.part", part.substr(0, size));
    const bool has_header = size == 0 || size >= 8 + 4 + 4 + (4 + 1) + (4 + 4) + 4;
    if (!has_header) {
      CHECK_THROWS_AS((ExampleFileWriter(dir / "file", {.keys = {"x", "name"}, .resume = true})), IoError);
      continue;
    }
    ExampleFileWriter writer(dir / "file", {.keys = {"x", "name"}, .resume = true});
    REQUIRE(writer.size() <= 5);
    for (int64_t i = writer.size(); i < 6; ++i) writer.write(example(i));
    writer.close();
    check_examples(ExampleFileDataset(dir / "file"), 6);
  }
  write_file(dir / "file.part", "rubbish");
  write_examples(dir / "file", 2);  // without resume, what is there does not matter
  check_examples(ExampleFileDataset(dir / "file"), 2);
}

TEST_CASE("ExampleFile: a killed writer loses what was not flushed at most") {
  const ScratchDirectory dir;
  const pid_t child = ::fork();
  if (child == 0) {
    ExampleFileWriter writer(dir / "file");
    for (int64_t i = 0; i < 7; ++i) writer.write(example(i));
    writer.flush();
    writer.write(example(7));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  CHECK_FALSE(fs::exists(dir / "file"));
  ExampleFileWriter writer(dir / "file", {.resume = true});
  CHECK(writer.size() == 7);
  for (int64_t i = 7; i < 9; ++i) writer.write(example(i));
  CHECK_THROWS_WITH_AS(ExampleFileWriter(dir / "file"),
                       doctest::Contains("file.part is being written by another writer"), IoError);
  writer.close();
  check_examples(ExampleFileDataset(dir / "file"), 9);
}

TEST_CASE("ExampleFile: close() can be called again when it failed") {
  const ScratchDirectory dir;
  fs::create_directories(dir / "file/below");
  ExampleFileWriter writer(dir / "file");
  for (int64_t i = 0; i < 3; ++i) writer.write(example(i));
  CHECK_THROWS_WITH_AS(writer.close(), doctest::Contains("file.part cannot be renamed to "), IoError);
  writer.write(example(3));
  fs::remove_all(dir / "file");
  writer.close();
  check_examples(ExampleFileDataset(dir / "file"), 4);
}

TEST_CASE("ExampleFile: what a writer refuses") {
  const ScratchDirectory dir;
  ExampleFileWriter writer(dir / "file", {.keys = {"x", "name"}});
  CHECK_THROWS_WITH_AS(writer.write({arange(2)}),
                       "ExampleFileWriter::write: the example has 1 arrays, but the keys are ('x', 'name')",
                       ValueError);
  CHECK_THROWS_WITH_AS(writer.write({arange(2), Array()}), "ExampleFileWriter::write: array 1 is undefined",
                       ValueError);
  CHECK(writer.size() == 0);
  CHECK_THROWS_WITH_AS(ExampleFileWriter(dir / "none/file"), doctest::Contains("file.part cannot be opened"), IoError);
}

TEST_CASE("ExampleFile: damaged files name the byte and what was expected") {
  const ScratchDirectory dir;
  write_examples(dir / "file", 3);
  const std::string whole = read_file(dir / "file");
  const auto check = [&](std::string content, const char* message) {
    write_file(dir / "bad", content);
    CHECK_THROWS_WITH_AS(
        [&] {
          const ExampleFileDataset dataset(dir / "bad");
          for (int64_t i = 0; i < dataset.size(); ++i) dataset.get(i);
        }(),
        doctest::Contains(message), IoError);
  };
  const auto with = [&](size_t at, char value) {
    std::string content = whole;
    content[at] = value;
    return content;
  };
  check("", "bad is no file of examples: it does not begin with KUSARIEX");
  check(whole.substr(0, 10), "bad is cut off or damaged in its header");
  check(whole.substr(0, 40), "bad is cut off: it has no index");
  check(whole.substr(0, whole.size() - 1), "bad is cut off: it does not end with KUSARIIX");
  check(with(12, 1), "bad is cut off or damaged in its header");
  check(with(16, 'x'), "bad is damaged: the CRC-32 of its header, bytes 0 .. 16, is another");
  check(with(whole.size() - 28, 9), "bad is damaged: it says that an index of 9 examples begins at byte");
  check(with(whole.size() - 29, 1), "bad is damaged: the CRC-32 of its index, from byte ");
  check(with(20, 9), "bad is damaged: example 0, at byte 20, says that it has 9 bytes, but there are ");
  check(with(40, 9), "bad is damaged: example 0, at byte 20, has another CRC-32");
  check(whole + "x", "bad is cut off: it does not end with KUSARIIX");
  CHECK_THROWS_WITH_AS(ExampleFileDataset(dir / "none"), doctest::Contains("none cannot be opened"), IoError);
}

TEST_CASE("ExampleFile: workers read it") {
  const ScratchDirectory dir;
  write_examples(dir / "file", 50);
  iterators::MultiprocessIterator iterator(ExampleFileDataset(dir / "file"), 5,
                                           {.repeat = false, .shuffle = false, .n_processes = 3});
  int64_t i = 0;
  for (const iterators::Batch& batch : iterator) {
    for (const Example& read : batch) CHECK(text_of(read[1]) == std::to_string(i++));
  }
  CHECK(i == 50);
}

TEST_CASE("cache_dataset asks the data set once") {
  const ScratchDirectory dir;
  int calls = 0;
  const DictDataset numbers({{"x", arange(4)}, {"t", arange(4)}});
  const TransformDataset slow(numbers, [&calls](const Example& e) {
    ++calls;
    return Example{e[0].astype(Dtype::float64), e[1]};
  });
  for (int round = 0; round < 2; ++round) {
    const ExampleFileDataset cached = cache_dataset(dir / "below/cache", slow);
    CHECK(cached.size() == 4);
    CHECK(cached.keys() == Keys{"x", "t"});
    CHECK(cached[3][0].item<double>() == 3);
    CHECK(calls == 4);
  }
  const TransformDataset broken(numbers, [&calls](const Example& e) {
    if (++calls > 6) throw ValueError("broken");
    return e;
  });
  CHECK_THROWS_WITH_AS(cache_dataset(dir / "other", broken), "broken", ValueError);
  CHECK(dir.count() == 1);  // nothing stays behind
}

TEST_CASE("cache_dataset removes what killed processes have left, and nothing of the living") {
  const ScratchDirectory dir;
  const DictDataset numbers({{"x", arange(4)}, {"t", arange(4)}});
  const auto kill_while_writing = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      cache_dataset(dir / "cache", TransformDataset(numbers, [count = 0](const Example& e) mutable {
                      if (++count == 3) ::kill(::getpid(), SIGKILL);
                      return e;
                    }));
      ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
  };
  for (int i = 0; i < 5; ++i) kill_while_writing();
  CHECK(dir.count() <= 2);  // of the last one
  write_file(dir / "cache.txt", "another file");
  write_file(dir / "cache.1-2.part", "nobody knows whose");
  // Another one writes the same file while this one is at it.
  const TransformDataset nested(numbers, [&](const Example& e) {
    cache_dataset(dir / "cache", numbers);
    return e;
  });
  CHECK(cache_dataset(dir / "cache", nested).size() == 4);
  CHECK(dir.count() == 3);
  CHECK(fs::exists(dir / "cache.txt"));
  CHECK(fs::exists(dir / "cache.1-2.part"));
}

TEST_CASE("cache_or_load_file creates a file, or loads it") {
  const ScratchDirectory dir;
  int created = 0, loaded = 0;
  const auto create = [&](const std::string& path) {
    ++created;
    CHECK(path != dir / "file");
    CHECK_FALSE(fs::exists(path));
    write_file(path, "content");
    return std::string("content");
  };
  const auto load = [&](const std::string& path) {
    ++loaded;
    return read_file(path);
  };
  // What killed processes of the same number have left.
  for (int i = 0; i < 10; ++i) {
    write_file(dir / ("file." + std::to_string(::getpid()) + "-" + std::to_string(i) + ".part"), "rubbish");
  }
  CHECK(cache_or_load_file(dir / "file", create, load) == "content");
  CHECK(cache_or_load_file(dir / "file", create, load) == "content");
  CHECK(created == 1);
  CHECK(loaded == 1);
  CHECK(dir.count() == 1 + 10);

  const auto fail = [](const std::string& path) -> std::string {
    write_file(path, "half");
    throw ValueError("no more");
  };
  CHECK_THROWS_WITH_AS(cache_or_load_file(dir / "other", fail, load), "no more", ValueError);
  const auto nothing = [](const std::string&) { return std::string(); };
  CHECK_THROWS_WITH_AS(cache_or_load_file(dir / "other", nothing, load),
                       doctest::Contains("other was not written under the temporary name"), IoError);
  CHECK(dir.count() == 1 + 10);
}
