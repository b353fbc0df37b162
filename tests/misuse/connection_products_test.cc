#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of connection, products") {
  check_misuses({
      {[] {
         F::bilinear(real({2, 3}), real({3, 4}), real({3, 4, 5}));
       },
       is<TypeError>,
       "F::bilinear: e1 has shape (2, 3) but e2 has shape (3, 4): e1.shape[0] must equal e2.shape[0] (2 != 3)"},
      {[] {
         F::bilinear(real({2, 3}), real({2, 4}), real({3, 3, 5}));
       },
       is<TypeError>,
       "F::bilinear: e2 has shape (2, 4) but W has shape (3, 3, 5): e2.shape[1] must equal W.shape[1] (4 != 3)"},
      {[] {
         F::bilinear(real({2, 3}), real({2, 4}), real({3, 4}));
       },
       is<TypeError>, "F::bilinear: W has shape (3, 4): W.ndim must equal 3 (2 != 3)"},
      {[] {
         F::bilinear(real({2, 3}), real({2, 4}), real({3, 4, 5}), real({3, 5}));
       },
       is<ValueError>, "F::bilinear: V1, V2 and b must all be given or all be absent"},
      {[] {
         F::bilinear(real({2, 3}), real({2, 4}), real({3, 4, 5}), real({3, 6}), real({4, 5}), real({5}));
       },
       is<TypeError>,
       "F::bilinear: V1 has shape (3, 6) but W has shape (3, 4, 5): V1.shape[1] must equal W.shape[2] (6 != 5)"},
      {[] {
         F::bilinear(real({2, 3}), real({2, 4}), real({3, 4, 5}), real({3, 5}), real({4, 5}), real({6}));
       },
       is<TypeError>,
       "F::bilinear: b has shape (6,) but W has shape (3, 4, 5): b.shape[0] must equal W.shape[2] (6 != 5)"},
      {[] {
         F::bilinear(absent, real({2, 4}), real({3, 4, 5}));
       },
       is<TypeError>, "F::bilinear: e1 is not given: it is required"},
      {[] {
         F::bilinear(real({2, 3}), absent, real({3, 4, 5}));
       },
       is<TypeError>, "F::bilinear: e2 is not given: it is required"},
      {[] {
         F::bilinear(real({2, 3}), real({2, 4}), absent);
       },
       is<TypeError>, "F::bilinear: W is not given: it is required"},
      {[] {
         F::bilinear(real({2, 3}), wide({2, 4}), real({3, 4, 5}));
       },
       is<TypeError>,
       "F::bilinear: e2 has dtype float64 but e1 has dtype float32: e2.dtype must equal e1.dtype (float64 != float32)"},
      {[] {
         F::bilinear(real({}), real({2, 4}), real({3, 4, 5}));
       },
       is<TypeError>, "F::bilinear: e1 has shape (): e1.ndim must be at least 2 (0 < 2)"},
      {[] {
         F::embed_id(real({2}), real({3, 4}));
       },
       is<TypeError>, "F::embed_id: x has dtype float32: x.dtype must be an integer or bool"},
      {[] {
         F::embed_id(whole({2}), real({1, 4}));
       },
       is<IndexError>, "F::embed_id: index 1 is out of range for an axis of size 1"},
      {[] { F::embed_id(whole({2}), real({4})); }, is<TypeError>,
       "F::embed_id: W has shape (4,): W.ndim must equal 2 (1 != 2)"},
      {[] {
         F::embed_id(whole({2}), whole({4, 4}));
       },
       is<TypeError>, "F::embed_id: W has dtype int32: W.dtype must be floating"},
      {[] {
         F::embed_id(absent, real({4, 4}));
       },
       is<TypeError>, "F::embed_id: x is not given: it is required"},
      {[] { F::embed_id(whole({2}), absent); }, is<TypeError>, "F::embed_id: W is not given: it is required"},
      {[] {
         F::linear(real({32, 784}), real({10, 100}));
       },
       is<TypeError>,
       "F::linear: x has shape (32, 784) but W has shape (10, 100): x.shape[1] must equal W.shape[1] (784 != 100)"},
      {[] {
         F::linear(real({}), real({10, 100}));
       },
       is<TypeError>, "F::linear: x has shape (): x.ndim must equal 2 (0 != 2)"},
      {[] {
         F::linear(real({2, 3}), real({4, 3}), real({3}));
       },
       is<TypeError>, "F::linear: b has shape (3,) but W has shape (4, 3): b.shape[0] must equal W.shape[0] (3 != 4)"},
      {[] {
         F::linear(real({2, 3}), real({3}));
       },
       is<TypeError>, "F::linear: W has shape (3,): W.ndim must equal 2 (1 != 2)"},
      {[] {
         F::linear(real({2, 3}), real({4, 3}), absent, {.n_batch_axes = 0});
       },
       is<ValueError>, "F::linear: n_batch_axes is 0 but x has shape (2, 3): it must be at least 1 and at most x.ndim"},
      {[] {
         F::linear(real({2, 3}), real({4, 3}), absent, {.n_batch_axes = 2});
       },
       is<TypeError>,
       "F::linear: x has shape (6, 1) but W has shape (4, 3): x.shape[1] must equal W.shape[1] (1 != 3)"},
      {[] {
         F::linear(real({2, 3}), real({4, 3}), absent, {.n_batch_axes = 5});
       },
       is<ValueError>, "F::linear: n_batch_axes is 5 but x has shape (2, 3): it must be at least 1 and at most x.ndim"},
      {[] {
         F::linear(absent, real({4, 3}));
       },
       is<TypeError>, "F::linear: x is not given: it is required"},
      {[] {
         F::linear(real({4, 3}), absent);
       },
       is<TypeError>, "F::linear: W is not given: it is required"},
      {[] {
         F::linear(whole({2, 3}), whole({4, 3}));
       },
       is<TypeError>, "F::linear: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::shift(real({1, 9, 3}));
       },
       is<TypeError>, "F::shift: x has shape (1, 9, 3): x.ndim must equal 4 (3 != 4)"},
      {[] {
         F::shift(real({1, 9, 3, 3}), 2);
       },
       is<ValueError>, "F::shift: ksize is (2, 2): it must be odd"},
      {[] {
         F::shift(real({1, 9, 3, 3}), 0);
       },
       is<ValueError>, "F::shift: ksize is (0, 0): it must be odd"},
      {[] {
         F::shift(real({1, 9, 3, 3}), 3, 0);
       },
       is<ValueError>, "F::shift: dilate is (0, 0): it must not be 0"},
      {[] { F::shift(absent); }, is<TypeError>, "F::shift: x is not given: it is required"},
      {[] {
         F::shift(whole({1, 9, 3, 3}));
       },
       is<TypeError>, "F::shift: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::shift(real({1, 9, 3, 3}), -3);
       },
       is<ValueError>, "F::shift: ksize is (-3, -3): it must be odd"},
  });
}

}  // namespace
}  // namespace kusari::misuse
