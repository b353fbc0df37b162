#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of math, arithmetic") {
  check_misuses({
      {[] { F::floor(whole({2})); }, is<TypeError>, "F::floor: x has dtype int32: x.dtype must be floating"},
      {[] { F::floor(absent); }, is<TypeError>, "F::floor: x is not given: it is required"},
      {[] { static_cast<void>(real({2}) + real({3})); }, is<TypeError>,
       "F::add: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { static_cast<void>(real({2}) + wide({2})); }, is<TypeError>,
       "F::add: a has dtype float32 but b has dtype float64: a.dtype must equal b.dtype (float32 != float64)"},
      {[] { static_cast<void>(real({2}) - absent); }, is<TypeError>, "F::sub: b is not given: it is required"},
      {[] { static_cast<void>(absent * real({2})); }, is<TypeError>, "F::mul: a is not given: it is required"},
      {[] { static_cast<void>(whole({2}) / whole({2})); }, is<TypeError>,
       "F::div: a has dtype int32: a.dtype must be floating"},
      {[] { static_cast<void>(-absent); }, is<TypeError>, "F::neg: x is not given: it is required"},
      {[] { static_cast<void>(real({2}) / real({3})); }, is<TypeError>,
       "F::div: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::add(real({2}), real({3})); }, is<TypeError>,
       "F::add: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::add(real({2}), real({2}), real({3})); }, is<TypeError>,
       "F::add: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::add(kNothing); }, is<ValueError>, "F::add: there must be at least one argument"},
      {[] { F::add(real({2}), absent); }, is<TypeError>, "F::add: b is not given: it is required"},
      {[] { F::pow(whole({2}), whole({2})); }, is<TypeError>,
       "F::pow: base has dtype int32: base.dtype must be floating"},
      {[] { F::pow(whole({2}), -2); }, is<ValueError>,
       "F::pow: base has dtype int32 and exponent is -2: integers have no negative integer powers"},
      {[] { static_cast<void>(whole({2}) + (int64_t{1} << 31)); }, is<ValueError>,
       "F::add: the number 2147483648 does not fit into an array of dtype int32"},
      {[] { static_cast<void>(Variable(ones({2}, Dtype::uint8), false) * -1); }, is<ValueError>,
       "F::mul: the number -1 does not fit into an array of dtype uint8"},
      {[] { F::pow(real({2}), real({3})); }, is<TypeError>,
       "F::pow: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::pow(absent, 2); }, is<TypeError>, "F::pow: base is not given: it is required"},
      {[] { F::pow(2, absent); }, is<TypeError>, "F::pow: exponent is not given: it is required"},
      {[] { F::absolute(absent); }, is<TypeError>, "F::absolute: x is not given: it is required"},
      {[] { F::pow(real({2}), wide({2})); }, is<TypeError>,
       "F::pow: base has dtype float32 but exponent has dtype float64: base.dtype must equal exponent.dtype (float32 "
       "!= float64)"},
      {[] { static_cast<void>(real({2}) + 1.0 + ones({3}, Dtype::float64)); }, is<TypeError>,
       "F::add: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { static_cast<void>(2.0 - absent); }, is<TypeError>, "F::sub: b is not given: it is required"},
      {[] { static_cast<void>(absent + 1); }, is<TypeError>, "F::add: a is not given: it is required"},
      {[] {
         F::bias(real({2, 3}), real({2}));
       },
       is<ValueError>,
       "F::bias: x has shape (2, 3) but y has shape (2,): y must have the sizes of x's axes from axis 1 on"},
      {[] {
         F::bias(real({2, 3}), real({3}), 2);
       },
       is<IndexError>, "F::bias: axis 2 is out of range for 2 axes"},
      {[] { F::bias(absent, real({3})); }, is<TypeError>, "F::bias: x is not given: it is required"},
      {[] {
         F::bias(real({2, 3}), absent);
       },
       is<TypeError>, "F::bias: y is not given: it is required"},
      {[] {
         F::scale(real({2, 3}), real({2}));
       },
       is<ValueError>,
       "F::scale: x has shape (2, 3) but y has shape (2,): y must have the sizes of x's axes from axis 1 on"},
      {[] {
         F::scale(real({2, 3}), real({3}), 2);
       },
       is<IndexError>, "F::scale: axis 2 is out of range for 2 axes"},
      {[] { F::scale(absent, real({3})); }, is<TypeError>, "F::scale: x is not given: it is required"},
      {[] {
         F::scale(real({2, 3}), absent);
       },
       is<TypeError>, "F::scale: y is not given: it is required"},
      {[] {
         F::scale(real({2, 3}), wide({3}));
       },
       is<TypeError>,
       "F::scale: x has dtype float32 but y has dtype float64: x.dtype must equal y.dtype (float32 != float64)"},
      {[] {
         F::bias(real({2, 3}), wide({3}));
       },
       is<TypeError>,
       "F::bias: x has dtype float32 but y has dtype float64: x.dtype must equal y.dtype (float32 != float64)"},
      {[] { F::clip(real({2}), 1, 0); }, is<ValueError>, "F::clip: x_min 1 must be at most x_max 0"},
      {[] { F::clip(real({2}), kNaN, 1); }, is<ValueError>, "F::clip: x_min nan must be at most x_max 1"},
      {[] { F::clip(absent, 0, 1); }, is<TypeError>, "F::clip: x is not given: it is required"},
      {[] { F::clip(whole({2}), 0, 1); }, is<TypeError>, "F::clip: x has dtype int32: x.dtype must be floating"},
      {[] { F::fmod(real({2}), real({3})); }, is<TypeError>,
       "F::fmod: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::fmod(real({2}), wide({2})); }, is<TypeError>,
       "F::fmod: x has dtype float32 but divisor has dtype float64: x.dtype must equal divisor.dtype (float32 != "
       "float64)"},
      {[] { F::fmod(whole({2}), whole({2})); }, is<TypeError>, "F::fmod: x has dtype int32: x.dtype must be floating"},
      {[] { F::fmod(absent, real({2})); }, is<TypeError>, "F::fmod: x is not given: it is required"},
      {[] { F::fmod(real({2}), absent); }, is<TypeError>, "F::fmod: divisor is not given: it is required"},
      {[] { F::linear_interpolate(real({2}), real({3}), real({2})); }, is<TypeError>,
       "F::linear_interpolate: x has shape (3,) but p has shape (2,): x.shape must equal p.shape"},
      {[] { F::linear_interpolate(real({2}), wide({2}), real({2})); }, is<TypeError>,
       "F::linear_interpolate: x has dtype float64 but p has dtype float32: x.dtype must equal p.dtype (float64 != "
       "float32)"},
      {[] { F::linear_interpolate(absent, real({2}), real({2})); }, is<TypeError>,
       "F::linear_interpolate: p is not given: it is required"},
      {[] { F::linear_interpolate(real({2}), absent, real({2})); }, is<TypeError>,
       "F::linear_interpolate: x is not given: it is required"},
      {[] { F::linear_interpolate(whole({2}), whole({2}), whole({2})); }, is<TypeError>,
       "F::linear_interpolate: p has dtype int32: p.dtype must be floating"},
      {[] { F::maximum(real({2}), real({3})); }, is<TypeError>,
       "F::maximum: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::maximum(real({2}), wide({2})); }, is<TypeError>,
       "F::maximum: x1 has dtype float32 but x2 has dtype float64: x1.dtype must equal x2.dtype (float32 != float64)"},
      {[] { F::maximum(absent, real({2})); }, is<TypeError>, "F::maximum: x1 is not given: it is required"},
      {[] { F::maximum(real({2}), absent); }, is<TypeError>, "F::maximum: x2 is not given: it is required"},
      {[] { F::minimum(real({2}), real({3})); }, is<TypeError>,
       "F::minimum: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::minimum(absent, real({2})); }, is<TypeError>, "F::minimum: x1 is not given: it is required"},
      {[] { F::ceil(whole({2})); }, is<TypeError>, "F::ceil: x has dtype int32: x.dtype must be floating"},
      {[] { F::fix(whole({2})); }, is<TypeError>, "F::fix: x has dtype int32: x.dtype must be floating"},
      {[] { F::ceil(absent); }, is<TypeError>, "F::ceil: x is not given: it is required"},
      {[] { F::fix(absent); }, is<TypeError>, "F::fix: x is not given: it is required"},
      {[] { F::sign(absent); }, is<TypeError>, "F::sign: x is not given: it is required"},
      {[] { F::sqrt(whole({2})); }, is<TypeError>, "F::sqrt: x has dtype int32: x.dtype must be floating"},
      {[] { F::rsqrt(whole({2})); }, is<TypeError>, "F::rsqrt: x has dtype int32: x.dtype must be floating"},
      {[] { F::sqrt(absent); }, is<TypeError>, "F::sqrt: x is not given: it is required"},
      {[] { F::rsqrt(absent); }, is<TypeError>, "F::rsqrt: x is not given: it is required"},
      {[] { F::square(absent); }, is<TypeError>, "F::square: x is not given: it is required"},
      {[] { F::square(whole({2})); }, is<TypeError>, "F::square: x has dtype int32: x.dtype must be floating"},
  });
}

}  // namespace
}  // namespace kusari::misuse
