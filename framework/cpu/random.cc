#include "kusari/framework/kernels/random.h"

#include <algorithm>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/pointwise.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::cpu {
namespace {

const RandomLoop& loops_for(Compute compute) {
  static const RandomLoops& loops = *KUSARI_LOOPS(isa(), random_loops);
  return compute == Compute::float64 ? loops.f64 : loops.f32;
}

/// Runs draw(first place, to, n) over the elements of y in C order; arrays of another layout or dtype are written
/// through one that is C-ordered and of the compute type.
template <class Draw>
void draw_in_order(RandomState state, const Array& y, const Draw& draw) {
  if (y.size() == 0) return;
  const Dtype dtype = y.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  const bool direct = y.is_contiguous() && y.dtype() == dtype;
  const Array numbers = direct ? y : empty(y.shape(), dtype);
  parallel_for(y.size(), kThreadChunk, [&](int64_t begin, int64_t end) {
    draw(state.offset + static_cast<uint64_t>(begin), numbers.data<char>() + begin * itemsize(dtype), end - begin);
  });
  if (!direct) y.copy_from(numbers);
}

void uniform(Params<kernels::UniformRange> range, RandomState state, Out y) {
  const RandomLoop& loops = loops_for(compute_of(y->dtype()));
  draw_in_order(state, y, [&](uint64_t first, void* to, int64_t n) {
    loops.uniform(state.seed, first, range->low, range->high, to, n);
  });
}

void normal(Params<kernels::NormalMoments> moments, RandomState state, Out y) {
  const RandomLoop& loops = loops_for(compute_of(y->dtype()));
  draw_in_order(state, y, [&](uint64_t first, void* to, int64_t n) {
    loops.normal(state.seed, first, moments->mean, moments->deviation, to, n);
  });
}

void dropout(Params<kernels::DropoutRatio> params, RandomState state, In x, Out y, Out mask) {
  const RandomLoop& loops = loops_for(compute_of(mask->dtype()));
  const double ratio = params->ratio, scale = 1.0 / (1.0 - ratio);
  const Dtype dtype = mask->dtype();
  const Array* const arrays[] = {&*x, &*y, &*mask};
  if (is_half(dtype) ||
      !std::all_of(arrays, arrays + 3, [dtype](const Array* a) { return a->dtype() == dtype && a->is_contiguous(); })) {
    draw_in_order(state, mask, [&](uint64_t first, void* to, int64_t n) {
      loops.dropout_mask(state.seed, first, ratio, scale, to, n);
    });
    return pointwise_to(y, kernels::Mul{}, *x, *mask);
  }
  // Factors are used while they are in the first-level cache.
  constexpr int64_t kDrawn = 2048;
  constexpr kernels::Mul kMul{};
  const PointwiseLoop multiply = loop_of(pointwise_loops<kernels::Mul>, compute_of(dtype));
  const int64_t size = itemsize(dtype);
  parallel_for(x->size(), kThreadChunk, [&](int64_t begin, int64_t end) {
    for (; begin < end; begin += kDrawn) {
      const int64_t n = std::min(kDrawn, end - begin), at = begin * size;
      char* const factors = mask->data<char>() + at;
      loops.dropout_mask(state.seed, state.offset + static_cast<uint64_t>(begin), ratio, scale, factors, n);
      const void* const in[] = {x->data<char>() + at, factors};
      multiply(&kMul, in, y->data<char>() + at, n);
    }
  });
}

void random_place(RandomState state, Out place) {
  place->data<int64_t>()[0] = static_cast<int64_t>(state.seed);
  place->data<int64_t>()[1] = static_cast<int64_t>(state.offset);
}

}  // namespace

void register_random(Backend& backend) {
  backend.add<kernels::Uniform>(&uniform);
  backend.add<kernels::Normal>(&normal);
  backend.add<kernels::Dropout>(&dropout);
  backend.add<kernels::RandomPlace>(&random_place);
}

}  // namespace kusari::cpu
