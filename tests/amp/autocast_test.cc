#include "kusari/framework/amp/autocast.h"

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

TEST_CASE("amp::Autocast: regions nest") {
  CHECK_FALSE(amp::is_autocast_enabled());
  {
    const amp::Autocast outer;
    CHECK(amp::is_autocast_enabled());
    {
      const amp::Autocast inner({.enabled = false});
      CHECK_FALSE(amp::is_autocast_enabled());
    }
    CHECK(amp::is_autocast_enabled());
  }
  CHECK_FALSE(amp::is_autocast_enabled());
  CHECK_THROWS_WITH_AS(amp::Autocast({.dtype = Dtype::float32}),
                       "amp::Autocast: dtype is float32: it must be float16 or bfloat16", ValueError);
}

}  // namespace
}  // namespace kusari
