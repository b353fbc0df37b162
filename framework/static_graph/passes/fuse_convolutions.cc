#include "kusari/framework/static_graph/passes/fuse_convolutions.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/fused_pointwise.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/static_graph/passes/constants.h"
#include "kusari/framework/static_graph/passes/convolution_step.h"
#include "kusari/framework/static_graph/passes/dependencies.h"

namespace kusari::graphs {

namespace {

using kernels::ConvolutionActivation;
using kernels::Pointwise;

template <class Op>
bool is(const Step& step) {
  return !step.is_code() && step.id.index == kernel_id<Pointwise<Op>>().index;
}

/// The functor of a pointwise kernel of one argument that a convolution can end with.
std::optional<kernels::UnaryFunctor> functor_of(const Step& step) {
  if (step.is_code() || step.operands.size() != 3) return std::nullopt;
  const PointwiseFunctor* const functor = find_pointwise_functor(step.id);
  if (functor == nullptr || functor->arguments != 1 || functor->is_boolean) return std::nullopt;
  const std::vector<std::byte>& bytes = step.operands[0].bytes;
  if (bytes.size() > kernels::UnaryFunctor::kBytes) return std::nullopt;
  kernels::UnaryFunctor found;
  found.kernel = step.id;
  std::ranges::copy(bytes, found.functor);
  return found;
}

/// x times a function of x that is one functor: Silu or HardSwish.
std::optional<kernels::UnaryFunctor> gated_functor(const Step& gate) {
  kernels::UnaryFunctor found;
  if (is<kernels::Sigmoid>(gate)) {
    found.kernel = kernel_id<Pointwise<kernels::Silu>>();
    return found;
  }
  if (!is<kernels::HardSigmoid>(gate)) return std::nullopt;
  const auto options = gate.params<kernels::HardSigmoid>(0);
  if (static_cast<float>(options.alpha) != static_cast<float>(1.0 / 6) || options.beta != 0.5) return std::nullopt;
  found.kernel = kernel_id<Pointwise<kernels::HardSwish>>();
  return found;
}

/// The numbers of the channels if `view` repeats them for every image and position of an array of that shape.
std::optional<View> channels_of(const View& view, const Shape& shape, int channel_axis) {
  const int ndim = view.shape.ndim(), missing = shape.ndim() - ndim, own = channel_axis - missing;
  if (missing < 0 || own < 0) return std::nullopt;
  for (int axis = 0; axis < ndim; ++axis) {
    const bool is_channel = axis == own;
    if (is_channel ? view.shape[axis] != shape[channel_axis] : view.shape[axis] != 1 && view.strides[axis] != 0)
      return std::nullopt;
  }
  View channels = view;
  channels.shape = {shape[channel_axis]};
  channels.strides = {view.strides[own]};
  return channels;
}

enum class Fused : uint8_t { convolutions, products };

class Fuse {
 public:
  Fuse(Program& program, Fused kind)
      : program_{program},
        kind_{kind},
        dependencies_{program},
        is_inference_{is_inference(program)},
        is_dropped_(program.steps.size()),
        is_fused_(program.steps.size()) {}

  int run() {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (is_fused_[i] || is_dropped_[i]) continue;
      const auto found = kind_ == Fused::convolutions ? ConvolutionStep::of(program_.steps[i]) : product_at(i);
      if (found) fuse(*found, static_cast<int32_t>(i));
    }
    const int fused = erase_steps(program_, is_dropped_);
    const auto first = std::ranges::find_if(program_.steps, [](const Step& s) { return s.phase != Phase::constant; });
    program_.steps.insert(first, std::make_move_iterator(constants_.begin()),
                          std::make_move_iterator(constants_.end()));
    return fused;
  }
  int products() const noexcept { return products_; }

 private:
  Step& step(int32_t index) { return program_.steps[static_cast<size_t>(index)]; }

  /// The product of rows and constant weights at step i, if it is to be a convolution.
  std::optional<ConvolutionStep> product_at(size_t i) const {
    const Step& found = program_.steps[i];
    if (!is_inference_ || !found.device.is_cpu() || found.phase != Phase::forward) return std::nullopt;
    auto product = ConvolutionStep::of_product(found);
    const auto is_fixed = [&](const View& view) {
      return !view.is_defined() || is_constant(program_, dependencies_, view.slot);
    };
    if (!product || !is_fixed(product->W) || product->y.slot == product->x.slot) return std::nullopt;
    return product;
  }
  /// Makes W (N, K), in Phase::constant.
  void turn_weights(ConvolutionStep& product, const Device& device) {
    if (!product.is_W_transposed) return;
    View turned = product.W;
    std::swap(turned.shape[0], turned.shape[1]);
    std::swap(turned.strides[0], turned.strides[1]);
    const auto bytes = static_cast<size_t>(numel(turned.shape) * itemsize(turned.dtype));
    const SlotIndex slot = program_.add_slot({.kind = Slot::Kind::constant, .device = device, .bytes = bytes});
    product.W = view_of(slot, turned.shape, contiguous_strides(turned.shape), turned.dtype);
    product.is_W_transposed = false;
    constants_.push_back(make_step<kernels::Copy>(
        device, Phase::constant,
        {operand_of(LaunchArgument::Kind::in, turned), operand_of(LaunchArgument::Kind::out, product.W)}));
  }

