#include "kusari/framework/kernels/random.h"

#include <cstdint>
#include <vector>

#include "kusari/tests/gpu/testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

constexpr RandomState kStates[] = {{7, 0}, {7, 1}, {8, 2}, {0x123456789abcdefull, 3}, {9, 4}, {3, 0xfffffffffull}};
const Shape kDrawnShapes[] = {{0}, {}, {1}, {5}, {64}, {1027}, {3, 4, 5}, {2, 8, 3, 5}, {2, 3, 4, 4}, {2, 5, 1, 3}};

/// Arrays to be filled that lie in every way.
template <class Fill>
void check_fill(const Device& device, Dtype dtype, double factor, const Fill& fill) {
  for (const Shape& shape : kDrawnShapes) {
    for (const Layout layout : kWritableLayouts) {
      for (const RandomState state : kStates) {
        CAPTURE(name(dtype));
        CAPTURE(to_string(shape));
        CAPTURE(static_cast<int>(layout));
        CAPTURE(state.offset);
        check_on_gpu(
            device,
            [&](const Array& like) {
              const Array y = in_layout(zeros(shape, dtype, like.device()), layout);
              fill(y, state);
              return y;
            },
            factor, empty({1}));
      }
    }
  }
}

}  // namespace

TEST_CASE("cuda random: uniform numbers are the CPU's bit by bit") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    check_fill(*device, dtype, 0, [](const Array& y, RandomState state) {
      launch<kernels::Uniform>(y.device(), kernels::UniformRange{-0.3, 1.7}, state, y);
    });
  }
  check_fill(*device, Dtype::int32, 0, [](const Array& y, RandomState state) {
    launch<kernels::Uniform>(y.device(), kernels::UniformRange{0, 100}, state, y);
  });
}

TEST_CASE("cuda random: normal numbers are the CPU's up to rounding") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    check_fill(*device, dtype, 1, [](const Array& y, RandomState state) {
      launch<kernels::Normal>(y.device(), kernels::NormalMoments{0.5, 2}, state, y);
    });
  }
}

TEST_CASE("cuda random: dropout has the CPU's mask in every layout") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    for (const Shape& shape : kDrawnShapes) {
      for (const Layout layout : kLayouts) {
        for (const RandomState state : kStates) {
          for (const Layout result : {Layout::contiguous, Layout::channels_last, layout}) {
            if (result == Layout::broadcast) continue;
            CAPTURE(name(dtype));
            CAPTURE(to_string(shape));
            CAPTURE(static_cast<int>(layout));
            CAPTURE(static_cast<int>(result));
            CAPTURE(state.offset);
            check_on_gpu(
                *device,
                [&](const Array& x) {
                  const Array y = in_layout(zeros(shape, dtype, x.device()), result);
                  const Array mask = in_layout(zeros(shape, dtype, x.device()), result);
                  launch<kernels::Dropout>(x.device(), kernels::DropoutRatio{0.3}, state, x, y, mask);
                  return std::vector<Array>{y, mask};
                },
                0, in_layout(uniform_array(shape, -2, 2, dtype), layout));
          }
        }
      }
    }
  }
}

TEST_CASE("cuda random: large draws, and dropout in place") {
  const auto device = gpu_device();
  if (!device) return;
  for (const uint64_t offset : {uint64_t{0}, uint64_t{5}}) {
    check_on_gpu(
        *device,
        [&](const Array& x) {
          const Array y = empty(x.shape(), Dtype::float32, x.device());
          launch<kernels::Uniform>(y.device(), kernels::UniformRange{}, RandomState{1, offset}, y);
          const Array z = x.copy(), mask = empty(x.shape(), x.dtype(), x.device());
          launch<kernels::Dropout>(x.device(), kernels::DropoutRatio{0.5}, RandomState{1, offset}, z, z, mask);
          return std::vector<Array>{y, z, mask};
        },
        0, uniform_array({70003}, -1, 1, Dtype::float16));
  }
}
