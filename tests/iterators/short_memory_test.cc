#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/core/child_process.h"
#include "kusari/tests/iterators/iterators_under_test.h"

using namespace kusari;

// What does not fit into memory is an OutOfMemoryError, whichever thread lacks it, and another call goes on.
namespace {

struct Counted final : datasets::Dataset {
  explicit Counted(int64_t size) : n{size} {}
  int64_t size() const override { return n; }
  datasets::Example get(int64_t i) const override { return {full({2}, i, Dtype::int64)}; }
  int64_t n;
};

}  // namespace

TEST_CASE("data sets of more examples than memory has room for") {
  const int64_t huge = int64_t{1} << 62;
  const Counted dataset(huge);
  for (const testing::IteratorClass& c : testing::iterator_classes()) {
    CAPTURE(c.name);
    CHECK_THROWS_AS(c.make(dataset, 4, {}), OutOfMemoryError);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose operator new ends the program
    CHECK_THROWS_AS(c.make(Counted(int64_t{1} << 45), 4, {}), OutOfMemoryError);
#endif
    iterators::ShuffleOrderSampler sampler;
    CHECK_THROWS_AS(c.make(dataset, 4, {.order_sampler = sampler}), OutOfMemoryError);
    const auto in_order = c.make(dataset, 4, {.shuffle = false});
    CHECK(in_order->next()[3][0].to_vector<int64_t>() == std::vector<int64_t>{3, 3});
  }
  iterators::SerialIterator one(dataset, huge, {.repeat = false, .shuffle = false});
  CHECK_THROWS_AS(one.next(), OutOfMemoryError);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need more memory than there will be
TEST_CASE("batches that memory has no room for") {
  for (const char* iterator : {"SerialIterator", "MultithreadIterator"}) {
    for (const int more : {300, 500}) {
      CAPTURE(iterator);
      CAPTURE(more);
      const testing::ChildResult child = testing::run_in_child(
          "KUSARI_TEST_ITERATOR=" + std::string(iterator) + " KUSARI_TEST_MIB=" + std::to_string(more),
          "a large batch in little memory");
      CHECK_MESSAGE(child.exit_code == 0, child.output);
    }
  }
}

TEST_CASE("a large batch in little memory" * doctest::skip()) {
  const bool is_serial = std::getenv("KUSARI_TEST_ITERATOR") == std::string("SerialIterator");
  constexpr int64_t kBatch = int64_t{1} << 22;
  const Counted dataset(8);
  const auto it = is_serial ? testing::make_serial(dataset, kBatch, {.shuffle = false})
                            : testing::make_multithread(dataset, kBatch, {.shuffle = false, .n_prefetch = 0});
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur =
      static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + (std::stoul(std::getenv("KUSARI_TEST_MIB")) << 20);
  REQUIRE(::setrlimit(RLIMIT_AS, &limit) == 0);
  for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(it->next(), OutOfMemoryError);
  limit.rlim_cur = limit.rlim_max;
  REQUIRE(::setrlimit(RLIMIT_AS, &limit) == 0);
  const iterators::Batch batch = it->next();
  REQUIRE(batch.size() == size_t{kBatch});
  int64_t wrong = 0;
  for (int64_t i = 0; i < kBatch; ++i) {
    const datasets::Example& example = batch[static_cast<size_t>(i)];
    wrong += example.size() != 1 || example[0].data<int64_t>()[1] != i % 8;
  }
  CHECK(wrong == 0);
}
#endif
