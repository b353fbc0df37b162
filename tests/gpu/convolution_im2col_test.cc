#include <doctest/doctest.h>

#include <vector>

#include "convolution_cases.h"

using namespace kusari;
using namespace kusari::testing;

TEST_CASE("cuda im2col: every number of axes, group, stride and dilation") {
  const auto device = gpu_device();
  if (!device) return;
  const auto without_cudnn = using_config(&Config::use_cudnn, Use::never);
  const auto exact = using_config(&Config::use_tf32, false);
  const ConvolutionCase cases[] = {
      {{2, 4, 7}, {6, 4, 3}},
      {{2, 4, 9}, {6, 2, 3}, {2}, {1}, {2}, 2},
      {{2, 8, 7, 6}, {16, 8, 3, 3}, {1, 1}, {1, 1}},
      {{2, 8, 7, 6}, {16, 8, 1, 1}},
      {{2, 8, 7, 6}, {16, 8, 1, 1}, {2, 2}},
      {{2, 8, 7, 6}, {16, 8, 1, 1}, {1, 1}, {1, 1}},
      {{1, 3, 11, 12}, {5, 3, 7, 7}, {2, 2}, {3, 3}},
      {{3, 6, 8, 5}, {9, 2, 3, 2}, {2, 1}, {1, 0}, {1, 2}, 3},
      {{3, 6, 4, 5}, {9, 2, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 3},
      {{2, 4, 5, 5}, {4, 4, 5, 5}, {1, 1}, {4, 4}},
      {{2, 4, 5, 4, 6}, {8, 4, 3, 2, 3}, {2, 1, 1}, {1, 0, 1}},
      {{2, 4, 4, 4, 4}, {8, 2, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 2, 1}, 2},
      {{1, 2, 4, 3, 4, 5}, {3, 2, 2, 3, 2, 3}, {1, 2, 1, 2}, {0, 1, 1, 1}},
      {{2, 3, 1, 1}, {4, 3, 3, 3}, {1, 1}, {1, 1}},
      {{2, 4, 6}, {8, 1, 3}, {1}, {1}, {1}, 4},  // depthwise, but of one axis
      {{2, 4, 6, 6}, {8, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 4},
  };
  for (const ConvolutionCase& c : cases) {
    for (const Dtype dtype : kFloatingDtypes) check_convolution(*device, c, dtype, dtype);
    check_convolution(*device, c, Dtype::float16, Dtype::float32);
  }
}

TEST_CASE("cuda im2col: every layout") {
  const auto device = gpu_device();
  if (!device) return;
  const auto without_cudnn = using_config(&Config::use_cudnn, Use::never);
  const auto exact = using_config(&Config::use_tf32, false);
  const ConvolutionCase c = {{2, 4, 5, 6}, {6, 4, 3, 3}, {2, 1}, {1, 1}};
  for (const Layout layout : kWritableLayouts) {
    for (const Dtype dtype : {Dtype::float16, Dtype::float32}) check_convolution(*device, c, dtype, dtype, layout);
  }
}

TEST_CASE("cuda im2col: a small workspace makes several products") {
  const auto device = gpu_device();
  if (!device) return;
  const auto without_cudnn = using_config(&Config::use_cudnn, Use::never);
  const auto exact = using_config(&Config::use_tf32, false);
  const size_t before = cuda::get_max_workspace_size();
  cuda::set_max_workspace_size(0);
  for (const Dtype dtype : kFloatingDtypes) {
    check_convolution(*device, {{5, 4, 9, 7}, {6, 4, 3, 3}, {1, 1}, {1, 1}}, dtype, dtype);
    check_convolution(*device, {{5, 4, 9, 7}, {6, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 2}, dtype, dtype);
  }
  cuda::set_max_workspace_size(before);
}

TEST_CASE("cuda im2col: nothing to sum or to compute") {
  const auto device = gpu_device();
  if (!device) return;
  const auto without_cudnn = using_config(&Config::use_cudnn, Use::never);
  check_convolution(*device, {{0, 4, 5, 5}, {6, 4, 3, 3}}, Dtype::float32, Dtype::float32);
  check_convolution(*device, {{2, 0, 5, 5}, {6, 0, 3, 3}}, Dtype::float32, Dtype::float32);
  check_convolution(*device, {{2, 4, 5, 5}, {0, 4, 3, 3}}, Dtype::float32, Dtype::float32);
}
