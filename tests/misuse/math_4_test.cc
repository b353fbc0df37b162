#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of math, 4") {
  check_misuses({
      {[] { F::rsqrt(whole({2})); }, is<TypeError>, "F::rsqrt: x has dtype int32: x.dtype must be floating"},
      {[] { F::sqrt(absent); }, is<TypeError>, "F::sqrt: x is not given: it is required"},
      {[] { F::rsqrt(absent); }, is<TypeError>, "F::rsqrt: x is not given: it is required"},
      {[] { F::square(absent); }, is<TypeError>, "F::square: x is not given: it is required"},
      {[] { F::square(whole({2})); }, is<TypeError>, "F::square: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::sum_to(real({2, 3}), {2});
       },
       is<TypeError>, "F::sum_to: x has shape (2, 3), to which shape (2,) does not broadcast"},
      {[] { F::sum_to(absent, {2}); }, is<TypeError>, "F::sum_to: x is not given: it is required"},
      {[] {
         F::sum_to(real({2}), {2, 3});
       },
       is<TypeError>, "F::sum_to: x has shape (2,), to which shape (2, 3) does not broadcast"},
      {[] {
         F::sum_to(real({2, 3}), {-1});
       },
       is<TypeError>, "F::sum_to: x has shape (2, 3), to which shape (-1,) does not broadcast"},
      {[] {
         F::tensordot(real({2, 3}), real({4, 5}), 1);
       },
       is<TypeError>,
       "F::tensordot: a has shape (2, 3) but b has shape (4, 5): a.shape[1] must equal b.shape[0] (3 != 4)"},
      {[] { F::tensordot(real({2}), real({2}), -1); }, is<ValueError>,
       "F::tensordot: axes is -1: a number of axes must not be negative"},
      {[] { F::tensordot(real({2}), real({2}), std::numeric_limits<int64_t>::max()); }, is<ValueError>,
       "F::tensordot: a has shape (2,) and b has shape (2,): both must have 9223372036854775807 axes to sum over"},
      {[] {
         F::tensordot(real({2, 3}), real({3, 2}), F::TensordotAxes({0}, {-3}));
       },
       is<IndexError>, "F::tensordot: axes of b: axis -3 is out of range for 2 axes"},
      {[] { F::tensordot(real({2}), real({2}), 2); }, is<ValueError>,
       "F::tensordot: a has shape (2,) and b has shape (2,): both must have 2 axes to sum over"},
      {[] {
         F::tensordot(real({2, 3}), real({3, 2}), F::TensordotAxes({0}, {0, 1}));
       },
       is<ValueError>, "F::tensordot: 1 axes of a but 2 of b: they must come in pairs"},
      {[] {
         F::tensordot(real({2, 3}), real({3, 2}), F::TensordotAxes({2}, {0}));
       },
       is<IndexError>, "F::tensordot: axes of a: axis 2 is out of range for 2 axes"},
      {[] {
         F::tensordot(real({2, 3}), real({3, 2}), F::TensordotAxes({0, 0}, {1, 1}));
       },
       is<ValueError>, "F::tensordot: axis 0 of a comes twice: each may come once"},
      {[] { F::tensordot(absent, real({2})); }, is<TypeError>, "F::tensordot: a is not given: it is required"},
      {[] { F::tensordot(real({2}), absent); }, is<TypeError>, "F::tensordot: b is not given: it is required"},
      {[] { F::sin(whole({2})); }, is<TypeError>, "F::sin: x has dtype int32: x.dtype must be floating"},
      {[] { F::cos(whole({2})); }, is<TypeError>, "F::cos: x has dtype int32: x.dtype must be floating"},
      {[] { F::tan(whole({2})); }, is<TypeError>, "F::tan: x has dtype int32: x.dtype must be floating"},
      {[] { F::arcsin(whole({2})); }, is<TypeError>, "F::arcsin: x has dtype int32: x.dtype must be floating"},
      {[] { F::arccos(whole({2})); }, is<TypeError>, "F::arccos: x has dtype int32: x.dtype must be floating"},
      {[] { F::arctan(whole({2})); }, is<TypeError>, "F::arctan: x has dtype int32: x.dtype must be floating"},
      {[] { F::arctan2(real({2}), real({3})); }, is<TypeError>,
       "F::arctan2: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::arctan2(whole({2}), whole({2})); }, is<TypeError>,
       "F::arctan2: x1 has dtype int32: x1.dtype must be floating"},
      {[] { F::arctan2(absent, real({2})); }, is<TypeError>, "F::arctan2: x1 is not given: it is required"},
      {[] { F::sin(absent); }, is<TypeError>, "F::sin: x is not given: it is required"},
      {[] { F::cos(absent); }, is<TypeError>, "F::cos: x is not given: it is required"},
      {[] { F::tan(absent); }, is<TypeError>, "F::tan: x is not given: it is required"},
      {[] { F::arcsin(absent); }, is<TypeError>, "F::arcsin: x is not given: it is required"},
      {[] { F::arccos(absent); }, is<TypeError>, "F::arccos: x is not given: it is required"},
      {[] { F::arctan(absent); }, is<TypeError>, "F::arctan: x is not given: it is required"},
      {[] { F::arctan2(real({2}), absent); }, is<TypeError>, "F::arctan2: x2 is not given: it is required"},
  });
}

}  // namespace
}  // namespace kusari::misuse
