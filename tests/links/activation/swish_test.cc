#include "kusari/framework/links/activation/swish.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari {
namespace L = links;
namespace {

using Values = std::vector<double>;

TEST_CASE("Swish") {
  L::Swish one(Shape{});
  CHECK(one(array<float>({0, 100}, {1, 2})).to_vector<double>() == Values{0, 100});
  L::Swish channels(Shape{2}, {.beta_init = 0});
  CHECK(channels(array<float>({3, 5}, {1, 2})).to_vector<double>() == Values{1.5, 2.5});
}

TEST_CASE("Swish may take its shape from the first batch, or from a file") {
  L::Swish link(std::nullopt, {.beta_init = 0});
  CHECK(!link.beta.is_initialized());
  CHECK(link(ones({4, 3, 2})).shape() == Shape{4, 3, 2});
  CHECK(link.beta.shape() == Shape{3, 2});
  CHECK_THROWS_AS(link(ones({4, 2})), ValueError);
  const testing::ScratchDirectory directory;
  serializers::save_npz(directory / "swish.npz", link);
  L::Swish loaded(std::nullopt);
  serializers::load_npz(directory / "swish.npz", loaded);
  CHECK(loaded.beta.to_vector<double>() == Values(6, 0));
}

}  // namespace
}  // namespace kusari
