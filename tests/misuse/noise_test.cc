#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of noise") {
  check_misuses({
      {[] { F::dropout(real({2}), 1); }, is<ValueError>, "F::dropout: ratio 1 must be in [0, 1)"},
      {[] { F::dropout(real({2}), -0.1); }, is<ValueError>, "F::dropout: ratio -0.1 must be in [0, 1)"},
      {[] { F::dropout(real({2}), kNaN); }, is<ValueError>, "F::dropout: ratio nan must be in [0, 1)"},
      {[] { F::dropout(whole({2})); }, is<TypeError>, "F::dropout: x has dtype int32: x.dtype must be floating"},
      {[] { F::dropout(absent); }, is<TypeError>, "F::dropout: x is not given: it is required"},
      {[] { F::dropout(real({2}), 0.5, {.mask = ones({3})}); }, is<TypeError>,
       "F::dropout: mask has shape (3,) but x has shape (2,): mask.shape must equal x.shape"},
      {[] { F::gaussian(real({2}), real({3})); }, is<TypeError>,
       "F::gaussian: mean has shape (2,) but ln_var has shape (3,): mean.shape must equal ln_var.shape"},
      {[] { F::gaussian(real({2}), wide({2})); }, is<TypeError>,
       "F::gaussian: mean has dtype float32 but ln_var has dtype float64: mean.dtype must equal ln_var.dtype (float32 "
       "!= float64)"},
      {[] { F::gaussian(whole({2}), whole({2})); }, is<TypeError>,
       "F::gaussian: mean has dtype int32: mean.dtype must be floating"},
      {[] { F::gaussian(absent, real({2})); }, is<TypeError>, "F::gaussian: mean is not given: it is required"},
      {[] { F::gaussian(real({2}), absent); }, is<TypeError>, "F::gaussian: ln_var is not given: it is required"},
      {[] { F::gaussian(real({2}), real({2}), {.eps = ones({3})}); }, is<TypeError>,
       "F::gaussian: eps has shape (3,) but ln_var has shape (2,): eps.shape must equal ln_var.shape"},
      {[] { F::gaussian(real({2}), real({2}), {.eps = ones({2}, Dtype::float64)}); }, is<TypeError>,
       "F::gaussian: eps has dtype float64 but ln_var has dtype float32: eps.dtype must equal ln_var.dtype (float64 != "
       "float32)"},
      {[] {
         F::gumbel_softmax(real({2, 3}), 0);
       },
       is<ValueError>, "F::gumbel_softmax: tau is 0: it must be positive"},
      {[] {
         F::gumbel_softmax(real({2, 3}), -1);
       },
       is<ValueError>, "F::gumbel_softmax: tau is -1: it must be positive"},
      {[] {
         F::gumbel_softmax(real({2, 3}), kNaN);
       },
       is<ValueError>, "F::gumbel_softmax: tau is nan: it must be positive"},
      {[] {
         F::gumbel_softmax(real({2, 3}), 1, 2);
       },
       is<IndexError>, "F::gumbel_softmax: axis 2 is out of range for 2 axes"},
      {[] {
         F::gumbel_softmax(whole({2, 3}));
       },
       is<TypeError>, "F::gumbel_softmax: log_pi has dtype int32: log_pi.dtype must be floating"},
      {[] { F::gumbel_softmax(absent); }, is<TypeError>, "F::gumbel_softmax: log_pi is not given: it is required"},
      {[] {
         F::gumbel_softmax(real({2, 3}), absent);
       },
       is<TypeError>, "F::gumbel_softmax: tau is not given: it is required"},
      {[] {
         F::simplified_dropconnect(real({2, 3}), real({4, 5}));
       },
       is<TypeError>,
       "F::simplified_dropconnect: x flattened has shape (2, 3) but W has shape (4, 5): x flattened.shape[1] must "
       "equal W.shape[1] (3 != 5)"},
      {[] {
         F::simplified_dropconnect(real({2, 3}), real({4, 3}), real({3}));
       },
       is<TypeError>,
       "F::simplified_dropconnect: b has shape (3,) but W has shape (4, 3): b.shape[0] must equal W.shape[0] (3 != 4)"},
      {[] {
         F::simplified_dropconnect(real({2, 3}), real({4, 3}), absent, {.ratio = 1});
       },
       is<ValueError>, "F::simplified_dropconnect: ratio 1 must be in [0, 1)"},
      {[] {
         F::simplified_dropconnect(real({2, 3}), real({4, 3}), absent, {.ratio = -1});
       },
       is<ValueError>, "F::simplified_dropconnect: ratio -1 must be in [0, 1)"},
      {[] {
         F::simplified_dropconnect(real({2, 3}), real({4, 3}), absent, {.mask = ones({4, 2}, Dtype::bool_)});
       },
       is<TypeError>,
       "F::simplified_dropconnect: mask has shape (4, 2) but W has shape (4, 3): mask.shape[-1] must equal W.shape[1] "
       "(2 != 3)"},
      {[] {
         F::simplified_dropconnect(absent, real({4, 3}));
       },
       is<TypeError>, "F::simplified_dropconnect: x is not given: it is required"},
      {[] {
         F::simplified_dropconnect(real({4, 3}), absent);
       },
       is<TypeError>, "F::simplified_dropconnect: W is not given: it is required"},
      {[] {
         F::simplified_dropconnect(real({}), real({4, 3}));
       },
       is<TypeError>, "F::simplified_dropconnect: x has shape (): x.ndim must be at least 2 (0 < 2)"},
      {[] { F::zoneout(real({2}), real({3})); }, is<TypeError>,
       "F::zoneout: h has shape (2,) but x has shape (3,): h.shape must equal x.shape"},
      {[] { F::zoneout(real({2}), real({2}), -0.5); }, is<ValueError>, "F::zoneout: ratio -0.5 must be in [0, 1]"},
      {[] { F::zoneout(real({2}), real({2}), kNaN); }, is<ValueError>, "F::zoneout: ratio nan must be in [0, 1]"},
      {[] { F::zoneout(whole({2}), whole({2})); }, is<TypeError>,
       "F::zoneout: x has dtype int32: x.dtype must be floating"},
      {[] { F::zoneout(absent, real({2})); }, is<TypeError>, "F::zoneout: h is not given: it is required"},
      {[] { F::zoneout(real({2}), absent); }, is<TypeError>, "F::zoneout: x is not given: it is required"},
      {[] { F::zoneout(real({2}), wide({2})); }, is<TypeError>,
       "F::zoneout: h has dtype float32 but x has dtype float64: h.dtype must equal x.dtype (float32 != float64)"},
  });
}

}  // namespace
}  // namespace kusari::misuse
