#pragma once

#include <cstring>

#include "kusari/cuda/kernels/pointwise.cuh"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/framework/kernels/math_functions.h"

/// The functors that kernels apply to what they have computed: those that layers of convolutional networks end with.
#define KUSARI_INNER_FUNCTIONS(V) \
  V(Relu)                         \
  V(ClippedRelu)                  \
  V(Clip)                         \
  V(LeakyRelu)                    \
  V(Sigmoid)                      \
  V(HardSigmoid)                  \
  V(Silu)                         \
  V(HardSwish)

namespace kusari::cuda {

/// A function of one argument inside of a kernel, of float32.
class InnerFunction {
 public:
  /// None: what comes is the result.
  InnerFunction() = default;
  explicit InnerFunction(const kernels::UnaryFunctor& function) {
    if (function.kernel.index < 0) return;
    which_ = Which::other;
    std::memcpy(bytes_.byte, function.functor, sizeof(bytes_));
#define KUSARI_RECOGNIZE(Op) \
  if (function.kernel.index == kernel_id<kernels::Pointwise<kernels::Op>>().index) which_ = Which::Op;
    KUSARI_INNER_FUNCTIONS(KUSARI_RECOGNIZE)
#undef KUSARI_RECOGNIZE
  }
  /// Whether kernels can apply it; otherwise it is theirs whose kernel it has: apply_function.
  bool is_known() const { return which_ != Which::other; }

  __device__ __forceinline__ float operator()(float x) const {
    switch (which_) {
#define KUSARI_APPLY(Op) \
  case Which::Op:        \
    return detail::apply_inline<kernels::Op, float>(detail::functor_of<kernels::Op>(bytes_), x);
      KUSARI_INNER_FUNCTIONS(KUSARI_APPLY)
#undef KUSARI_APPLY
      default:
        return x;
    }
  }

 private:
#define KUSARI_NAME_OF(Op) Op,
  enum class Which : int32_t { none, KUSARI_INNER_FUNCTIONS(KUSARI_NAME_OF) other };
#undef KUSARI_NAME_OF

  Which which_ = Which::none;
  FunctorBytes bytes_ = {};
};

}  // namespace kusari::cuda
