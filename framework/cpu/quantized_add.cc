#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/quantized_call.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/quantized_convolution.h"

namespace kusari::cpu {
namespace {

QuantizedOperand operand(const Array& q, const Array& scale, const Array& zero) {
  return {q.data<unsigned char>(), static_cast<unsigned char>(q.dtype() == Dtype::int8 ? 128 : 0), single_number(scale),
          single_number(zero) + (q.dtype() == Dtype::int8 ? 128.0f : 0.0f)};
}

void quantized_add(Params<kernels::QuantizedAdd> options, In a, In a_scale, In a_zero, In b, In b_scale, In b_zero,
                   In y_scale, In y_zero, Out y) {
  kernels::check_quantized_add(a, b, y);
  const QuantizedOperand left = operand(*a, *a_scale, *a_zero), right = operand(*b, *b_scale, *b_zero);
  QuantizedTarget target = {*y, single_number(*y_scale), single_number(*y_zero), static_cast<float>(options->low),
                            static_cast<float>(options->high)};
  ResultRange range = {options->relu ? ResultCut::below_zero : ResultCut::none, 0, 0};
  cut_integers(range, target);
  const PackedRounding rounding = rounding_to(target);
  parallel_for(y->size(), kThreadChunk, [&](int64_t begin, int64_t end) {
    QuantizedOperand l = left, r = right;
    PackedRounding to = rounding;
    l.q += begin;
    r.q += begin;
    to.y += begin;
    quantization().add(l, r, to, end - begin);
  });
}

}  // namespace

void register_quantized_add(Backend& backend) { backend.add<kernels::QuantizedAddForward>(&quantized_add); }

}  // namespace kusari::cpu
