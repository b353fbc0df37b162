#pragma once

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::cpu {

/// Any dtypes, strides and broadcasting. operands[0] is the result.
void pointwise_general(const PointwiseLoops& loops, const char* call, const void* op,
                       std::span<const Array* const> operands);

/// The loops of one functor, set when it is registered.
template <class Op>
inline PointwiseLoops pointwise_loops{};

/// The same by kernel, for programs of them; empty for other kernels.
void set_loops(KernelId kernel, const PointwiseLoops& loops);
PointwiseLoops loops_of_kernel(KernelId kernel);

template <class Op, class... X>
void pointwise_kernel(Params<Op> op, X... x, Out y) {
  const PointwiseLoops& loops = pointwise_loops<Op>;
  const Dtype dtype = y->dtype();
  const int64_t n = y->size();
  if (y->is_contiguous() && ((x->is_contiguous() && x->size() == n && x->dtype() == dtype) && ...)) {
    // The operands' shapes broadcast to y's, so with equal sizes they are y's but for axes of size 1.
    const PointwiseLoop loop = dtype == Dtype::float32   ? loops.f32
                               : dtype == Dtype::float64 ? loops.f64
                               : dtype == Dtype::int64   ? loops.i64
                                                         : nullptr;
    if (loop != nullptr) {
      if (n <= kThreadChunk) {
        const void* const in[] = {x->raw_data()...};
        loop(&*op, in, y->raw_data(), n);
      } else {
        const int64_t size = itemsize(dtype);
        parallel_for(n, kThreadChunk, [&](int64_t begin, int64_t end) {
          const void* const in[] = {x->template data<char>() + begin * size...};
          loop(&*op, in, y->template data<char>() + begin * size, end - begin);
        });
      }
      return;
    }
  }
  const Array* const operands[] = {&*y, &*x...};
  pointwise_general(loops, Op::kName, &*op, operands);
}

template <class Op>
void add_pointwise(Backend& backend, const PointwiseLoops& loops) {
  pointwise_loops<Op> = loops;
  using Kernel = kernels::Pointwise<Op>;
  set_loops(kernel_id<Kernel>(), loops);
  constexpr int kArity = detail::pointwise_arity<Op>();
  if constexpr (kArity == 1) {
    backend.add<Kernel>(&pointwise_kernel<Op, In>);
  } else if constexpr (kArity == 2) {
    backend.add<Kernel>(&pointwise_kernel<Op, In, In>);
  } else if constexpr (kArity == 3) {
    backend.add<Kernel>(&pointwise_kernel<Op, In, In, In>);
  } else {
    backend.add<Kernel>(&pointwise_kernel<Op, In, In, In, In>);
  }
}

}  // namespace kusari::cpu
