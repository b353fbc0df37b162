#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of math, 3") {
  check_misuses({
      {[] { F::log2(whole({2})); }, is<TypeError>, "F::log2: x has dtype int32: x.dtype must be floating"},
      {[] { F::log10(whole({2})); }, is<TypeError>, "F::log10: x has dtype int32: x.dtype must be floating"},
      {[] { F::log2(absent); }, is<TypeError>, "F::log2: x is not given: it is required"},
      {[] { F::log10(absent); }, is<TypeError>, "F::log10: x is not given: it is required"},
      {[] { F::expm1(whole({2})); }, is<TypeError>, "F::expm1: x has dtype int32: x.dtype must be floating"},
      {[] { F::log1p(whole({2})); }, is<TypeError>, "F::log1p: x has dtype int32: x.dtype must be floating"},
      {[] { F::expm1(absent); }, is<TypeError>, "F::expm1: x is not given: it is required"},
      {[] { F::log1p(absent); }, is<TypeError>, "F::log1p: x is not given: it is required"},
      {[] { F::fft({real({4})}); }, is<ValueError>,
       "F::fft: x has 1 parts: they must be 2, the real and the imaginary one"},
      {[] {
         F::fft({real({4}), real({5})});
       },
       is<TypeError>, "F::fft: real has shape (4,) but imag has shape (5,): real.shape must equal imag.shape"},
      {[] {
         F::fft({real({4}), wide({4})});
       },
       is<TypeError>,
       "F::fft: real has dtype float32 but imag has dtype float64: real.dtype must equal imag.dtype (float32 != "
       "float64)"},
      {[] { F::fft(kNothing); }, is<ValueError>,
       "F::fft: x has 0 parts: they must be 2, the real and the imaginary one"},
      {[] {
         F::ifft({real({4}), absent});
       },
       is<TypeError>, "F::ifft: imag is not given: it is required"},
      {[] { F::ifft({real({4})}); }, is<ValueError>,
       "F::ifft: x has 1 parts: they must be 2, the real and the imaginary one"},
      {[] {
         F::fft({real({}), real({})});
       },
       is<TypeError>, "F::fft: real has shape (): real.ndim must be at least 1 (0 < 1)"},
      {[] {
         F::fft({whole({4}), whole({4})});
       },
       is<TypeError>, "F::fft: real has dtype int32: real.dtype must be floating"},
      {[] {
         F::ifft({real({4}), real({5})});
       },
       is<TypeError>, "F::ifft: real has shape (4,) but imag has shape (5,): real.shape must equal imag.shape"},
      {[] {
         F::fft({absent, real({4})});
       },
       is<TypeError>, "F::fft: real is not given: it is required"},
      {[] {
         F::fft({real({0}), real({0})});
       },
       is<TypeError>, "F::fft: real has shape (0,): real.shape[-1] must be at least 1 (0 < 1)"},
      {[] { F::fmod(real({2}), real({3})); }, is<TypeError>,
       "F::fmod: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::fmod(real({2}), wide({2})); }, is<TypeError>,
       "F::fmod: x has dtype float32 but divisor has dtype float64: x.dtype must equal divisor.dtype (float32 != "
       "float64)"},
      {[] { F::fmod(whole({2}), whole({2})); }, is<TypeError>, "F::fmod: x has dtype int32: x.dtype must be floating"},
      {[] { F::fmod(absent, real({2})); }, is<TypeError>, "F::fmod: x is not given: it is required"},
      {[] { F::fmod(real({2}), absent); }, is<TypeError>, "F::fmod: divisor is not given: it is required"},
      {[] { F::sinh(whole({2})); }, is<TypeError>, "F::sinh: x has dtype int32: x.dtype must be floating"},
      {[] { F::cosh(whole({2})); }, is<TypeError>, "F::cosh: x has dtype int32: x.dtype must be floating"},
      {[] { F::arctanh(whole({2})); }, is<TypeError>, "F::arctanh: x has dtype int32: x.dtype must be floating"},
      {[] { F::sinh(absent); }, is<TypeError>, "F::sinh: x is not given: it is required"},
      {[] { F::cosh(absent); }, is<TypeError>, "F::cosh: x is not given: it is required"},
      {[] { F::arctanh(absent); }, is<TypeError>, "F::arctanh: x is not given: it is required"},
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
      {[] { F::logsumexp(real({2}), 1); }, is<IndexError>, "F::logsumexp: axis 1 is out of range for 1 axes"},
      {[] { F::logsumexp(whole({2})); }, is<TypeError>, "F::logsumexp: x has dtype int32: x.dtype must be floating"},
      {[] { F::logsumexp(absent); }, is<TypeError>, "F::logsumexp: x is not given: it is required"},
      {[] {
         F::logsumexp(real({2, 3}), {0, 0});
       },
       is<ValueError>, "F::logsumexp: axis 0 comes twice"},
      {[] { F::maximum(real({2}), real({3})); }, is<TypeError>,
       "F::maximum: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::maximum(real({2}), wide({2})); }, is<TypeError>,
       "F::maximum: x1 has dtype float32 but x2 has dtype float64: x1.dtype must equal x2.dtype (float32 != float64)"},
      {[] { F::maximum(whole({2}), whole({2})); }, is<TypeError>,
       "F::maximum: x1 has dtype int32: x1.dtype must be floating"},
      {[] { F::maximum(absent, real({2})); }, is<TypeError>, "F::maximum: x1 is not given: it is required"},
      {[] { F::maximum(real({2}), absent); }, is<TypeError>, "F::maximum: x2 is not given: it is required"},
      {[] { F::minimum(real({2}), real({3})); }, is<TypeError>,
       "F::minimum: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::minimum(absent, real({2})); }, is<TypeError>, "F::minimum: x1 is not given: it is required"},
      {[] { F::argmax(real({2}), 1); }, is<IndexError>, "F::argmax: axis 1 is out of range for 1 axes"},
      {[] { F::argmax(real({0})); }, is<ValueError>,
       "F::argmax: x has shape (0,): an axis without elements has no extreme"},
      {[] { F::argmin(absent); }, is<TypeError>, "F::argmin: x is not given: it is required"},
      {[] { F::argmax(absent); }, is<TypeError>, "F::argmax: x is not given: it is required"},
      {[] { F::argmin(real({0})); }, is<ValueError>,
       "F::argmin: x has shape (0,): an axis without elements has no extreme"},
      {[] { F::argmin(real({2}), 1); }, is<IndexError>, "F::argmin: axis 1 is out of range for 1 axes"},
      {[] {
         F::argmax(real({2, 0}), 1);
       },
       is<ValueError>, "F::argmax: x has shape (2, 0): an axis without elements has no extreme"},
      {[] { F::ceil(whole({2})); }, is<TypeError>, "F::ceil: x has dtype int32: x.dtype must be floating"},
      {[] { F::fix(whole({2})); }, is<TypeError>, "F::fix: x has dtype int32: x.dtype must be floating"},
      {[] { F::ceil(absent); }, is<TypeError>, "F::ceil: x is not given: it is required"},
      {[] { F::fix(absent); }, is<TypeError>, "F::fix: x is not given: it is required"},
      {[] { F::sign(absent); }, is<TypeError>, "F::sign: x is not given: it is required"},
      {[] { F::sign(whole({2})); }, is<TypeError>, "F::sign: x has dtype int32: x.dtype must be floating"},
      {[] { F::sqrt(whole({2})); }, is<TypeError>, "F::sqrt: x has dtype int32: x.dtype must be floating"},
  });
}

}  // namespace
}  // namespace kusari::misuse
