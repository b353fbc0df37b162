#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

using utils::CooMatrix;

utils::CooMatrix coo() { return utils::CooMatrix(real({2}), ones({2}, Dtype::int32), ones({2}, Dtype::int32), {3, 3}); }

TEST_CASE("misuse: functions of math, linear algebra") {
  check_misuses({
      {[] {
         F::matmul(real({2, 3}), real({4, 5}));
       },
       is<TypeError>,
       "F::matmul: a has shape (2, 3) but b has shape (4, 5): a.shape[-1] must equal b.shape[-2] (3 != 4)"},
      {[] { F::matmul(real({}), real({2})); }, is<TypeError>,
       "F::matmul: a has shape (): a.ndim must be at least 1 (0 < 1)"},
      {[] {
         F::matmul(real({2, 3, 4}), real({3, 4, 5}));
       },
       is<TypeError>, "F::matmul: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::matmul(absent, real({2})); }, is<TypeError>, "F::matmul: a is not given: it is required"},
      {[] {
         F::matmul(real({2, 3}), real({2, 3}), {.transa = true, .transb = true});
       },
       is<TypeError>,
       "F::matmul: a has shape (2, 3) but b has shape (2, 3): a.shape[-2] must equal b.shape[-1] (2 != 3)"},
      {[] { F::matmul(real({3}), real({4})); }, is<TypeError>,
       "F::matmul: a has shape (1, 3) but b has shape (4, 1): a.shape[-1] must equal b.shape[-2] (3 != 4)"},
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
         F::cholesky(real({2, 3}));
       },
       is<TypeError>, "F::cholesky: a has shape (2, 3): a.shape[-2] must equal a.shape[-1] (2 != 3)"},
      {[] { F::cholesky(real({2})); }, is<TypeError>,
       "F::cholesky: a has shape (2,): a.ndim must be at least 2 (1 < 2)"},
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
      {[] {
         F::sparse_matmul(coo(), real({4, 2}));
       },
       is<TypeError>,
       "F::sparse_matmul: a has shape (3, 3) but b has shape (4, 2): their inner sizes must be equal (3 != 4)"},
      {[] {
         F::sparse_matmul(real({2, 4}), coo());
       },
       is<TypeError>,
       "F::sparse_matmul: a has shape (2, 4) but b has shape (3, 3): their inner sizes must be equal (4 != 3)"},
      {[] { F::sparse_matmul(coo(), real({3})); }, is<TypeError>,
       "F::sparse_matmul: b has shape (3,): b.ndim must equal 2 (1 != 2)"},
      {[] { F::sparse_matmul(coo(), absent); }, is<TypeError>, "F::sparse_matmul: b is not given: it is required"},
      {[] { F::sparse_matmul(absent, coo()); }, is<TypeError>, "F::sparse_matmul: a is not given: it is required"},
      {[] {
         F::sparse_matmul(coo(), real({2, 3, 3}));
       },
       is<TypeError>, "F::sparse_matmul: b has shape (2, 3, 3): b.ndim must equal 2 (3 != 2)"},
      {[] {
         F::det(real({2, 3}));
       },
       is<TypeError>, "F::det: a has shape (2, 3): a.shape[-2] must equal a.shape[-1] (2 != 3)"},
      {[] { F::det(real({2})); }, is<TypeError>, "F::det: a has shape (2,): a.ndim must be at least 2 (1 < 2)"},
      {[] {
         F::det(whole({2, 2}));
       },
       is<TypeError>, "F::det: a has dtype int32: a.dtype must be floating"},
      {[] { F::det(absent); }, is<TypeError>, "F::det: a is not given: it is required"},
      {[] {
         F::batch_det(real({2, 2}));
       },
       is<TypeError>, "F::batch_det: a has shape (2, 2): a.ndim must equal 3 (2 != 3)"},
      {[] {
         F::batch_det(real({1, 2, 3}));
       },
       is<TypeError>, "F::batch_det: a has shape (1, 2, 3): a.shape[-2] must equal a.shape[-1] (2 != 3)"},
      {[] { F::batch_det(absent); }, is<TypeError>, "F::batch_det: a is not given: it is required"},
      {[] {
         F::inv(real({2, 3}));
       },
       is<TypeError>, "F::inv: a has shape (2, 3): a.shape[-2] must equal a.shape[-1] (2 != 3)"},
      {[] {
         F::inv(Variable(zeros({2, 2})));
       },
       is<ValueError>, "F::inv: a is singular"},
      {[] { F::inv(absent); }, is<TypeError>, "F::inv: a is not given: it is required"},
      {[] {
         F::inv(whole({2, 2}));
       },
       is<TypeError>, "F::inv: a has dtype int32: a.dtype must be floating"},
      {[] {
         F::batch_inv(real({2, 2}));
       },
       is<TypeError>, "F::batch_inv: a has shape (2, 2): a.ndim must equal 3 (2 != 3)"},
      {[] {
         F::batch_inv(Variable(zeros({1, 2, 2})));
       },
       is<ValueError>, "F::batch_inv: a is singular"},
      {[] { F::batch_inv(absent); }, is<TypeError>, "F::batch_inv: a is not given: it is required"},
      {[] { F::inv(real({})); }, is<TypeError>, "F::inv: a has shape (): a.ndim must be at least 2 (0 < 2)"},
      {[] {
         F::einsum("ij,jk", {real({2, 3})});
       },
       is<ValueError>, "F::einsum: there are subscripts for 2 operands but 1 operands"},
      {[] {
         F::einsum("ij,jk->ik", {real({2, 3}), real({4, 5})});
       },
       is<TypeError>, "F::einsum: operand 1 has shape (4, 5): j has size 4 there but size 3 before"},
      {[] {
         F::einsum("ij->iz", {real({2, 3})});
       },
       is<ValueError>, "F::einsum: z is in the result but in no operand"},
      {[] { F::einsum("i!", {real({2})}); }, is<ValueError>,
       "F::einsum: '!' in \"i!\": subscripts are letters, commas, \"...\" and one \"->\""},
      {[] {
         F::einsum("ij->ii", {real({2, 3})});
       },
       is<ValueError>, "F::einsum: i comes twice in the result"},
      {[] {
         F::einsum("ijk", {real({2, 3})});
       },
       is<TypeError>, "F::einsum: operand 0 has shape (2, 3): its subscripts are for 3 axes"},
      {[] { F::einsum("i", kNothing); }, is<ValueError>,
       "F::einsum: there are subscripts for 1 operands but 0 operands"},
      {[] { F::einsum("ij", {absent}); }, is<TypeError>, "F::einsum: operand 0 is not given: it is required"},
      {[] { F::einsum("...->...->", {real({2})}); }, is<ValueError>,
       "F::einsum: \"...->...->\" has more than one \"->\""},
      {[] { F::einsum("i......", {real({2})}); }, is<ValueError>, "F::einsum: an operand has more than one \"...\""},
      {[] {
         F::einsum("ii", {real({2, 3})});
       },
       is<TypeError>, "F::einsum: operand 0 has shape (2, 3): i has size 3 there but size 2 before"},
      {[] {
         F::einsum({F::EinsumOperand{real({2}), {0, 1}}});
       },
       is<TypeError>, "F::einsum: operand 0 has shape (2,): its subscripts are for 2 axes"},
      {[] {
         F::einsum({F::EinsumOperand{real({2}), {-2}}});
       },
       is<ValueError>, "F::einsum: subscript -2: numbers are 0 to 51, or kEllipsisSubscript"},
      {[] {
         F::einsum({F::EinsumOperand{real({2}), {0}}}, std::vector<int>{1});
       },
       is<ValueError>, "F::einsum: B is in the result but in no operand"},
      {[] {
         F::einsum({F::EinsumOperand{absent, {0}}});
       },
       is<TypeError>, "F::einsum: operand 0 is not given: it is required"},
      {[] {
         F::einsum("i.j", {real({2, 2})});
       },
       is<ValueError>, "F::einsum: '.' in \"i.j\": subscripts are letters, commas, \"...\" and one \"->\""},
      {[] {
         F::einsum("i,i->", {whole({2}), whole({2})});
       },
       is<TypeError>, "F::einsum: operand 0 has dtype int32: it must be floating"},
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
  });
}

}  // namespace
}  // namespace kusari::misuse
