#include <functional>

#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of util") {
  check_misuses({
      {[] { F::forget([](const Variable& a) { return a; }, absent); }, is<TypeError>,
       "F::forget: result 0 of the function is an undefined variable"},
      {[] { F::forget([](const Variable&) { return Variable(); }, real({2})); }, is<TypeError>,
       "F::forget: result 0 of the function is an undefined variable"},
      {[] { F::forget(std::function<Variables(const Variables&)>(), Variables{real({2})}); }, is<ValueError>,
       "F::forget: function is empty: it must be callable"},
  });
}

}  // namespace
}  // namespace kusari::misuse
