#include "kusari/framework/kernels/recurrent.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

using kernels::RecurrentCell;

struct RecurrentRun {
  kernels::RecurrentLayer layer;
  std::vector<int64_t> sizes;

  std::vector<Array> operator()(const Array& x, const Array& h, const Array& c, const Array& w, const Array& b,
                                const Array& gy, const Array& gh, const Array& gc) const {
    const Device& device = x.device();
    const Dtype dtype = x.dtype();
    const int64_t rows = x.shape()[0], units = h.shape()[1], saved_gates = kernels::saved_gates_of(layer.cell);
    const bool is_lstm = layer.cell == RecurrentCell::lstm;
    const auto made = [&](bool wanted, const Shape& shape) { return wanted ? empty(shape, dtype, device) : Array(); };
    const Array y = made(true, {rows, units}), last_h = made(true, h.shape()), last_c = made(is_lstm, h.shape()),
                saved = made(saved_gates > 0, {rows, saved_gates * units}), cells = made(is_lstm, {rows, units}),
                before = made(true, {rows, units});
    const Array batch_sizes = array(sizes), first_c = is_lstm ? c : Array();
    launch<kernels::RecurrentForward>(device, layer, batch_sizes, x, h, first_c, w, b, y, last_h, last_c, saved, cells,
                                      before);
    const Array gx = made(true, x.shape()), gu = made(layer.cell == RecurrentCell::gru, x.shape()),
                gfirst_h = made(true, h.shape()), gfirst_c = made(is_lstm, h.shape());
    launch<kernels::RecurrentGradient>(device, layer, batch_sizes, first_c, w, y, saved, cells, before, gy, gh,
                                       is_lstm ? gc : Array(), gx, gu, gfirst_h, gfirst_c);
    return {y, last_h, last_c, before, gx, gu, gfirst_h, gfirst_c};
  }
};

TEST_CASE("recurrent: as on the CPU, forwards and backwards, with its gradients") {
  const auto device = gpu_device();
  if (!device) return;
  const std::vector<std::vector<int64_t>> all_sizes = {{3, 3, 3}, {4, 2, 1, 1}, {1}, {5, 5, 3, 0}};
  for (const RecurrentCell cell : {RecurrentCell::tanh, RecurrentCell::relu, RecurrentCell::lstm, RecurrentCell::gru}) {
    CAPTURE(static_cast<int>(cell));
    for (const bool reversed : {false, true}) {
      for (const std::vector<int64_t>& sizes : all_sizes) {
        for (const int64_t units : {1, 7, 40}) {
          CAPTURE(units);
          int64_t rows = 0;
          for (const int64_t size : sizes) rows += size;
          const int64_t batch = sizes[0] + 1, gates = kernels::gates_of(cell);  // one sequence has no time
          for (const Dtype dtype : kFloatingDtypes) {
            CAPTURE(name(dtype));
            const auto numbers = [&](const Shape& shape, uint64_t seed, double most = 1) {
              return uniform_array(shape, -most, most, dtype, seed);
            };
            const Array x = numbers({rows, gates * units}, 1), h = numbers({batch, units}, 2),
                        c = numbers({batch, units}, 3), w = numbers({gates * units, units}, 4, 0.3),
                        b = numbers({gates * units}, 5);
            const Array gy = numbers({rows, units}, 6), gh = numbers({batch, units}, 7),
                        gc = numbers({batch, units}, 8);
            const RecurrentRun run{{cell, reversed}, sizes};
            const double factor = is_half(dtype) ? 4 : 20;
            check_on_gpu(*device, run, factor, x, h, c, w, b, gy, gh, gc);
            if (dtype == Dtype::float32) check_on_gpu(*device, run, factor, x, h, c, w, b, Array(), gh, Array());
            if (dtype == Dtype::float32) check_on_gpu(*device, run, factor, x, h, c, w, b, gy, Array(), gc);
          }
        }
      }
    }
  }
}

TEST_CASE("recurrent: no time at all") {
  const auto device = gpu_device();
  if (!device) return;
  const Array h = ones({2, 3}, Dtype::float32, *device), none = empty({0, 3}, Dtype::float32, *device);
  const Array w = ones({3, 3}, Dtype::float32, *device), b = ones({3}, Dtype::float32, *device);
  const Array sizes = empty({0}, Dtype::int64), last = empty_like(h);
  launch<kernels::RecurrentForward>(*device, kernels::RecurrentLayer{RecurrentCell::tanh, false}, sizes, none, h,
                                    Array(), w, b, none, last, Array(), Array(), Array(), none);
  CHECK(last.to_vector<float>() == std::vector<float>(6, 1.0f));
}

}  // namespace
}  // namespace kusari::testing
