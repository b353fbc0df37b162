#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

using utils::CooMatrix;

TEST_CASE("misuse: functions of math, 1") {
  check_misuses({
      {[] {
         F::average(real({2, 3}), 2);
       },
       is<IndexError>, "F::average: axis 2 is out of range for 2 axes"},
      {[] {
         F::average(real({2, 3}), {0, 0});
       },
       is<ValueError>, "F::average: axis 0 comes twice"},
      {[] {
         F::average(real({2, 3}), 0, real({3}));
       },
       is<TypeError>, "F::average: x has shape (2, 3) but weights has shape (3,): weights.shape must be (x.shape[0],)"},
      {[] {
         F::average(real({2, 3}), {0, 1}, real({2}));
       },
       is<ValueError>, "F::average: axis has 2 axes: with weights it must be one axis or all"},
      {[] { F::average(whole({2})); }, is<TypeError>, "F::average: x has dtype int32: x.dtype must be floating"},
      {[] { F::average(absent); }, is<TypeError>, "F::average: x is not given: it is required"},
      {[] {
         F::average(real({2, 3}), -3);
       },
       is<IndexError>, "F::average: axis -3 is out of range for 2 axes"},
      {[] {
         F::average(real({2, 3}), 0, wide({2}));
       },
       is<TypeError>,
       "F::average: x has dtype float32 but weights has dtype float64: x.dtype must equal weights.dtype (float32 != "
       "float64)"},
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
      {[] { F::pow(whole({2}), 2); }, is<TypeError>, "F::pow: base has dtype int32: base.dtype must be floating"},
      {[] { F::pow(real({2}), real({3})); }, is<TypeError>,
       "F::pow: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::pow(absent, 2); }, is<TypeError>, "F::pow: base is not given: it is required"},
      {[] { F::pow(2, absent); }, is<TypeError>, "F::pow: exponent is not given: it is required"},
      {[] { F::absolute(absent); }, is<TypeError>, "F::absolute: x is not given: it is required"},
      {[] { F::absolute(whole({2})); }, is<TypeError>, "F::absolute: x has dtype int32: x.dtype must be floating"},
      {[] { F::pow(real({2}), wide({2})); }, is<TypeError>,
       "F::pow: base has dtype float32 but exponent has dtype float64: base.dtype must equal exponent.dtype (float32 "
       "!= float64)"},
      {[] { static_cast<void>(real({2}) + 1.0 + ones({3}, Dtype::float64)); }, is<TypeError>,
       "F::add: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { static_cast<void>(2.0 - absent); }, is<TypeError>, "F::rsub_const: x is not given: it is required"},
      {[] { static_cast<void>(absent + 1); }, is<TypeError>, "F::add_const: x is not given: it is required"},
      {[] { F::batch_l2_norm_squared(real({2})); }, is<TypeError>,
       "F::batch_l2_norm_squared: x has shape (2,): x.ndim must be at least 2 (1 < 2)"},
      {[] {
         F::batch_l2_norm_squared(whole({2, 3}));
       },
       is<TypeError>, "F::batch_l2_norm_squared: x has dtype int32: x.dtype must be floating"},
      {[] { F::batch_l2_norm_squared(absent); }, is<TypeError>,
       "F::batch_l2_norm_squared: x is not given: it is required"},
      {[] { F::batch_l2_norm_squared(real({})); }, is<TypeError>,
       "F::batch_l2_norm_squared: x has shape (): x.ndim must be at least 2 (0 < 2)"},
      {[] {
         F::batch_matmul(real({2, 3, 4}), real({3, 4, 5}));
       },
       is<TypeError>,
       "F::batch_matmul: a has shape (2, 3, 4) but b has shape (3, 4, 5): there must be as many matrices, and their "
       "inner sizes must be equal"},
      {[] {
         F::batch_matmul(real({2, 3, 4}), real({2, 3, 5}));
       },
       is<TypeError>,
       "F::batch_matmul: a has shape (2, 3, 4) but b has shape (2, 3, 5): there must be as many matrices, and their "
       "inner sizes must be equal"},
      {[] {
         F::batch_matmul(real({2, 3, 4, 5}), real({2, 5}));
       },
       is<TypeError>, "F::batch_matmul: a has shape (2, 3, 4, 5): a.ndim must be 2 or 3"},
      {[] {
         F::batch_matmul(absent, real({2, 3}));
       },
       is<TypeError>, "F::batch_matmul: a is not given: it is required"},
      {[] {
         F::batch_matmul(real({2, 3}), absent);
       },
       is<TypeError>, "F::batch_matmul: b is not given: it is required"},
      {[] { F::batch_matmul(real({2}), real({2})); }, is<TypeError>,
       "F::batch_matmul: a has shape (2,): a.ndim must be 2 or 3"},
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
      {[] {
         F::cholesky(real({2, 3}));
       },
       is<TypeError>, "F::cholesky: a has shape (2, 3): a.shape[0] must equal a.shape[1] (2 != 3)"},
      {[] { F::cholesky(real({2})); }, is<TypeError>, "F::cholesky: a has shape (2,): a.ndim must equal 2 (1 != 2)"},
      {[] {
         F::cholesky(Variable(zeros({2, 2})));
       },
       is<ValueError>, "F::cholesky: a is not positive definite"},
      {[] {
         F::cholesky(whole({2, 2}));
       },
       is<TypeError>, "F::cholesky: a has dtype int32: a.dtype must be floating"},
      {[] { F::cholesky(absent); }, is<TypeError>, "F::cholesky: a is not given: it is required"},
      {[] {
         F::cholesky(Variable(full({2, 2}, kNaN, Dtype::float32)));
       },
       is<ValueError>, "F::cholesky: a is not positive definite"},
      {[] { F::clip(real({2}), 1, 0); }, is<ValueError>, "F::clip: x_min 1.000000 must be at most x_max 0.000000"},
      {[] { F::clip(real({2}), kNaN, 1); }, is<ValueError>, "F::clip: x_min nan must be at most x_max 1.000000"},
      {[] { F::clip(absent, 0, 1); }, is<TypeError>, "F::clip: x is not given: it is required"},
      {[] { F::clip(whole({2}), 0, 1); }, is<TypeError>, "F::clip: x has dtype int32: x.dtype must be floating"},
      {[] {
         CooMatrix(real({2}), ones({3}, Dtype::int32), ones({2}, Dtype::int32), {3, 3});
       },
       is<ValueError>, "utils::CooMatrix: row has shape (3,) but data has shape (2,): they must be equal"},
      {[] { CooMatrix(real({2}), ones({2}, Dtype::int32), ones({2}, Dtype::int32), {3}); }, is<ValueError>,
       "utils::CooMatrix: shape (3,) must have two sizes"},
      {[] {
         CooMatrix(real({2}), full({2}, 9, Dtype::int32), ones({2}, Dtype::int32), {3, 3});
       },
       is<IndexError>, "utils::CooMatrix: row holds 9 but the matrix has 3"},
      {[] {
         CooMatrix(real({2}), ones({2}), ones({2}, Dtype::int32), {3, 3});
       },
       is<TypeError>, "utils::CooMatrix: row has dtype float32 but must have int32 or int64"},
      {[] {
         CooMatrix(absent, ones({2}, Dtype::int32), ones({2}, Dtype::int32), {3, 3});
       },
       is<TypeError>, "utils::CooMatrix: data is not given: it is required"},
      {[] {
         CooMatrix(real({2}), Array(), ones({2}, Dtype::int32), {3, 3});
       },
       is<TypeError>, "utils::CooMatrix: row is not given: it is required"},
      {[] {
         CooMatrix(real({2}), ones({2}, Dtype::int32), Array(), {3, 3});
       },
       is<TypeError>, "utils::CooMatrix: col is not given: it is required"},
      {[] {
         CooMatrix(real({2}), ones({2}, Dtype::int32), full({2}, -5, Dtype::int32), {3, 3}).to_dense();
       },
       is<IndexError>, "utils::CooMatrix: col holds -5 but the matrix has 3"},
      {[] {
         CooMatrix(real({2}), full({2}, 9, Dtype::int32), ones({2}, Dtype::int32), {3, 3}).to_dense();
       },
       is<IndexError>, "utils::CooMatrix: row holds 9 but the matrix has 3"},
      {[] { utils::to_coo(ones({2})); }, is<TypeError>,
       "utils::to_coo: x has dtype float32 and shape (2,) but must be floating and have 2 or 3 axes"},
      {[] {
         utils::to_coo(ones({1, 2, 2}), 1);
       },
       is<ValueError>, "utils::to_coo: ldnz is 1 but a matrix has 4 elements that are not zero"},
      {[] { utils::to_coo(Array()); }, is<TypeError>,
       "utils::to_coo: x is not given but must be floating and have 2 or 3 axes"},
      {[] {
         CooMatrix(real({2}), ones({2}, Dtype::int32), ones({2}, Dtype::int32), {-3, 3});
       },
       is<IndexError>, "utils::CooMatrix: row holds 1 but the matrix has -3"},
  });
}

}  // namespace
}  // namespace kusari::misuse
