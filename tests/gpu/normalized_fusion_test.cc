#include "kusari/framework/kernels/normalized_fusion.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

Dtype wide_dtype(Dtype dtype) { return dtype == Dtype::float64 ? dtype : Dtype::float32; }

TEST_CASE("normalized fusion on a device: as on the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    // Less than a pack; one that is not full; several blocks.
    for (const Shape& shape : {Shape{3}, Shape{1, 3, 5, 7}, Shape{2, 16, 61, 33}, Shape{0, 3}}) {
      CAPTURE(to_string(shape));
      for (const bool three : {false, true}) {
        const Array w = array<float>(three ? std::vector<float>{0.7f, -0.4f, 1.3f} : std::vector<float>{0.7f, 1.3f},
                                     {three ? 3 : 2});
        const auto map = [&](uint64_t seed) { return uniform_array(shape, -3, 3, dtype, seed); };
        const Array x0 = map(1), x1 = map(2), x2 = three ? map(3) : Array(), gy = map(4);
        check_on_gpu(
            *device,
            [&](const Array& a, const Array& b, const Array& c, const Array& v) {
              const Array y = empty_like(a);
              launch<kernels::NormalizedFusionSilu>(a.device(), 1e-4, a, b, c, v, y);
              return y;
            },
            2, x0, x1, x2, w.astype(wide_dtype(dtype)));
        for (const bool is_whole : {true, false}) {
          CAPTURE(is_whole);
          check_on_gpu(
              *device,
              [&](const Array& a, const Array& b, const Array& c, const Array& v, const Array& g) {
                const Array ga = empty_like(a), gb = is_whole ? empty_like(b) : Array();
                const Array gc = three ? empty_like(c) : Array(), gv = is_whole ? empty_like(v) : Array();
                launch<kernels::NormalizedFusionSiluGrad>(a.device(), 1e-4, a, b, c, v, g, ga, gb, gc, gv);
                // The weights' gradient is a sum of so many terms.
                return std::vector<Array>{ga, gb, gc,
                                          gv.is_defined() ? gv / (1.0 + static_cast<double>(a.size())) : gv};
              },
              2, x0, x1, x2, w.astype(wide_dtype(dtype)), gy);
        }
      }
    }
  }
}

TEST_CASE("normalized fusion on a device: of arrays that are not aligned for packs") {
  const auto device = gpu_device();
  if (!device) return;
  const Array all = uniform_array({1001}, -3, 3), w = array<float>({0.5f, 2.0f});
  check_on_gpu(
      *device,
      [&](const Array& x, const Array& v) {
        const Array a = x.slice(0, 1, 1000), b = x.slice(0, 0, 1000), y = empty_like(b);
        launch<kernels::NormalizedFusionSilu>(x.device(), 1e-4, a, b, Array(), v, y);
        return y;
      },
      2, all, w);
}

}  // namespace
}  // namespace kusari::testing
