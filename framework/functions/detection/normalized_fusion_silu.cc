#include "kusari/framework/functions/detection/normalized_fusion_silu.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/silu.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/identity.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/normalized_fusion.h"

namespace kusari::functions {
namespace {

const char* const kFusion = "F::normalized_fusion_silu";

// By the functions that there are.
Variable composed_fusion(std::span<const Variable> xs, const Variable& w, double eps) {
  const Variable positive = relu(w), share = cast(positive / (sum(positive) + eps), xs[0].dtype());
  Variable mean;
  for (size_t i = 0; i < xs.size(); ++i) {
    const Variable term = get_item(share, static_cast<int64_t>(i)) * xs[i];
    mean = i == 0 ? term : mean + term;
  }
  return silu(mean);
}

void check_fusion(const TypeCheck& c) {
  const size_t maps = c.size() - 1;
  const auto first = c.arg("xs[0]", 0), w = c.arg("w", maps);
  c.expect(first.is_floating(), w.is_floating(), w.ndim() == 1, w.shape(0) == static_cast<int64_t>(maps));
  for (size_t i = 1; i < maps; ++i) {
    const auto x = c.arg("xs[i]", i);
    c.expect(x.dtype() == first.dtype(), x.shape() == first.shape());
  }
}

// Two or three maps, and w.
class NormalizedFusionSilu final : public FunctionNode {
 public:
  explicit NormalizedFusionSilu(double eps) : eps_{eps} {}
  const char* name() const override { return "normalized_fusion_silu"; }
  void describe(Attributes& options) const override { options.set("eps", eps_); }

 private:
  void check(const TypeCheck& c) const override { check_fusion(c); }

  // Where the kernels find the maps: all in one order in memory, channels-last if one of them is.
  struct Maps {
    Array x[kernels::kMostFusedMaps], w;
    bool is_image = false;

    Array ordered(const Array& map) const { return is_image ? map.channels_last() : map.contiguous(); }
    Array result() const {
      const Array& like = x[0];
      return is_image ? empty_channels_last(like.shape(), like.dtype(), like.device())
                      : empty(like.shape(), like.dtype(), like.device());
    }
  };
  template <class Inputs>
  static Maps maps_of(const Inputs& inputs, size_t count) {
    Maps maps;
    for (size_t i = 0; i < count; ++i) {
      maps.is_image = maps.is_image || (inputs(i).is_channels_last() && !inputs(i).is_contiguous());
    }
    for (size_t i = 0; i < count; ++i) maps.x[i] = maps.ordered(inputs(i));
    maps.w = inputs(count).astype(maps.x[0].dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32).contiguous();
    return maps;
  }

  Arrays forward(const ArrayRefs& in) override {
    const size_t count = in.size() - 1;
    retain_inputs({0, 1, 2});
    if (count == 3) retain_inputs({3});
    const Maps maps = maps_of([&](size_t i) -> const Array& { return in[i]; }, count);
    const Array y = maps.result();
    launch<kernels::NormalizedFusionSilu>(y.device(), eps_, maps.x[0], maps.x[1], maps.x[2], maps.w, y);
    return {y};
  }

  Variables backward(const Variables& gy) override {
    const size_t count = input_count() - 1;
    Variables inputs;
    for (size_t i = 0; i <= count; ++i) inputs.push_back(retained_input(i));
    if (config().enable_backprop) return composed_gradients(inputs, gy[0]);
    const Maps maps = maps_of([&](size_t i) -> const Array& { return inputs[i].array(); }, count);
    Array gx[kernels::kMostFusedMaps];
    for (size_t i = 0; i < count; ++i) {
      if (needs_grad(i)) gx[i] = maps.result();
    }
    const Array gw = needs_grad(count) ? empty_like(maps.w) : Array();
    launch<kernels::NormalizedFusionSiluGrad>(maps.w.device(), eps_, maps.x[0], maps.x[1], maps.x[2], maps.w,
                                              maps.ordered(gy[0].array()), gx[0], gx[1], gx[2], gw);
    Variables gradients(count + 1);
    for (size_t i = 0; i < count; ++i) {
      if (gx[i].is_defined()) gradients[i] = Variable(gx[i], false);
    }
    if (gw.is_defined()) gradients[count] = Variable(gw.astype(input_dtype(count)), false);
    return gradients;
  }

  Variables composed_gradients(const Variables& inputs, const Variable& gy) const {
    // Of stand-ins: a map may be computed from another, and what reaches that one on this way is not of this function.
    Variables own;
    for (const Variable& input : inputs) own.push_back(identity(input));
    const Variable y[] = {composed_fusion({own.data(), own.size() - 1}, own[own.size() - 1], eps_)}, seeds[] = {gy};
    return grad(y, std::span<const Variable>(own.data(), own.size()),
                {.grad_outputs = seeds, .enable_double_backprop = true});
  }

  double eps_;
};

}  // namespace

Variable normalized_fusion_silu(std::span<const Variable> xs, const Variable& w, double eps) {
  argument::require(!xs.empty(), kFusion, "xs.size()", int64_t{0}, "be at least 1");
  argument::finite_positive(kFusion, "eps", eps);
  expect_all_given(xs, kFusion);
  expect_floating(w, kFusion, "w");
  Dtype widest = xs[0].dtype();
  for (const Variable& x : xs) {
    if (x.dtype() != widest) widest = promote(widest, x.dtype());
  }
  Variables inputs;
  for (const Variable& x : xs) inputs.push_back(cast(x, widest));
  inputs.push_back(w);
  const std::span<const Variable> all(inputs.data(), inputs.size());
  if (xs.size() == 2 || xs.size() == 3) return apply_all<NormalizedFusionSilu>(all, eps)[0];
  SmallVector<const Variable*, 4> pointers;
  for (const Variable& input : all) pointers.push_back(&input);
  const ArrayRefs arrays({pointers.data(), pointers.size()});
  check_fusion(TypeCheck("normalized_fusion_silu", arrays));
  return composed_fusion(all.first(xs.size()), w, eps);
}

}  // namespace kusari::functions
