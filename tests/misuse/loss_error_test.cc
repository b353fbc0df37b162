#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of loss, errors") {
  check_misuses({
      {[] { F::absolute_error(real({2}), real({3})); }, is<TypeError>,
       "F::absolute_error: x0 has shape (2,) but x1 has shape (3,): x0.shape must equal x1.shape"},
      {[] { F::absolute_error(real({2}), wide({2})); }, is<TypeError>,
       "F::absolute_error: x0 has dtype float32 but x1 has dtype float64: x0.dtype must equal x1.dtype (float32 != "
       "float64)"},
      {[] { F::absolute_error(whole({2}), whole({2})); }, is<TypeError>,
       "F::absolute_error: x0 has dtype int32: x0.dtype must be floating"},
      {[] { F::absolute_error(absent, real({2})); }, is<TypeError>,
       "F::absolute_error: x0 is not given: it is required"},
      {[] { F::absolute_error(real({2}), absent); }, is<TypeError>,
       "F::absolute_error: x1 is not given: it is required"},
      {[] { F::mean_absolute_error(real({2}), real({3})); }, is<TypeError>,
       "F::mean_absolute_error: x0 has shape (2,) but x1 has shape (3,): x0.shape must equal x1.shape"},
      {[] { F::mean_absolute_error(absent, real({3})); }, is<TypeError>,
       "F::mean_absolute_error: x0 is not given: it is required"},
      {[] { F::mean_squared_error(real({2}), real({3})); }, is<TypeError>,
       "F::mean_squared_error: x0 has shape (2,) but x1 has shape (3,): x0.shape must equal x1.shape"},
      {[] { F::mean_squared_error(absent, real({3})); }, is<TypeError>,
       "F::mean_squared_error: x0 is not given: it is required"},
      {[] { F::mean_squared_error(whole({2}), whole({2})); }, is<TypeError>,
       "F::mean_squared_error: x0 has dtype int32: x0.dtype must be floating"},
      {[] { F::squared_error(real({2}), real({3})); }, is<TypeError>,
       "F::squared_error: x0 has shape (2,) but x1 has shape (3,): x0.shape must equal x1.shape"},
      {[] { F::squared_error(absent, real({3})); }, is<TypeError>, "F::squared_error: x0 is not given: it is required"},
      {[] { F::squared_difference(real({2}), real({3})); }, is<TypeError>,
       "F::squared_error: x0 has shape (2,) but x1 has shape (3,): x0.shape must equal x1.shape"},
      {[] {
         F::huber_loss(real({2, 3}), real({2, 4}), 1);
       },
       is<TypeError>, "F::huber_loss: x has shape (2, 3) but t has shape (2, 4): x.shape must equal t.shape"},
      {[] {
         F::huber_loss(real({2, 3}), wide({2, 3}), 1);
       },
       is<TypeError>, "F::huber_loss: x has dtype float32 but t has dtype float64: x.dtype must equal t.dtype"},
      {[] {
         F::huber_loss(real({2, 3}), real({2, 3}), -1);
       },
       is<ValueError>, "F::huber_loss: delta is -1: it must not be negative"},
      {[] {
         F::huber_loss(real({2, 3}), real({2, 3}), kNaN);
       },
       is<ValueError>, "F::huber_loss: delta is nan: it must not be negative"},
      {[] { F::huber_loss(real({2}), real({2}), 1); }, is<TypeError>,
       "F::huber_loss: x has shape (2,): x.ndim must be at least 2 to sum along the second axis (1 < 2)"},
      {[] {
         F::huber_loss(absent, real({2, 3}), 1);
       },
       is<TypeError>, "F::huber_loss: x is not given: it is required"},
      {[] {
         F::huber_loss(real({2, 3}), absent, 1);
       },
       is<TypeError>, "F::huber_loss: t is not given: it is required"},
  });
}

}  // namespace
}  // namespace kusari::misuse
