#include "kusari/cuda/pointwise.cuh"
#include "kusari/cuda/pointwise_lists.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::cuda {

#define KUSARI_LONG(Op) \
  template <>           \
  inline constexpr bool kIsLong<kernels::Op> = true;
KUSARI_LONG(Pow)
KUSARI_LONG(PowConst)
KUSARI_LONG(RPowConst)
KUSARI_LONG(Sin)
KUSARI_LONG(Cos)
KUSARI_LONG(Tan)
KUSARI_LONG(Lgamma)
KUSARI_LONG(Digamma)
KUSARI_LONG(Polygamma)
KUSARI_LONG(Zeta)
KUSARI_LONG(Erfcx)
KUSARI_LONG(Erfinv)
KUSARI_LONG(Erfcinv)
KUSARI_LONG(Ndtr)
KUSARI_LONG(Ndtri)
KUSARI_LONG(LogNdtr)
KUSARI_LONG(LogNdtrGrad)
KUSARI_LONG(Fmod)
#undef KUSARI_LONG

void register_math_functors(Backend& backend) {
#define KUSARI_ADD(Op) add_pointwise<kernels::Op>(backend);
  KUSARI_MATH_FUNCTION_OPS(KUSARI_ADD)
#undef KUSARI_ADD
}

}  // namespace kusari::cuda
