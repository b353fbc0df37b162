#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of connection, 2") {
  check_misuses({
      {[] {
         F::depthwise_convolution_2d(real({1, 3, 5, 5}), real({2, 4, 3, 3}));
       },
       is<TypeError>,
       "F::depthwise_convolution_2d: x has shape (1, 3, 5, 5) but W has shape (2, 4, 3, 3): both must have 4 axes, and "
       "x.shape[1] must equal W.shape[1]"},
      {[] {
         F::depthwise_convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3}), real({2}));
       },
       is<TypeError>,
       "F::depthwise_convolution_2d: b has shape (2,) but W has shape (6, 1, 3, 3): b.shape[0] must equal W.shape[0] "
       "(2 != 6)"},
      {[] {
         F::depthwise_convolution_2d(real({1, 3, 5}), real({2, 3, 3, 3}));
       },
       is<TypeError>,
       "F::depthwise_convolution_2d: x has shape (1, 3, 5) but W has shape (2, 3, 3, 3): both must have 4 axes, and "
       "x.shape[1] must equal W.shape[1]"},
      {[] {
         F::depthwise_convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3}));
       },
       is<TypeError>,
       "F::depthwise_convolution_2d: x has shape (1, 3, 5, 5) but W has shape (2, 3, 3): both must have 4 axes, and "
       "x.shape[1] must equal W.shape[1]"},
      {[] {
         F::depthwise_convolution_2d(absent, real({2, 3, 3, 3}));
       },
       is<TypeError>, "F::depthwise_convolution_2d: x is not given: it is required"},
      {[] {
         F::depthwise_convolution_2d(real({1, 3, 5, 5}), absent);
       },
       is<TypeError>, "F::depthwise_convolution_2d: W is not given: it is required"},
      {[] {
         F::depthwise_convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3}), absent, {.stride = 0});
       },
       is<ValueError>, "F::depthwise_convolution_2d: stride is (0, 0): each must be at least 1"},
      {[] {
         F::depthwise_convolution_2d(real({1, 3, 5, 5}), real({2, 3, 7, 7}));
       },
       is<ValueError>,
       "F::depthwise_convolution_2d: x has shape (1, 3, 5, 5) but W has shape (6, 1, 7, 7): the kernel does not fit "
       "into axis 2 with pad 0 and dilate 1 (the output would have size -1)"},
      {[] {
         F::dilated_convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3}), absent, {.dilate = 3});
       },
       is<ValueError>,
       "F::dilated_convolution_2d: x has shape (1, 3, 5, 5) but W has shape (2, 3, 3, 3): the kernel does not fit into "
       "axis 2 with pad 0 and dilate 3 (the output would have size -1)"},
      {[] {
         F::dilated_convolution_2d(real({1, 3, 5, 5}), real({2, 4, 3, 3}));
       },
       is<TypeError>,
       "F::dilated_convolution_2d: x has shape (1, 3, 5, 5) but W has shape (2, 4, 3, 3): x.shape[1] must equal "
       "W.shape[1] (3 != 4)"},
      {[] {
         F::dilated_convolution_2d(absent, real({2, 4, 3, 3}));
       },
       is<TypeError>, "F::dilated_convolution_2d: x is not given: it is required"},
      {[] {
         F::embed_id(real({2}), real({3, 4}));
       },
       is<TypeError>, "F::embed_id: x has dtype float32: x.dtype must be an integer or bool"},
      {[] {
         F::embed_id(whole({2}), real({1, 4}));
       },
       is<IndexError>, "F::embed_id: index 1 is out of range for 1 rows"},
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
         F::local_convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3, 2, 2}));
       },
       is<TypeError>, "F::local_convolution_2d: W has shape (2, 3, 3, 3, 2, 2): W.shape[1] must equal 4 (3 != 4)"},
      {[] {
         F::local_convolution_2d(real({1, 3, 5, 5}), real({2, 4, 4, 3, 2, 2}), real({2}));
       },
       is<TypeError>, "F::local_convolution_2d: b has shape (2,): b.ndim must equal 3 (1 != 3)"},
      {[] {
         F::local_convolution_2d(real({1, 3, 5, 5}), real({2, 4, 4, 4, 2, 2}));
       },
       is<TypeError>,
       "F::local_convolution_2d: x has shape (1, 3, 5, 5) but W has shape (2, 4, 4, 4, 2, 2): x.shape[1] must equal "
       "W.shape[3] (3 != 4)"},
      {[] {
         F::local_convolution_2d(real({1, 3, 5, 5}), real({2, 4, 4, 3, 2, 2}), absent, {.stride = 0});
       },
       is<ValueError>, "F::local_convolution_2d: stride is (0, 0): it must be at least 1"},
      {[] {
         F::local_convolution_2d(absent, real({2, 4, 4, 3, 2, 2}));
       },
       is<TypeError>, "F::local_convolution_2d: x is not given: it is required"},
      {[] {
         F::local_convolution_2d(real({1, 3, 5, 5}), absent);
       },
       is<TypeError>, "F::local_convolution_2d: W is not given: it is required"},
      {[] {
         F::local_convolution_2d(real({1, 3, 5, 5}), real({2, 4, 4, 3}));
       },
       is<TypeError>, "F::local_convolution_2d: W has shape (2, 4, 4, 3): W.ndim must equal 6 (4 != 6)"},
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
