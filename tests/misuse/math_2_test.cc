#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

utils::CooMatrix coo() { return utils::CooMatrix(real({2}), ones({2}, Dtype::int32), ones({2}, Dtype::int32), {3, 3}); }

TEST_CASE("misuse: functions of math, 2") {
  check_misuses({
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
      {[] { F::cumprod(real({2}), 1); }, is<IndexError>, "F::cumprod: axis 1 is out of range for 1 axes"},
      {[] { F::cumprod(absent); }, is<TypeError>, "F::cumprod: x is not given: it is required"},
      {[] { F::cumprod(whole({2})); }, is<TypeError>, "F::cumprod: x has dtype int32: x.dtype must be floating"},
      {[] { F::cumsum(real({2}), -2); }, is<IndexError>, "F::cumsum: axis -2 is out of range for 1 axes"},
      {[] { F::cumsum(absent); }, is<TypeError>, "F::cumsum: x is not given: it is required"},
      {[] { F::cumsum(absent, 0); }, is<TypeError>, "F::cumsum: x is not given: it is required"},
      {[] { F::cumsum(whole({2})); }, is<TypeError>, "F::cumsum: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::det(real({2, 3}));
       },
       is<TypeError>, "F::det: a has shape (2, 3): a.shape[-2] must equal a.shape[-1] (2 != 3)"},
      {[] {
         F::det(real({2, 2, 2}));
       },
       is<TypeError>, "F::det: a has shape (2, 2, 2): a.ndim must equal 2 (3 != 2)"},
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
      {[] { F::inv(real({})); }, is<TypeError>, "F::inv: a has shape (): a.ndim must equal 2 (0 != 2)"},
      {[] { F::digamma(whole({2})); }, is<TypeError>, "F::digamma: x has dtype int32: x.dtype must be floating"},
      {[] { F::digamma(absent); }, is<TypeError>, "F::digamma: x is not given: it is required"},
      {[] { F::lgamma(whole({2})); }, is<TypeError>, "F::lgamma: x has dtype int32: x.dtype must be floating"},
      {[] { F::lgamma(absent); }, is<TypeError>, "F::lgamma: x is not given: it is required"},
      {[] { F::polygamma(-1, real({2})); }, is<ValueError>, "F::polygamma: n is -1: it must not be negative"},
      {[] { F::polygamma(1, whole({2})); }, is<TypeError>, "F::polygamma: x has dtype int32: x.dtype must be floating"},
      {[] { F::polygamma(1, absent); }, is<TypeError>, "F::polygamma: x is not given: it is required"},
      {[] { F::polygamma(whole({2}), real({3})); }, is<TypeError>,
       "F::polygamma: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::polygamma(real({2}), real({2})); }, is<TypeError>,
       "F::polygamma: n has dtype float32: n.dtype must be an integer or bool"},
      {[] { F::polygamma(absent, real({2})); }, is<TypeError>, "F::polygamma: n is not given: it is required"},
      {[] { F::zeta(real({2}), real({3})); }, is<TypeError>,
       "F::zeta: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::zeta(2, absent); }, is<TypeError>, "F::zeta: q is not given: it is required"},
      {[] { F::zeta(absent, real({2})); }, is<TypeError>, "F::zeta: x is not given: it is required"},
      {[] { F::zeta(2, whole({2})); }, is<TypeError>, "F::zeta: q has dtype int32: q.dtype must be floating"},
      {[] { F::zeta(whole({2}), whole({2})); }, is<TypeError>, "F::zeta: q has dtype int32: q.dtype must be floating"},
      {[] { F::erf(whole({2})); }, is<TypeError>, "F::erf: x has dtype int32: x.dtype must be floating"},
      {[] { F::erf(absent); }, is<TypeError>, "F::erf: x is not given: it is required"},
      {[] { F::erfc(whole({2})); }, is<TypeError>, "F::erfc: x has dtype int32: x.dtype must be floating"},
      {[] { F::erfcinv(whole({2})); }, is<TypeError>, "F::erfcinv: x has dtype int32: x.dtype must be floating"},
      {[] { F::erfcx(whole({2})); }, is<TypeError>, "F::erfcx: x has dtype int32: x.dtype must be floating"},
      {[] { F::erfinv(whole({2})); }, is<TypeError>, "F::erfinv: x has dtype int32: x.dtype must be floating"},
      {[] { F::ndtr(whole({2})); }, is<TypeError>, "F::ndtr: x has dtype int32: x.dtype must be floating"},
      {[] { F::ndtri(whole({2})); }, is<TypeError>, "F::ndtri: x has dtype int32: x.dtype must be floating"},
      {[] { F::log_ndtr(whole({2})); }, is<TypeError>, "F::log_ndtr: x has dtype int32: x.dtype must be floating"},
      {[] { F::erfcinv(absent); }, is<TypeError>, "F::erfcinv: x is not given: it is required"},
      {[] { F::erfcx(absent); }, is<TypeError>, "F::erfcx: x is not given: it is required"},
      {[] { F::ndtr(absent); }, is<TypeError>, "F::ndtr: x is not given: it is required"},
      {[] { F::ndtri(absent); }, is<TypeError>, "F::ndtri: x is not given: it is required"},
      {[] { F::log_ndtr(absent); }, is<TypeError>, "F::log_ndtr: x is not given: it is required"},
      {[] { F::erfinv(absent); }, is<TypeError>, "F::erfinv: x is not given: it is required"},
      {[] { F::erfc(absent); }, is<TypeError>, "F::erfc: x is not given: it is required"},
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
  });
}

}  // namespace
}  // namespace kusari::misuse
