#include "kusari/framework/kernels/rotary_embedding.h"

#include <doctest/doctest.h>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/attention/rotary_embedding.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

TEST_CASE("cuda rotary embedding: widths, layouts and dtypes") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    for (const int64_t half : {1, 2, 3, 4, 8, 24, 33}) {
      CAPTURE(half);
      const Array table = uniform_array({5, 2, half}, -1, 1, dtype == Dtype::float64 ? dtype : Dtype::float32, 2);
      for (const kernels::RotaryForm form : {kernels::RotaryForm{false, false}, kernels::RotaryForm{false, true},
                                             kernels::RotaryForm{true, false}, kernels::RotaryForm{true, true}}) {
        CAPTURE(form.interleaved);
        const auto turn = [&](const Array& x, const Array& angles) {
          const Array y = empty(x.shape(), x.dtype(), x.device());
          launch<kernels::RotaryEmbedding>(x.device(), form, x, angles, y);
          return y;
        };
        for (const Layout layout : kLayouts) {
          CAPTURE(static_cast<int>(layout));
          check_on_gpu(*device, turn, 2, in_layout(uniform_array({2, 3, 5, 2 * half}, -1, 1, dtype), layout), table);
        }
        const Array heads = uniform_array({2, 5, 3, 2 * half}, -1, 1, dtype).transpose({0, 2, 1, 3});
        check_on_gpu(*device, turn, 2, heads, table);
        check_on_gpu(*device, turn, 2, uniform_array({2, 5, 2 * half + 1}, -1, 1, dtype).slice(2, 1, 2 * half), table);
        const auto into_heads = [&](const Array& x, const Array& angles) {
          const Array y = empty({2, 5, 3, 2 * half}, x.dtype(), x.device()).transpose({0, 2, 1, 3});
          launch<kernels::RotaryEmbedding>(x.device(), form, x, angles, y);
          return y;
        };
        check_on_gpu(*device, into_heads, 2, heads, table);
      }
    }
  }
}

TEST_CASE("cuda rotary embedding: the tables of a device grow") {
  const auto device = gpu_device();
  if (!device) return;
  for (const int64_t first : {0, 1, 70, 3, 500, 9'000'000}) {
    CAPTURE(first);
    const auto turn = [&](const Array& x) {
      return functions::rotary_embedding(Variable(x, false), {.first = first}).array();
    };
    check_on_gpu(*device, turn, 2, uniform_array({2, 4, 16}, -1, 1));
    check_on_gpu(*device, turn, 2, uniform_array({0, 4, 16}, -1, 1));
  }
}

}  // namespace
}  // namespace kusari::testing