  /// As much as follows the convolution at step `first`; it is computed where the last of it was.
  void fuse(ConvolutionStep convolution, int32_t first) {
    if (!step(first).device.is_cpu() && !is_inference_) return;
    std::vector<int32_t> parts = {first};
    for (;;) {
      if (take_gate(convolution, parts)) break;
      const int32_t next = dependencies_.only_reader(convolution.y.slot);
      if (next < 0 || step(next).phase != step(first).phase || is_taken(next)) break;
      take_shape(step(next), convolution);
      ConvolutionStep wider = convolution;
      if (!take(step(next), wider) || !may_wait(wider, parts, next)) break;
      convolution = wider;
      parts.push_back(next);
    }
    if (convolution.is_product) {
      ++products_;
      turn_weights(convolution, step(first).device);
    } else if (parts.size() == 1) {
      return;
    }
    std::string names;
    for (const int32_t part : parts) {
      names += (names.empty() ? "" : " + ") + (step(part).fused.empty() ? step(part).name : step(part).fused);
    }
    Step& last = step(parts.back());
    last = convolution.step(last.device, last.phase);
    last.fused = names;
    is_fused_[static_cast<size_t>(parts.back())] = true;
    parts.pop_back();
    for (const int32_t part : parts) is_dropped_[static_cast<size_t>(part)] = true;
  }

  /// Whether a step has gone into another convolution: an addition takes up one of two.
  bool is_taken(int32_t index) const {
    return is_dropped_[static_cast<size_t>(index)] || is_fused_[static_cast<size_t>(index)];
  }

  /// y times a function of y: of the two readers of y the second is the product of both.
  bool take_gate(ConvolutionStep& convolution, std::vector<int32_t>& parts) {
    const std::span<const Access> uses = dependencies_.accesses(convolution.y.slot);
    if (convolution.ends() || dependencies_.is_reachable(convolution.y.slot) || uses.size() != 3) return false;
    const int32_t gate = uses[1].step, product = uses[2].step;
    if (!uses[0].writes || uses[0].reads || uses[1].writes || uses[2].writes || is_taken(gate) || is_taken(product))
      return false;
    const Phase phase = step(parts.back()).phase;
    if (step(gate).phase != phase || step(product).phase != phase || !is<kernels::Mul>(step(product))) return false;
    if (!takes_function(step(product))) return false;
    const auto functor = gated_functor(step(gate));
    if (!functor || step(gate).operands[1].views[0] != convolution.y) return false;
    const View& factor = step(gate).operands[2].views[0];
    if (factor.dtype != convolution.y.dtype || dependencies_.only_reader(factor.slot) != product) return false;
    const View &a = step(product).operands[1].views[0], &b = step(product).operands[2].views[0];
    if (!(a == convolution.y && b == factor) && !(a == factor && b == convolution.y)) return false;
    ConvolutionStep wider = convolution;
    wider.function = *functor;
    wider.y = step(product).operands[3].views[0];
    // Of bfloat16 numbers the functor is rounded once, where its parts are rounded one after the other.
    const Dtype dtype = convolution.y.dtype;
    const bool has_dtype = dtype == Dtype::float32 || (dtype == Dtype::bfloat16 && step(gate).device.is_cpu());
    if (!has_dtype || wider.y.dtype != dtype) return false;
    if (wider.y.shape != convolution.y.shape || !keeps_order(wider, convolution)) return false;
    if (!may_wait(wider, parts, product)) return false;
    convolution = wider;
    parts.push_back(gate);
    parts.push_back(product);
    return true;
  }

  /// Rows of a product may be read with other axes: (batch * places, width) as (batch, places, width).
  static void take_shape(const Step& next, ConvolutionStep& product) {
    if (!product.is_product || product.z.is_defined()) return;
    for_each_read(next, [&](const View& view) {
      const int last = view.shape.ndim() - 1;
      if (view.slot != product.y.slot || view.offset != product.y.offset || view.dtype != product.y.dtype) return;
      if (last < 1 || view.strides != contiguous_strides(view.shape)) return;
      if (numel(view.shape) != numel(product.y.shape)) return;
      if (view.shape[last] == product.y.shape[product.channel_axis()]) product.y = view;
    });
  }

