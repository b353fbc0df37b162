#include "kusari/framework/kernels/fft.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

TEST_CASE("fft: as on the CPU at any length") {
  const auto device = gpu_device();
  if (!device) return;
  for (const int64_t n : {1, 2, 3, 8, 30, 97, 128, 303, 1000}) {
    CAPTURE(n);
    for (const bool inverse : {false, true}) {
      const auto transform = [&](const Array& re, const Array& im) {
        const Array y_re = empty(re.shape(), re.dtype(), re.device()),
                    y_im = empty(re.shape(), re.dtype(), re.device());
        launch<kernels::Fft>(re.device(), kernels::FftOptions{inverse}, re, im, y_re, y_im);
        return std::vector<Array>{y_re, y_im};
      };
      for (const Dtype dtype : kFloatingDtypes) {
        const Array re = uniform_array({3, n}, -1, 1, dtype, 1), im = uniform_array({3, n}, -1, 1, dtype, 2);
        check_on_gpu(*device, transform, 20, re, im);
      }
      check_on_gpu(*device, transform, 20, in_layout(uniform_array({2, 3, n}, -1, 1), Layout::transposed),
                   in_layout(uniform_array({2, 3, n}, -1, 1, Dtype::float32, 2), Layout::reversed));
    }
  }
}

}  // namespace
}  // namespace kusari::testing
