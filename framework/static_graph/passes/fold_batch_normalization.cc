#include "kusari/framework/static_graph/passes/fold_batch_normalization.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/batch_normalization.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/static_graph/passes/constants.h"
#include "kusari/framework/static_graph/passes/convolution_step.h"
#include "kusari/framework/static_graph/passes/dependencies.h"

namespace kusari::graphs {

namespace {

using kernels::FixedBatchNormalization;
using kernels::Matmul;
using kernels::Pointwise;
using Kind = LaunchArgument::Kind;

struct NormalizationStep {
  kernels::BatchNormalization options;
  View x, residual, gamma, beta, mean, var, inv_std, y;

  static std::optional<NormalizationStep> of(const Step& step) {
    if (step.is_code() || step.id.index != kernel_id<FixedBatchNormalization>().index) return std::nullopt;
    const auto view = [&](size_t operand) { return step.operands[operand].views[0]; };
    return NormalizationStep{step.params<kernels::BatchNormalization>(0),
                             view(1),
                             view(2),
                             view(3),
                             view(4),
                             view(5),
                             view(6),
                             view(7),
                             view(8)};
  }
  /// Whether it is over all axes but axis 1, that of a layer's output channels.
  bool is_by_channel() const {
    for (int axis = 0; axis < x.shape.ndim(); ++axis) {
      if (options.axes.contains(axis) == (axis == 1)) return false;
    }
    return x.shape.ndim() >= 2;
  }
};

/// A layer whose weights can be scaled by its output channels.
struct Layer {
  std::optional<ConvolutionStep> convolution;
  kernels::MatmulOptions matmul;  // a y = x W of matrices, or x W^T, if it is no convolution
  View x, W, bias, y;

  static std::optional<Layer> of(const Step& step) {
    if (const auto convolution = ConvolutionStep::of(step)) {
      if (!convolution->is_plain()) return std::nullopt;
      return Layer{convolution, {}, convolution->x, convolution->W, convolution->bias, convolution->y};
    }
    if (step.is_code() || step.id.index != kernel_id<Matmul>().index) return std::nullopt;
    const auto view = [&](size_t operand) { return step.operands[operand].views[0]; };
    Layer layer = {std::nullopt, step.params<kernels::MatmulOptions>(3), view(0), view(1), view(2), view(4)};
    if (layer.W.shape.ndim() != 2 || layer.y.shape.ndim() != 2) return std::nullopt;
    return layer;
  }
  /// The axis of W that belongs to axis 1 of y.
  int output_axis() const noexcept { return convolution || matmul.transb ? 0 : 1; }
};

class Fold {
 public:
  explicit Fold(Program& program)
      : program_{program}, dependencies_{program}, is_dropped_(program.steps.size()), behind_(program.steps.size()) {}

  int run() {
    int folded = 0;
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const auto normalization = NormalizationStep::of(program_.steps[i]);
      if (normalization && fold(*normalization, static_cast<int32_t>(i))) ++folded;
    }
    if (folded > 0) rebuild();
    return folded;
  }

 private:
  Slot& slot_of(const View& view) { return program_.slots[static_cast<size_t>(view.slot)]; }
  bool is_fixed(const View& view) const {
    return !view.is_defined() || is_constant(program_, dependencies_, view.slot);
  }

  /// Whether a layer at step `from` may be computed at step `to` instead.
  bool may_wait(const Layer& layer, int32_t from, int32_t to) const {
    for (const View* view : {&layer.x, &layer.W, &layer.bias}) {
      if (view->is_defined() && dependencies_.is_written_between(view->slot, from, to)) return false;
    }
    return true;
  }

  bool fold(const NormalizationStep& n, int32_t at) {
    if (n.inv_std.is_defined() || !n.is_by_channel() || dependencies_.only_reader(n.x.slot) != at) return false;
    const int32_t from = dependencies_.last_write_before(n.x.slot, at);
    // What Phase::constant computes is not computed again and again.
    if (program_.steps[static_cast<size_t>(from)].phase != Phase::forward) return false;
    const std::optional<Layer> layer = Layer::of(program_.steps[static_cast<size_t>(from)]);
    if (!layer || layer->y != n.x || n.y.dtype != n.x.dtype || n.y.slot == layer->x.slot || n.y.slot == n.residual.slot)
      return false;
    if (!layer->convolution && n.residual.is_defined()) return false;
    for (const View* view : {&layer->W, &layer->bias, &n.gamma, &n.beta, &n.mean, &n.var}) {
      if (!is_fixed(*view)) return false;
    }
    if (!may_wait(*layer, from, at)) return false;

    const Device& device = program_.steps[static_cast<size_t>(at)].device;
    const auto [W, bias] = scaled(*layer, n, device);
    Step& step = program_.steps[static_cast<size_t>(at)];
    const std::string names =
        std::string(program_.steps[static_cast<size_t>(from)].name) + " + " + std::string(step.name);
    if (layer->convolution) {
      ConvolutionStep convolution = *layer->convolution;
      convolution.geometry.weights_are_fixed = true;
      convolution.W = W;
      convolution.bias = bias;
      convolution.z = n.residual;
      convolution.y = n.y;
      if (n.options.relu) convolution.activation = kernels::ConvolutionActivation::relu;
      step = convolution.step(device, step.phase);
    } else {
      step = make_step<Matmul>(device, step.phase,
                               {operand_of(Kind::in, layer->x), operand_of(Kind::in, W), operand_of(Kind::in, bias),
                                params_of(layer->matmul), operand_of(Kind::out, n.y)});
      if (n.options.relu) {
        behind_[static_cast<size_t>(at)] = make_step<Pointwise<kernels::Relu>>(
            device, step.phase, {params_of(kernels::Relu{}), operand_of(Kind::in, n.y), operand_of(Kind::out, n.y)});
      }
    }
    step.fused = names;
    is_dropped_[static_cast<size_t>(from)] = true;
    return true;
  }

