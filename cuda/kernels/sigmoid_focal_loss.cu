#include "kusari/framework/kernels/sigmoid_focal_loss.h"

#include <string>

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/core/error.h"

namespace kusari::cuda {
namespace {

using kernels::FocalElement;
using kernels::FocalOptions;

constexpr int kThreads = 256;

/// Anchors by image and part: blockIdx.x is the part of all.
struct FocalShape {
  int64_t rows, classes, parts;
};

/// A block's anchors and what they are.
struct FocalBlock {
  int64_t image, first, count;  // first: row of all

  __device__ __forceinline__ explicit FocalBlock(const FocalShape& shape) {
    const int64_t part = blockIdx.x, at = part % shape.parts * kernels::kFocalRows;
    image = part / shape.parts;
    first = image * shape.rows + at;
    count = shape.rows - at < kernels::kFocalRows ? shape.rows - at : kernels::kFocalRows;
  }
};

/// Calls body(element of all, class's value in x, whether it is the anchor's, whether the anchor counts) for a thread's
/// elements.
template <class T, class Body>
__device__ __forceinline__ void for_each_class(const FocalBlock& block, int64_t classes, const T* x, const int32_t* t,
                                               const Body& body) {
  const int64_t begin = block.first * classes, n = block.count * classes;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    const int64_t row = i / classes, label = t[block.first + row], at = i - row * classes;
    Compute<T> value = widen(x[begin + i]);
    if (label >= classes && at == 0) value = km::Real<Compute<T>>::kNan;  // there is no such class
    body(begin + i, value, label == at, label != kernels::kFocalIgnored);
  }
}

template <class T>
__global__ __launch_bounds__(kThreads) void focal_sum_kernel(FocalOptions options, FocalShape shape, const T* x,
                                                             const int32_t* t, Compute<T>* sums) {
  using C = Compute<T>;
  const FocalElement<C> element = FocalElement<C>::of(options);
  C sum = 0;
  for_each_class(FocalBlock(shape), shape.classes, x, t, [&](int64_t, C value, bool positive, bool counts) {
    if (counts) sum += element.value(value, positive);
  });
  sum = block_reduce(sum, C(0), Plus<C>());
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <class T>
__global__ __launch_bounds__(kThreads) void focal_grad_kernel(FocalOptions options, FocalShape shape, const T* x,
                                                              const int32_t* t, const Compute<T>* factor, T* gx) {
  using C = Compute<T>;
  const FocalElement<C> element = FocalElement<C>::of(options);
  const FocalBlock block(shape);
  const C scale = factor[block.image];
  for_each_class(block, shape.classes, x, t, [&](int64_t i, C value, bool positive, bool counts) {
    gx[i] = narrow<T>(counts ? scale * element.slope(value, positive) : C(0));
  });
}

/// Calls run.template operator()<T>(shape of anchors, shape of the launch) with x's type, unless there is nothing to
/// do.
template <class Run>
void visit_focal(const char* call, const Array& x, const Run& run) {
  const FocalShape shape{x.shape(1), x.shape(2), (x.shape(1) + kernels::kFocalRows - 1) / kernels::kFocalRows};
  const int64_t blocks = x.shape(0) * shape.parts;
  if (blocks == 0) return;
  const LaunchShape launch{dim3(static_cast<unsigned>(blocks)), dim3(kThreads)};
  if (!visit_floating(x.dtype(), [&]<class T>() { run.template operator()<T>(shape, launch); })) {
    throw TypeError(std::string(call) + ": x has dtype " + name(x.dtype()) + " but must be floating");
  }
}

void sigmoid_focal_loss(Params<FocalOptions> options, In x, In t, Out sums) {
  visit_focal("sigmoid_focal_loss", x, [&]<class T>(const FocalShape& shape, const LaunchShape& launch) {
    enqueue(Context::of(*x), launch, focal_sum_kernel<T>, *options, shape, x->data<T>(), t->data<int32_t>(),
            sums->data<Compute<T>>());
  });
}

void sigmoid_focal_loss_grad(Params<FocalOptions> options, In x, In t, In factor, Out gx) {
  visit_focal("sigmoid_focal_loss_grad", x, [&]<class T>(const FocalShape& shape, const LaunchShape& launch) {
    enqueue(Context::of(*x), launch, focal_grad_kernel<T>, *options, shape, x->data<T>(), t->data<int32_t>(),
            factor->data<Compute<T>>(), gx->data<T>());
  });
}

}  // namespace

void register_sigmoid_focal_loss(Backend& backend) {
  backend.add<kernels::SigmoidFocalLoss>(sigmoid_focal_loss);
  backend.add<kernels::SigmoidFocalLossGrad>(sigmoid_focal_loss_grad);
}

}  // namespace kusari::cuda
