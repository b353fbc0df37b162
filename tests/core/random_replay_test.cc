#include "kusari/framework/core/random_replay.h"

#include <thread>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"

namespace kusari::random {
namespace {

TEST_CASE("a replay draws what was recorded") {
  seed(11);
  std::vector<Draw> draws;
  uint64_t first, second;
  {
    const DrawRecording recording(draws);
    first = bits();
    std::thread([] { bits(); }).join();  // is no draw of this thread
    second = bits();
  }
  const RandomState after = state();
  CHECK(draws.size() == 2);
  {
    const DrawReplay replay(draws, "test");
    CHECK(bits() == first);
    CHECK(bits() == second);
    CHECK_THROWS_WITH_AS(bits(), "test: the function draws other random numbers when it is called again", StateError);
  }
  CHECK(state().offset == after.offset);  // the stream stays where it was
  CHECK(bits() != first);
  const DrawReplay replay(draws, "test");
  CHECK_THROWS_AS(reserve(5), StateError);
}

TEST_CASE("what is drawn once is neither recorded nor replayed") {
  seed(13);
  std::vector<Draw> draws;
  {
    const DrawRecording recording(draws);
    {
      const UnrecordedDraws once;
      reserve(3);
    }
    reserve(5);
  }
  CHECK(draws.size() == 1);
  const DrawReplay replay(draws, "test");
  {
    const UnrecordedDraws once;
    CHECK(reserve(7).offset == 8);
  }
  CHECK(reserve(5).offset == 3);
}

TEST_CASE("recordings and replays inside each other") {
  seed(12);
  std::vector<Draw> outer, inner, again;
  {
    const DrawRecording recording(outer);
    bits();
    {
      const DrawRecording nested(inner);
      bits();
    }
    const DrawReplay replay(inner, "test");
    bits();  // the same as before: not a further draw of the outer one
  }
  CHECK(outer.size() == 2);
  CHECK(inner.size() == 1);
  CHECK(outer[1].state.offset == inner[0].state.offset);
  const DrawReplay replay(outer, "test");
  {
    const DrawRecording recording(again);
    bits();
    bits();
  }
  CHECK(again.size() == 2);
  CHECK(again[1].state.offset == inner[0].state.offset);
}

}  // namespace
}  // namespace kusari::random
