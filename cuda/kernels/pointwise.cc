#include "kusari/cuda/kernels/pointwise.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pointwise_lists.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/broadcast.h"

namespace kusari::cuda {
namespace {

/// The index of the fast kernels' type that fits all operands, or -1.
template <int kInputs>
int fast_type(const PointwiseKernels<kInputs>& kernels, const Array* const (&operands)[kInputs + 1]) {
  const Dtype dtype = operands[kInputs]->dtype();
  const int type = fast_type_of(dtype);
  if (type < 0 || operands[0]->dtype() != (kernels.boolean_result ? Dtype::bool_ : dtype)) return -1;
  for (int k = 1; k < kInputs; ++k) {
    if (operands[k]->dtype() != (k == 1 && kernels.boolean_argument ? Dtype::bool_ : dtype)) return -1;
  }
  return type;
}

/// One dense range in every operand.
template <int kInputs>
void run_flat(Context& context, typename PointwiseKernels<kInputs>::Flat kernel, const FunctorBytes& op,
              const PointwiseOperands<kInputs>& operands, int64_t n, int64_t pack) {
  // Small arrays are spread over the multiprocessors, each thread of large ones has several packs.
  constexpr int64_t kSpan = kPointwiseThreads * kFlatPacks<kInputs>;
  const int64_t packs = n / pack;
  const int64_t span = packs >= kSpan * context.facts().multiprocessors ? kSpan : kPointwiseThreads;
  enqueue(context, {blocks_for(packs, span), kPointwiseThreads}, kernel, op, operands, n, static_cast<int>(span));
}

template <int kInputs>
typename PointwiseKernels<kInputs>::General general_kernel(const PointwiseKernels<kInputs>& kernels,
                                                           const Array* const (&operands)[kInputs + 1]) {
  bool is_double = false, is_real = false;
  for (const Array* x : operands) {
    is_double = is_double || x->dtype() == Dtype::float64;
    is_real = is_real || x->is_floating();
  }
  if (is_double) return kernels.float64;
  if (is_real) return kernels.float32;
  if (kernels.int64 == nullptr) {
    throw TypeError(std::string(kernels.name) + ": x has dtype " + name(operands[1]->dtype()) +
                    " but must be floating");
  }
  return kernels.int64;
}

/// By the index of the kernel; null for those that are no functors of one argument.
std::vector<const PointwiseKernels<1>*>& known_functions() {
  static std::vector<const PointwiseKernels<1>*> known;
  return known;
}

}  // namespace

template <int kInputs>
void run_pointwise(const PointwiseKernels<kInputs>& kernels, const FunctorBytes& op,
                   const Array* const (&operands)[kInputs + 1]) {
  const Array& y = *operands[0];
  const int64_t n = y.size();
  const int type = fast_type(kernels, operands);
  PointwiseOperands<kInputs> places;
  bool in_order = y.is_contiguous(), aligned = true;
  for (int k = 0; k <= kInputs; ++k) {
    places.base[k] = operands[k]->template data<char>();
    places.dtype[k] = operands[k]->dtype();
    // The shapes broadcast to y's, so with equal sizes they are y's but for axes of size 1.
    in_order = in_order && operands[k]->is_contiguous() && operands[k]->size() == n;
    aligned = aligned && is_pack_aligned(places.base[k]);
  }
  if (in_order && type >= 0 && aligned && n > 0) {
    run_flat<kInputs>(Context::of(y), kernels.flat[type], op, places, n, 16 / itemsize(operands[kInputs]->dtype()));
    return;
  }

  for (int k = 1; k <= kInputs; ++k) check_broadcast(kernels.name, *operands[k], y.shape());
  if (n == 0) return;
  const typename PointwiseKernels<kInputs>::General general = general_kernel(kernels, operands);
  Context& context = Context::of(y);
  StridedRange<kInputs + 1> range{StridedLoop(operands)};
  if (type >= 0) {
    const int64_t pack = 16 / itemsize(operands[kInputs]->dtype());
    int sizes[kInputs + 1];
    uint32_t repeated = 0;
    bool flat = range.ndim == 1 && aligned;
    for (int k = 0; k <= kInputs; ++k) {
      sizes[k] = static_cast<int>(itemsize(places.dtype[k]));
      const int64_t stride = range.stride[k][range.ndim - 1];
      flat = flat && stride == sizes[k];
      repeated |= stride == 0 ? 1u << k : 0u;
    }
    if (flat) {
      run_flat<kInputs>(context, kernels.flat[type], op, places, n, pack);
      return;
    }
    if (kernels.strided[type] != nullptr && (repeated & 1u) == 0 && range.has_packs(pack, sizes)) {
      range.group(pack);
      for_each_narrow(range, [&](const StridedRange<kInputs + 1>& piece) {
        for (int k = 0; k <= kInputs; ++k) places.base[k] = piece.base[k];
        const auto packs = static_cast<uint32_t>(piece.elements());
        enqueue(context, {blocks_for(packs, kPointwiseThreads * kStridedPacks), kPointwiseThreads},
                kernels.strided[type], op, places, piece.index(), packs, repeated);
      });
      return;
    }
  }
  for_each_narrow(range, [&](const StridedRange<kInputs + 1>& piece) {
    for (int k = 0; k <= kInputs; ++k) places.base[k] = piece.base[k];
    const auto elements = static_cast<uint32_t>(piece.elements());
    enqueue(context, {blocks_for(elements, kPointwiseThreads * kAtOnce), kPointwiseThreads}, general, op, places,
            piece.index(), elements);
  });
}

template void run_pointwise<1>(const PointwiseKernels<1>&, const FunctorBytes&, const Array* const (&)[2]);
template void run_pointwise<2>(const PointwiseKernels<2>&, const FunctorBytes&, const Array* const (&)[3]);
template void run_pointwise<3>(const PointwiseKernels<3>&, const FunctorBytes&, const Array* const (&)[4]);
template void run_pointwise<4>(const PointwiseKernels<4>&, const FunctorBytes&, const Array* const (&)[5]);

void remember_function(KernelId kernel, const PointwiseKernels<1>& kernels) {
  const auto index = static_cast<size_t>(kernel.index);
  if (index >= known_functions().size()) known_functions().resize(index + 1);
  known_functions()[index] = &kernels;
}

void apply_function(const kernels::UnaryFunctor& function, const Array& x, const Array& y) {
  static_assert(sizeof(FunctorBytes) == sizeof(function.functor));
  FunctorBytes bytes;
  std::memcpy(bytes.byte, function.functor, sizeof(bytes));
  const Array* const operands[] = {&y, &x};
  run_pointwise<1>(*known_functions().at(static_cast<size_t>(function.kernel.index)), bytes, operands);
}

void register_pointwise(Backend& backend) {
  register_activation_functors(backend);
  register_arithmetic_functors(backend);
  register_comparison_functors(backend);
  register_math_functors(backend);
}

}  // namespace kusari::cuda
