#include <limits>

#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of connection, convolutions") {
  check_misuses({
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 4, 3, 3}));
       },
       is<TypeError>,
       "F::convolution_2d: x has shape (1, 3, 5, 5) but W has shape (2, 4, 3, 3): x.shape[1] must equal W.shape[1] (3 "
       "!= 4)"},
      {[] {
         F::convolution_2d(real({3, 5, 5}), real({2, 3, 3, 3}));
       },
       is<TypeError>, "F::convolution_2d: x has shape (3, 5, 5): x.ndim must equal 4 (3 != 4)"},
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3}));
       },
       is<TypeError>, "F::convolution_2d: W has shape (2, 3, 3): W.ndim must equal 4 (3 != 4)"},
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 3, 7, 7}));
       },
       is<ValueError>,
       "F::convolution_2d: x has shape (1, 3, 5, 5) but W has shape (2, 3, 7, 7): the kernel does not fit into axis 2 "
       "with pad 0 and dilate 1 (the output would have size -1)"},
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3}), real({3}));
       },
       is<TypeError>,
       "F::convolution_2d: b has shape (3,) but W has shape (2, 3, 3, 3): b.shape[0] must equal W.shape[0] (3 != 2)"},
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3}), absent, {.stride = 0});
       },
       is<ValueError>, "F::convolution_2d: stride is (0, 0): each must be at least 1"},
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3}), absent, {.pad = -1});
       },
       is<ValueError>, "F::convolution_2d: pad is (-1, -1): each must be at least 0"},
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3}), absent, {.dilate = 0});
       },
       is<ValueError>, "F::convolution_2d: dilate is (0, 0): each must be at least 1"},
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3}), absent, {.groups = 2});
       },
       is<TypeError>,
       "F::convolution_2d: x has shape (1, 3, 5, 5) but W has shape (2, 3, 3, 3) and groups is 2: x.shape[1] must "
       "equal W.shape[1] * groups (3 != 3 * 2)"},
      {[] {
         F::convolution_2d(real({2, 4, 3, 6}), real({2, 4, 1, 1}), absent,
                           {.groups = std::numeric_limits<int64_t>::max()});
       },
       is<TypeError>,
       "F::convolution_2d: x has shape (2, 4, 3, 6) but W has shape (2, 4, 1, 1) and groups is 9223372036854775807: "
       "x.shape[1] must equal W.shape[1] * groups (4 != 4 * 9223372036854775807)"},
      {[] {
         F::convolution_2d(real({1, 4, 5, 5}), real({3, 2, 3, 3}), absent, {.groups = 2});
       },
       is<TypeError>,
       "F::convolution_2d: x has shape (1, 4, 5, 5) but W has shape (3, 2, 3, 3) and groups is 2: W.shape[0] must be a "
       "multiple of groups"},
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3}), absent, {.groups = 0});
       },
       is<ValueError>, "F::convolution_2d: groups is 0: it must be at least 1"},
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3}), absent, {.stride = {1, 2, 3}});
       },
       is<ValueError>,
       "F::convolution_2d: stride is (1, 2, 3): it must be one number or one for each of the 2 spatial axes"},
      {[] {
         F::convolution_2d(whole({1, 3, 5, 5}), whole({2, 3, 3, 3}));
       },
       is<TypeError>, "F::convolution_2d: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 3, 0, 3}));
       },
       is<TypeError>, "F::convolution_2d: W has shape (2, 3, 0, 3): W.shape[2] must be at least 1 (0 < 1)"},
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3}), absent, {.stride = INT64_MAX});
       },
       is<ValueError>,
       "F::convolution_2d: stride is (9223372036854775807, 9223372036854775807): each must be at most 2147483647"},
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3}), absent, {.pad = INT64_MAX});
       },
       is<ValueError>,
       "F::convolution_2d: pad is (9223372036854775807, 9223372036854775807): each must be at most 2147483647"},
      {[] {
         F::convolution_2d(real({1, 3, 5, 5}), real({2, 3, 3, 3}), absent, {.dilate = INT64_MAX});
       },
       is<ValueError>,
       "F::convolution_2d: dilate is (9223372036854775807, 9223372036854775807): each must be at most 2147483647"},
      {[] {
         F::convolution_nd(real({1, 3}), real({2, 3}));
       },
       is<TypeError>, "F::convolution_nd: x has shape (1, 3): x.ndim must equal 3 (2 != 3)"},
      {[] {
         F::convolution_nd(absent, real({2, 3, 1}));
       },
       is<TypeError>, "F::convolution_nd: x is not given: it is required"},
      {[] {
         F::convolution_nd(real({1, 3, 4}), absent);
       },
       is<TypeError>, "F::convolution_nd: W is not given: it is required"},
      {[] {
         F::convolution_nd(real({1, 3, 5}), real({2, 3, 3, 3}));
       },
       is<TypeError>, "F::convolution_nd: W has shape (2, 3, 3, 3): W.ndim must equal 3 (4 != 3)"},
      {[] {
         F::convolution_1d(real({1, 3, 5, 5}), real({2, 3, 3}));
       },
       is<TypeError>, "F::convolution_1d: x has shape (1, 3, 5, 5): x.ndim must equal 3 (4 != 3)"},
      {[] {
         F::convolution_1d(absent, real({2, 3, 3}));
       },
       is<TypeError>, "F::convolution_1d: x is not given: it is required"},
      {[] {
         F::convolution_3d(real({1, 3, 5, 5}), real({2, 3, 3}));
       },
       is<TypeError>, "F::convolution_3d: x has shape (1, 3, 5, 5): x.ndim must equal 5 (4 != 5)"},
      {[] {
         F::deconvolution_2d(real({1, 3, 5, 5}), real({4, 2, 3, 3}));
       },
       is<TypeError>,
       "F::deconvolution_2d: x has shape (1, 3, 5, 5) but W has shape (4, 2, 3, 3): x.shape[1] must equal W.shape[0] "
       "(3 != 4)"},
      {[] {
         F::deconvolution_2d(real({1, 3, 5, 5}), real({3, 2, 3, 3}), real({3}));
       },
       is<TypeError>,
       "F::deconvolution_2d: b has shape (3,) but W has shape (3, 2, 3, 3): b.shape[0] must equal W.shape[1] (3 != 2)"},
      {[] {
         F::deconvolution_2d(real({1, 3, 5, 5}), real({3, 2, 3, 3}), absent, {.stride = 0});
       },
       is<ValueError>, "F::deconvolution_2d: stride is (0, 0): each must be at least 1"},
      {[] {
         F::deconvolution_2d(real({1, 3, 5, 5}), real({3, 2, 3, 3}), absent, {.outsize = {99, 99}});
       },
       is<ValueError>,
       "F::deconvolution_2d: x has shape (1, 3, 5, 5) but W has shape (3, 2, 3, 3) and outsize is (99, 99): a "
       "convolution of that size has 97 to 97 positions along axis 2, not 5"},
      {[] {
         F::deconvolution_2d(real({1, 3, 1, 1}), real({3, 2, 3, 3}), absent, {.pad = 5});
       },
       is<ValueError>,
       "F::deconvolution_2d: x has shape (1, 3, 1, 1) but W has shape (3, 2, 3, 3): axis 2 of the output would have "
       "size -7 with stride 1 and pad 5"},
      {[] {
         F::deconvolution_2d(real({1, 3, 5, 5}), real({3, 2, 3, 3}), absent, {.groups = 2});
       },
       is<TypeError>,
       "F::deconvolution_2d: x has shape (1, 3, 5, 5) but W has shape (3, 2, 3, 3) and groups is 2: W.shape[0] must be "
       "a multiple of groups"},
      {[] {
         F::deconvolution_1d(real({1, 3, 5, 5}), real({3, 2, 3}));
       },
       is<TypeError>, "F::deconvolution_1d: x has shape (1, 3, 5, 5): x.ndim must equal 3 (4 != 3)"},
      {[] {
         F::deconvolution_3d(real({1, 3, 5, 5}), real({3, 2, 3}));
       },
       is<TypeError>, "F::deconvolution_3d: x has shape (1, 3, 5, 5): x.ndim must equal 5 (4 != 5)"},
      {[] {
         F::deconvolution_nd(absent, real({3, 2, 3}));
       },
       is<TypeError>, "F::deconvolution_nd: x is not given: it is required"},
      {[] {
         F::deconvolution_nd(real({1, 3, 5}), absent);
       },
       is<TypeError>, "F::deconvolution_nd: W is not given: it is required"},
      {[] {
         F::deconvolution_nd(real({1, 3, 5}), real({3, 2, 3, 3}));
       },
       is<TypeError>, "F::deconvolution_nd: W has shape (3, 2, 3, 3): W.ndim must equal 3 (4 != 3)"},
      {[] {
         F::deformable_convolution_2d_sampler(real({1, 3, 5, 5}), real({1, 17, 3, 3}), real({2, 3, 3, 3}));
       },
       is<TypeError>,
       "F::deformable_convolution_2d_sampler: offset has shape (1, 17, 3, 3): offset.shape[1] must equal 18 (17 != "
       "18)"},
      {[] {
         F::deformable_convolution_2d_sampler(real({1, 3, 5, 5}), real({1, 18, 3, 3}), real({2, 4, 3, 3}));
       },
       is<TypeError>,
       "F::deformable_convolution_2d_sampler: x has shape (1, 3, 5, 5) but W has shape (2, 4, 3, 3): x.shape[1] must "
       "equal W.shape[1] (3 != 4)"},
      {[] {
         F::deformable_convolution_2d_sampler(real({1, 3, 5, 5}), real({1, 18, 3, 3}), real({2, 3, 3, 3}), real({3}));
       },
       is<TypeError>,
       "F::deformable_convolution_2d_sampler: b has shape (3,) but W has shape (2, 3, 3, 3): b.shape[0] must equal "
       "W.shape[0] (3 != 2)"},
      {[] {
         F::deformable_convolution_2d_sampler(real({1, 3, 5, 5}), real({1, 18, 3, 3}), real({2, 3, 3, 3}), absent,
                                              {.stride = 0});
       },
       is<ValueError>, "F::deformable_convolution_2d_sampler: stride is (0, 0): it must be at least 1"},
      {[] {
         F::deformable_convolution_2d_sampler(absent, real({1, 18, 3, 3}), real({2, 3, 3, 3}));
       },
       is<TypeError>, "F::deformable_convolution_2d_sampler: x is not given: it is required"},
      {[] {
         F::deformable_convolution_2d_sampler(real({1, 3, 5, 5}), absent, real({2, 3, 3, 3}));
       },
       is<TypeError>, "F::deformable_convolution_2d_sampler: offset is not given: it is required"},
      {[] {
         F::deformable_convolution_2d_sampler(real({1, 3, 5, 5}), real({1, 18, 3, 3}), absent);
       },
       is<TypeError>, "F::deformable_convolution_2d_sampler: W is not given: it is required"},
      {[] {
         F::deformable_convolution_2d_sampler(real({1, 3, 5, 5}), wide({1, 18, 3, 3}), real({2, 3, 3, 3}));
       },
       is<TypeError>,
       "F::deformable_convolution_2d_sampler: offset has dtype float64 but x has dtype float32: offset.dtype must "
       "equal x.dtype (float64 != float32)"},
      {[] {
         F::deformable_convolution_2d_sampler(real({3, 5, 5}), real({1, 18, 3, 3}), real({2, 3, 3, 3}));
       },
       is<TypeError>, "F::deformable_convolution_2d_sampler: x has shape (3, 5, 5): x.ndim must equal 4 (3 != 4)"},
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
  });
}

}  // namespace
}  // namespace kusari::misuse
