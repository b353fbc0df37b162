#include "kusari/framework/core/tuning.h"

#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/core/child_process.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari {
namespace {

struct Choices {
  void serialize(Serializer& s) { tuning::serialize(*s.child("tuning")); }
};

TEST_CASE("choices of algorithms are kept and restored as text") {
  CHECK(tuning::find("test/1 a") == "");
  tuning::keep("test/1 b 2x2", "second");
  tuning::keep("test/1 a", "other");
  tuning::keep("test/1 a", "first");
  CHECK(tuning::find("test/1 a") == "first");
  const std::string all = "test/1 a = first\ntest/1 b 2x2 = second\n";
  CHECK(tuning::choices().find(all) != std::string::npos);

  const uint64_t before = tuning::generation();
  tuning::restore("test/1 a = third\ntest/1 c = first\n");
  CHECK(tuning::generation() != before);
  CHECK(tuning::choices().find("test/1 a = third\ntest/1 b 2x2 = second\ntest/1 c = first\n") != std::string::npos);
}

TEST_CASE("choices of algorithms may be kept by several threads") {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int n = 0; n < 200; ++n) {
        const std::string problem = "threads/1 " + std::to_string(i) + " " + std::to_string(n);
        tuning::keep(problem, "mine");
        if (n % 50 == 0) tuning::restore(tuning::choices());
        CHECK(tuning::find(problem) == "mine");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("lines that are no choices of algorithms are left out with one warning") {
  const testing::ChildResult child = testing::run_in_child("-u KUSARI_LOG_LEVEL", "restore damaged choices");
  CHECK(child.exit_code == 0);
  const std::string warning =
      "[kusari warning] tuning::restore: 5 of 6 lines are no choices of algorithms and were left out\n";
  const size_t at = child.output.find(warning);
  REQUIRE(at != std::string::npos);
  CHECK(child.output.find("[kusari warning]", at + 1) == std::string::npos);
}

TEST_CASE("restore damaged choices" * doctest::skip()) {
  tuning::restore("a = \xff\n = b\na = \nnothing\n\ngood/1 x = y\n");
  CHECK(tuning::choices() == "good/1 x = y\n");
}

TEST_CASE("a file of choices that are no text is read with a warning") {
  const testing::ChildResult child = testing::run_in_child("-u KUSARI_LOG_LEVEL", "read choices that are numbers");
  CHECK(child.exit_code == 0);
  CHECK(child.output.find("[kusari warning] tuning: choices of algorithms were left out: load_npz: ") !=
        std::string::npos);
}

TEST_CASE("read choices that are numbers" * doctest::skip()) {
  const testing::ScratchDirectory dir;
  Choices choices;
  serializers::save_npz(dir / "none", choices);
  CHECK_FALSE(serializers::NpzReader(dir / "none").contains("tuning/choices"));
  serializers::save_npz_dictionary(dir / "numbers", {{"tuning/choices", {arange(3)}}});
  serializers::load_npz(dir / "none", choices);
  serializers::load_npz(dir / "numbers", choices);
  CHECK(tuning::choices().empty());

  tuning::keep("test/1 a", "first");
  serializers::save_npz(dir / "one", choices);
  tuning::keep("test/1 a", "second");
  serializers::load_npz(dir / "one", choices);
  CHECK(tuning::choices() == "test/1 a = first\n");
}

}  // namespace
}  // namespace kusari
