#include "kusari/framework/kernels/broadcast.h"

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

TEST_CASE("check_broadcast: sizes are equal or 1 from the last axis on") {
  struct Case {
    Shape from, to;
    bool fits;
  };
  for (const Case& c : {Case{{}, {}, true},
                        {{}, {2, 3}, true},
                        {{3}, {2, 3}, true},
                        {{2, 1}, {2, 3}, true},
                        {{1, 1}, {0, 3}, true},
                        {{0}, {2, 0}, true},
                        {{2}, {2, 3}, false},
                        {{2, 3}, {3}, false},
                        {{1, 3}, {3}, false},
                        {{3}, {1}, false},
                        {{0}, {3}, false},
                        {{3}, {0}, false}}) {
    CAPTURE(to_string(c.from));
    CAPTURE(to_string(c.to));
    const Array x = zeros(c.from);
    if (c.fits) {
      CHECK_NOTHROW(check_broadcast("add", x, c.to));
    } else {
      CHECK_THROWS_AS(check_broadcast("add", x, c.to), TypeError);
    }
  }
  CHECK_THROWS_WITH_AS(check_broadcast("add", zeros({2}), {2, 3}),
                       "add: x has shape (2,) but y has shape (2, 3): x must broadcast to y", TypeError);
}

}  // namespace
}  // namespace kusari
