#include "kusari/framework/kernels/sigmoid_focal_loss.h"

#include <algorithm>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/sigmoid_focal_loss.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

const FocalLoop& loop_for(Compute compute) {
  static const FocalLoops& loops = *KUSARI_LOOPS(isa(), focal_loops);
  return compute == Compute::float64 ? loops.f64 : loops.f32;
}

/// Anchors by image and part, one part for each of the sums.
struct FocalParts {
  int64_t images, rows, classes, parts, row_bytes;

  explicit FocalParts(const Array& x)
      : images{x.shape(0)},
        rows{x.shape(1)},
        classes{x.shape(2)},
        parts{(rows + kernels::kFocalRows - 1) / kernels::kFocalRows},
        row_bytes{classes * itemsize(x.dtype())} {}

  /// Calls body(part of all, image, first row of all, rows, elements widened into a buffer) with the loops' types.
  template <class Body>
  void for_each(const Array& x, const Body& body) const {
    const Compute compute = compute_of(x.dtype());
    const ConvertLoop widen = convert_loop(x.dtype(), dtype_of_compute(compute));
    const int64_t per_part = std::max<int64_t>(1, std::min(rows, kernels::kFocalRows) * classes);
    parallel_for(images * parts, std::max<int64_t>(1, kThreadChunk / 4 / per_part), [&](int64_t begin, int64_t end) {
      const Array buffer = empty({per_part}, dtype_of_compute(compute));
      for (int64_t part = begin; part < end; ++part) {
        const int64_t at = part % parts * kernels::kFocalRows, first = part / parts * rows + at;
        const int64_t count = std::min(kernels::kFocalRows, rows - at);
        widen(x.data<char>() + first * row_bytes, buffer.raw_data(), count * classes);
        body(part, part / parts, first, count, buffer.raw_data());
      }
    });
  }
};

void sigmoid_focal_loss(Params<kernels::FocalOptions> options, In x, In t, Out sums) {
  const FocalParts parts(x);
  const Compute compute = compute_of(x->dtype());
  const FocalLoop& loop = loop_for(compute);
  parts.for_each(x, [&](int64_t part, int64_t, int64_t first, int64_t rows, void* elements) {
    const double sum = loop.sum(&*options, elements, t->data<int32_t>() + first, rows, parts.classes, elements);
    if (compute == Compute::float64) {
      sums->data<double>()[part] = sum;
    } else {
      sums->data<float>()[part] = static_cast<float>(sum);
    }
  });
}

void sigmoid_focal_loss_grad(Params<kernels::FocalOptions> options, In x, In t, In factor, Out gx) {
  if (x->size() == 0) return;
  const FocalParts parts(x);
  const Compute compute = compute_of(x->dtype());
  const FocalLoop& loop = loop_for(compute);
  const ConvertLoop narrow = convert_loop(dtype_of_compute(compute), x->dtype());
  parts.for_each(x, [&](int64_t, int64_t image, int64_t first, int64_t rows, void* elements) {
    const double scale =
        compute == Compute::float64 ? factor->data<double>()[image] : double{factor->data<float>()[image]};
    loop.grad(&*options, elements, t->data<int32_t>() + first, scale, rows, parts.classes, elements);
    narrow(elements, gx->data<char>() + first * parts.row_bytes, rows * parts.classes);
  });
}

}  // namespace

void register_sigmoid_focal_loss(Backend& backend) {
  backend.add<kernels::SigmoidFocalLoss>(&sigmoid_focal_loss);
  backend.add<kernels::SigmoidFocalLossGrad>(&sigmoid_focal_loss_grad);
}

}  // namespace kusari::cpu
