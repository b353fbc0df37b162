#include "kusari/framework/serializers/arrays.h"

#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/safetensors.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari {
namespace {

using testing::ScratchDirectory;

using serializers::load_arrays;
using serializers::NamedArrays;
using serializers::save_arrays;

const Array kX = array<float>({1, 2, 3, 4, 5, 6}, {2, 3});

void check_equal(const NamedArrays& got, const NamedArrays& expected) {
  REQUIRE(got.size() == expected.size());
  for (const auto& [key, array] : expected) {
    CAPTURE(key);
    REQUIRE(got.count(key) == 1);
    const Array& there = got.at(key);
    REQUIRE(there.is_defined() == array.is_defined());
    if (!array.is_defined()) continue;
    CHECK(there.dtype() == array.dtype());
    CHECK(there.shape() == array.shape());
    CHECK(there.to_vector<double>() == array.to_vector<double>());
  }
}

TEST_CASE("arrays under names: saved and loaded") {
  const ScratchDirectory dir;
  for (const bool compression : {true, false}) {
    NamedArrays arrays{{"x", kX.transpose({1, 0})}, {"none", Array()}};
    arrays["group/n"] = array<int64_t>({7});
    arrays["is"] = full({}, 1, Dtype::bool_);
    save_arrays(dir / "a.npz", arrays, {.compression = compression});
    check_equal(load_arrays(dir / "a.npz"), arrays);
  }
  save_arrays(dir / "a.npz", {});
  CHECK(load_arrays(dir / "a.npz").empty());
}

TEST_CASE("arrays under names: of other formats, without strings") {
  const ScratchDirectory dir;
  const serializers::Dictionary entries{{"x", {.array = kX}}, {"note", {.text = "text", .is_text = true}}};
  serializers::save_npz_dictionary(dir / "a.npz", entries);
  serializers::save_safetensors_dictionary(dir / "a.safetensors", entries);
  check_equal(load_arrays(dir / "a.npz"), {{"x", kX}});
  check_equal(load_arrays(dir / "a.safetensors"), {{"x", kX}});
}

TEST_CASE("arrays under names: files that cannot be read or written") {
  const ScratchDirectory dir;
  CHECK_THROWS_WITH_AS(load_arrays(dir / "absent.npz"), doctest::Contains("absent.npz"), IoError);
  std::ofstream(dir / "bad.npz") << "PK and nothing else that one would expect of an archive";
  CHECK_THROWS_WITH_AS(load_arrays(dir / "bad.npz"), doctest::Contains("bad.npz"), IoError);
  CHECK_THROWS_AS(save_arrays(dir / "no/such/folder.npz", {{"x", kX}}), IoError);
}

}  // namespace
}  // namespace kusari
