#include "kusari/framework/core/random.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/core/child_process.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari {
namespace {

// Leaves the process's stream as it was.
struct ScopedState {
  RandomState before = random::state();
  ~ScopedState() { random::set_state(before); }
};

TEST_CASE("Philox4x32-10 gives the published numbers") {
  // Random123's kat_vectors has counters of 128 bits; those with a zero upper half are ours.
  const PhiloxBlock zero = philox_block(0, 0);
  CHECK(zero.word[0] == 0x6627e8d5u);
  CHECK(zero.word[1] == 0xe169c58du);
  CHECK(zero.word[2] == 0xbc57ac4cu);
  CHECK(zero.word[3] == 0x9b00dbd8u);
  for (uint64_t index : {0, 1, 2, 3}) CHECK(philox_word(0, index) == zero.word[index]);
  const PhiloxBlock next = philox_block(7, 1);
  for (uint64_t index : {4, 5, 6, 7}) CHECK(philox_word(7, index) == next.word[index - 4]);
}

TEST_CASE("every bit of seed and counter matters") {
  const PhiloxBlock base = philox_block(0x0123456789abcdefu, 0x1122334455667788u);
  for (int bit = 0; bit < 64; ++bit) {
    const PhiloxBlock seed = philox_block(0x0123456789abcdefu ^ (uint64_t{1} << bit), 0x1122334455667788u);
    const PhiloxBlock counter = philox_block(0x0123456789abcdefu, 0x1122334455667788u ^ (uint64_t{1} << bit));
    int changed = 0;
    for (int i = 0; i < 4; ++i) {
      changed += __builtin_popcount(seed.word[i] ^ base.word[i]) + __builtin_popcount(counter.word[i] ^ base.word[i]);
    }
    if (changed < 85 || changed > 171)
      FAIL_CHECK("bit " << bit << " changes " << changed << " of 256");  // 128 +- 5.4 sigma
  }
}

TEST_CASE("the stream restarts with a seed and hands out ranges") {
  const ScopedState restore;
  random::seed(42);
  CHECK(random::state().seed == 42);
  CHECK(random::state().offset == 0);
  const RandomState first = random::reserve(10), second = random::reserve(5);
  CHECK(first.offset == 0);
  CHECK(second.offset == 10);
  CHECK(random::state().offset == 15);
  random::seed(42);
  const uint64_t drawn = random::bits();
  random::seed(42);
  CHECK(random::bits() == drawn);
  CHECK(drawn == (uint64_t{philox_word(42, 0)} << 32 | philox_word(42, 1)));
  CHECK(random::bits() != drawn);
  random::seed(43);
  CHECK(random::bits() != drawn);
}

TEST_CASE("the stream's place survives a snapshot, also past 2^53") {
  const ScopedState restore;
  struct Stream {
    void serialize(Serializer& serializer) { random::serialize(serializer); }
  } stream;
  const testing::ScratchDirectory directory;
  random::set_state({0xfedcba9876543210u, (uint64_t{1} << 60) + 1});
  serializers::save_npz(directory / "random.npz", stream);
  const uint64_t next = random::bits();
  random::seed(0);
  serializers::load_npz(directory / "random.npz", stream);
  CHECK(random::state().seed == 0xfedcba9876543210u);
  CHECK(random::state().offset == (uint64_t{1} << 60) + 1);
  CHECK(random::bits() == next);
}

TEST_CASE("permutations hold every index once and follow the seed") {
  const ScopedState restore;
  for (int64_t n : {0, 1, 2, 10, 1000}) {
    std::vector<int64_t> order = random::permutation(n, 5);
    CHECK(order == random::permutation(n, 5));
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < n; ++i) {
      if (order[static_cast<size_t>(i)] != i) FAIL_CHECK(i);
    }
  }
  CHECK(random::permutation(100, 5) != random::permutation(100, 6));
  random::seed(1);
  const std::vector<int64_t> a = random::permutation(100), b = random::permutation(100);
  CHECK(a != b);
  random::seed(1);
  CHECK(random::permutation(100) == a);
  const RandomState before = random::state();
  random::permutation(100, 5);
  CHECK_THROWS_AS(random::permutation(-1), ValueError);
  CHECK_THROWS_AS(random::permutation(-1, 5), ValueError);
  CHECK_THROWS_WITH_AS(random::permutation(int64_t{1} << 62),
                       "random::permutation: 4611686018427387904 numbers of 8 bytes do not fit into the host's memory",
                       OutOfMemoryError);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose operator new ends the program
  CHECK_THROWS_AS(random::permutation(int64_t{1} << 45, 5), OutOfMemoryError);
#endif
  CHECK(random::state().offset == before.offset);
}

TEST_CASE("all orders are equally likely") {
  constexpr int kDraws = 24000;
  std::vector<int> counts(24);
  for (int i = 0; i < kDraws; ++i) {
    std::vector<int64_t> order = random::permutation(4, static_cast<uint64_t>(i)), rest{0, 1, 2, 3};
    size_t rank = 0, radix = 6;
    for (size_t k = 0; k < 3; ++k) {
      const auto at = static_cast<size_t>(std::find(rest.begin(), rest.end(), order[k]) - rest.begin());
      rank += at * radix;
      radix /= 3 - k;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at));
    }
    ++counts[rank];
  }
  double chi_square = 0;
  for (int c : counts) chi_square += (c - 1000.0) * (c - 1000.0) / 1000.0;
  CHECK(chi_square < 49.7);  // 23 degrees of freedom, p = 0.001; the seeds are fixed
}

TEST_CASE("the seed comes from the environment") {
  const auto first = [](const std::string& environment) {
    return testing::run_in_child("-u KUSARI_SEED -u CHAINER_SEED " + environment, "print a random number").output;
  };
  const std::string expected = std::to_string(uint64_t{philox_word(9, 0)} << 32 | philox_word(9, 1));
  CHECK(first("KUSARI_SEED=9").find("drew " + expected) != std::string::npos);
  CHECK(first("CHAINER_SEED=9").find("drew " + expected) != std::string::npos);
  CHECK(first("CHAINER_SEED=8 KUSARI_SEED=9").find("drew " + expected) != std::string::npos);
  const std::string a = first(""), b = first("");
  CHECK(a.find("drew ") != std::string::npos);
  CHECK(a.substr(a.find("drew "), 20) != b.substr(b.find("drew "), 20));
  const testing::ChildResult bad = testing::run_in_child("KUSARI_SEED=x9", "print a random number");
  CHECK(bad.output.find("KUSARI_SEED: 'x9' is not a whole number from 0 to 18446744073709551615") != std::string::npos);
}

TEST_CASE("print a random number" * doctest::skip()) { MESSAGE("drew " << random::bits()); }

}  // namespace
}  // namespace kusari