  /// Whether a function becomes the convolution's. On other devices than the CPU that is a pass in place: a kernel that
  /// reads the function's result alone is better fused with the function.
  bool takes_function(const Step& next) const {
    const Device& device = next.device;
    if (device.backend().find(kernel_id<kernels::ConvolutionFunctionForward>()) == nullptr) return false;
    if (device.is_cpu()) return true;
    const int32_t reader = dependencies_.only_reader(next.operands.back().views[0].slot);
    return reader < 0 || find_pointwise_functor(program_.steps[static_cast<size_t>(reader)].id) == nullptr;
  }
  /// A product's result is rows without gaps.
  static bool keeps_order(const ConvolutionStep& wider, const ConvolutionStep& convolution) {
    return !convolution.is_product || wider.y.strides == convolution.y.strides;
  }

  bool take(const Step& next, ConvolutionStep& convolution) const {
    if (convolution.ends()) return false;
    const auto is_result = [&](const View& view) { return view == convolution.y; };
    const auto continue_to = [&](const View& y) {
      if (y.dtype != convolution.y.dtype || y.shape != convolution.y.shape) return false;
      if (convolution.is_product && y.strides != convolution.y.strides) return false;
      convolution.y = y;
      return true;
    };
    if (const auto functor = functor_of(next)) {
      if (!is_result(next.operands[1].views[0])) return false;
      if (is<kernels::Relu>(next)) {
        convolution.activation = ConvolutionActivation::relu;
      } else if (takes_function(next)) {
        convolution.function = *functor;
      } else {
        return false;
      }
      return continue_to(next.operands[2].views[0]);
    }
    if (!is<kernels::Add>(next)) return false;
    const View &a = next.operands[1].views[0], &b = next.operands[2].views[0];
    if (!is_result(a) && !is_result(b)) return false;
    const View& other = is_result(a) ? b : a;
    if (other.slot == convolution.y.slot || other.dtype != convolution.y.dtype) return false;
    if (const auto channels = channels_of(other, convolution.y.shape, convolution.channel_axis());
        channels && (!convolution.is_product || channels->strides[0] == 1) && convolution.is_plain() &&
        !convolution.bias.is_defined()) {
      convolution.bias = *channels;
      convolution.geometry.bias_comes_after = next.device.is_cpu();  // where the bits stay the same
    } else if (other.shape == convolution.y.shape && !convolution.z.is_defined() &&
               (!convolution.is_product || other.strides == convolution.y.strides)) {
      convolution.z = other;
    } else {
      return false;
    }
    return continue_to(next.operands[3].views[0]);
  }

  /// Whether all that the parts read is still there at step `last`, and is not where the result goes.
  bool may_wait(const ConvolutionStep& convolution, const std::vector<int32_t>& parts, int32_t last) const {
    for (const View* view : {&convolution.x, &convolution.W, &convolution.z, &convolution.bias}) {
      if (!view->is_defined()) continue;
      if (view->slot == convolution.y.slot) return false;
      // An addend may have been written after the convolution, but not after it was read.
      const int32_t read = first_read(view->slot, parts, last);
      if (dependencies_.is_written_between(view->slot, read, last)) return false;
    }
    return true;
  }
  int32_t first_read(SlotIndex slot, const std::vector<int32_t>& parts, int32_t last) const {
    for (const int32_t part : parts) {
      for (const Access& access : dependencies_.accesses(slot)) {
        if (access.step == part && access.reads) return part;
      }
    }
    return last;
  }

  Program& program_;
  Fused kind_;
  Dependencies dependencies_;  // of the program as it came
  bool is_inference_;
  int products_ = 0;
  std::vector<Step> constants_;
  std::vector<bool> is_dropped_;
  std::vector<bool> is_fused_;  // the result of this pass
};

}  // namespace

int fuse_convolutions(Program& program, PassLog& log) {
  const int fused = Fuse(program, Fused::convolutions).run();
  if (fused > 0) {
    log.entries.push_back({"fuse_convolutions", "put " + std::to_string(fused) + " into convolutions"});
  }
  return fused;
}

int pack_products(Program& program, PassLog& log) {
  Fuse fuse(program, Fused::products);
  const int fused = fuse.run();
  if (fuse.products() > 0) {
    log.entries.push_back({"pack_products", "gave " + std::to_string(fuse.products()) +
                                                " products packed weights, put " + std::to_string(fused) +
                                                " into them"});
  }
  return fuse.products();
}

}  // namespace kusari::graphs