  struct Parameters {
    View W, bias;
  };

  /// Steps for W' and b' of a layer whose results are normalized by n. All is computed in float64 and rounded once.
  Parameters scaled(const Layer& layer, const NormalizationStep& n, const Device& device) {
    const Shape channels = n.gamma.shape;
    const auto numbers = [&](Dtype dtype) { return constant(channels, contiguous_strides(channels), dtype, device); };
    const View variance = numbers(Dtype::float64), inverse = numbers(Dtype::float64), scale = numbers(Dtype::float64);
    compute(device, variance, kernels::AddConst{n.options.eps}, n.var);
    compute(device, inverse, kernels::Rsqrt{}, variance);
    compute(device, scale, kernels::Mul{}, n.gamma, inverse);

    const Shape& shape = layer.W.shape;
    const View W = constant(shape, shape.ndim() > 2 ? channels_last_strides(shape) : contiguous_strides(shape),
                            layer.W.dtype, device);
    View per_output = scale;
    per_output.shape = shape;
    per_output.strides = Strides::filled(shape.ndim(), 0);
    per_output.strides[layer.output_axis()] = 1;
    compute(device, W, kernels::Mul{}, layer.W, per_output);

    const View centre = numbers(Dtype::float64);
    if (layer.bias.is_defined()) {
      compute(device, centre, kernels::Sub{}, layer.bias, n.mean);
    } else {
      compute(device, centre, kernels::Neg{}, n.mean);
    }
    // Libraries of devices want the dtype of images; the CPU adds float32 to sums that are float32.
    const Dtype wide = layer.y.dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32;
    const View bias = numbers(device.is_cpu() && layer.convolution ? wide : layer.y.dtype);
    compute(device, bias, kernels::MulAdd{}, centre, scale, n.beta);
    return {W, bias};
  }

  View constant(const Shape& shape, const Strides& strides, Dtype dtype, const Device& device) {
    const auto bytes = static_cast<size_t>(numel(shape) * itemsize(dtype));
    const SlotIndex slot = program_.add_slot({.kind = Slot::Kind::constant, .device = device, .bytes = bytes});
    return view_of(slot, shape, strides, dtype);
  }
  template <class Op, class... X>
  void compute(const Device& device, const View& y, const Op& op, const X&... x) {
    constants_.push_back(make_step<Pointwise<Op>>(
        device, Phase::constant, {params_of(op), operand_of(Kind::in, x)..., operand_of(Kind::out, y)}));
  }

  void rebuild() {
    std::vector<Step> steps;
    size_t i = 0;
    for (; i < program_.steps.size() && program_.steps[i].phase == Phase::constant; ++i) {
      steps.push_back(std::move(program_.steps[i]));
    }
    for (Step& step : constants_) steps.push_back(std::move(step));
    for (; i < program_.steps.size(); ++i) {
      if (!is_dropped_[i]) steps.push_back(std::move(program_.steps[i]));
      if (behind_[i]) steps.push_back(std::move(*behind_[i]));
    }
    program_.steps = std::move(steps);
  }

  Program& program_;
  Dependencies dependencies_;  // of the program as it came
  std::vector<Step> constants_;
  std::vector<bool> is_dropped_;
  std::vector<std::optional<Step>> behind_;  // each step
};

}  // namespace

int fold_batch_normalization(Program& program, PassLog& log) {
  if (!is_inference(program)) return 0;
  const int folded = Fold(program).run();
  if (folded > 0) {
    log.entries.push_back(
        {"fold_batch_normalization", "folded " + std::to_string(folded) + " into the weights of the layers before"});
  }
  return folded;
}

}  // namespace kusari::graphs
