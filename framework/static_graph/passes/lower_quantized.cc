#include "kusari/framework/static_graph/passes/lower_quantized.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/quantized_convolution.h"
#include "kusari/framework/static_graph/passes/constants.h"
#include "kusari/framework/static_graph/passes/convolution_step.h"
#include "kusari/framework/static_graph/passes/dependencies.h"
#include "kusari/framework/static_graph/passes/pointwise_step.h"
#include "kusari/framework/static_graph/passes/steps_of_results.h"

namespace kusari::graphs {

namespace {

using kernels::Pointwise;
using kernels::QuantizedConvolutionForward;
using Kind = LaunchArgument::Kind;

/// uint8 or int8 if it holds all integers between the two.
std::optional<Dtype> dtype_between(double low, double high) {
  if (low >= 0 && high <= 255) return Dtype::uint8;
  if (low >= -128 && high <= 127) return Dtype::int8;
  return std::nullopt;
}
bool is_8_bits(Dtype dtype) { return dtype == Dtype::uint8 || dtype == Dtype::int8; }

View transposed(View view) {
  std::swap(view.shape[0], view.shape[1]);
  std::swap(view.strides[0], view.strides[1]);
  return view;
}

/// Whether two arrays of one shape have their elements in the same order of memory.
bool are_in_one_order(const View& a, const View& b) {
  for (int axis = 0; axis < a.shape.ndim(); ++axis) {
    if (a.shape[axis] != 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

/// Whether each element that is read is the one that was written there. A matrix may be read as the weights of a
/// convolution over rows.
bool is_read_as_written(View read, const View& written) {
  if (written.shape.ndim() == 2 && read.shape.ndim() == 3 && read.shape[2] == 1) {
    read.shape = {read.shape[0], read.shape[1]};
    read.strides = {read.strides[0], read.strides[1]};
  }
  return read.shape == written.shape && are_in_one_order(read, written);
}

/// Numbers of 8 bits, or what they are rounded from.
struct Rounded {
  View from;  ///< float32 if `high` is above `low`, else the integers
  View result;
  View scale, zero;
  double low = 0, high = 0;
  Dtype dtype = Dtype::uint8;

  bool is_integer() const noexcept { return is_8_bits(from.dtype); }
  static std::optional<Rounded> of(const Step& step) {
    const auto view = [&](size_t operand) { return step.operands[operand].views[0]; };
    Rounded found;
    if (computes<kernels::FakeQuantize>(step)) {
      const auto range = step.params<kernels::FakeQuantize>(0);
      const auto dtype = dtype_between(range.low, range.high);
      if (!dtype || view(1).dtype != Dtype::float32) return std::nullopt;
      found.low = range.low;
      found.high = range.high;
      found.dtype = *dtype;
    } else if (computes<kernels::Dequantize>(step)) {
      if (!is_8_bits(view(1).dtype)) return std::nullopt;
      found.dtype = view(1).dtype;
    } else {
      return std::nullopt;
    }
    found.from = view(1);
    found.scale = view(2);
    found.zero = view(3);
    found.result = view(4);
    if (found.result.dtype != Dtype::float32 || found.from.shape != found.result.shape) return std::nullopt;
    return found;
  }
};

/// One number, or those of the first axis of an array of that shape.
std::optional<View> by_first_axis(const View& view, const Shape& shape) {
  View numbers = view;
  if (numel(view.shape) == 1) {
    numbers.shape = {1};
    numbers.strides = {1};
    return numbers;
  }
  if (view.shape.ndim() != shape.ndim() || view.shape[0] != shape[0]) return std::nullopt;
  for (int axis = 1; axis < view.shape.ndim(); ++axis) {
    if (view.shape[axis] != 1 && view.strides[axis] != 0) return std::nullopt;
  }
  numbers.shape = {shape[0]};
  numbers.strides = {view.strides[0]};
  return numbers;
}

class Lower {
 public:
  explicit Lower(Program& program) : program_{program}, dependencies_{program} {}

  int run() {
    int lowered = 0;
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (program_.steps[i].phase == Phase::forward && lower(static_cast<int32_t>(i))) ++lowered;
    }
    if (lowered > 0) rebuild();
    return lowered;
  }

 private:
  struct Weights {
    View W, scale, zero;
  };

  const Step& step(int32_t index) const { return program_.steps[static_cast<size_t>(index)]; }
  bool is_fixed(const View& view) const { return is_constant(program_, dependencies_, view.slot); }
  /// The one step that writes the slot; -1 where there is none, or several.
  int32_t writer(SlotIndex slot) const {
    if (dependencies_.count_writes(slot) != 1) return -1;
    for (const Access& access : dependencies_.accesses(slot)) {
      if (access.writes) return access.step;
    }
    return -1;
  }
  View new_view(Slot::Kind kind, const View& like, Dtype dtype, const Device& device) {
    const auto bytes = static_cast<size_t>(numel(like.shape) * itemsize(dtype));
    View view = like;
    view.slot = program_.add_slot({.kind = kind, .device = device, .bytes = bytes});
    view.dtype = dtype;
    view.offset = 0;
    return view;
  }

  /// A number of x's quantization where it is the same at every replay: itself, or one that an array is filled with.
  std::optional<View> steady(const View& number, const Device& device) {
    if (numel(number.shape) != 1) return std::nullopt;
    if (is_fixed(number)) return number;
    const int32_t at = writer(number.slot);
    if (at < 0 || step(at).is_code() || step(at).id.index != kernel_id<kernels::Fill>().index) return std::nullopt;
    auto [known, is_new] = filled_.try_emplace(number.slot);
    if (is_new) {
      View single = number;
      single.shape = {};
      single.strides = {};
      known->second = new_view(Slot::Kind::constant, single, number.dtype, device);
      Step fill = step(at);
      fill.phase = Phase::constant;
      fill.operands.back() = operand_of(Kind::out, known->second);
      constants_.push_back(std::move(fill));
    }
    return known->second;
  }

  static Step quantize(const Rounded& rounded, const View& from, const View& scale, const View& zero, const View& to,
                       const Device& device, Phase phase) {
    return make_step<Pointwise<kernels::Quantize>>(
        device, phase,
        {params_of(kernels::Quantize{rounded.low, rounded.high}), operand_of(Kind::in, from),
         operand_of(Kind::in, scale), operand_of(Kind::in, zero), operand_of(Kind::out, to)});
  }

  /// The integers that the weights W are multiples of.
  std::optional<Weights> weights(const View& W, const Device& device) {
    if (!is_fixed(W) || !is_whole(program_, W)) return std::nullopt;
    int32_t at = writer(W.slot);
    if (at < 0) return std::nullopt;
    // W (O, ...) = factors of the outputs times weights, as a folded normalization leaves them.
    std::optional<View> factors;
    View read = W;
    if (computes<kernels::Mul>(step(at))) {
      const View product = step(at).operands[3].views[0];
      factors = by_first_axis(step(at).operands[2].views[0], product.shape);
      if (!factors || !is_read_as_written(read, product)) return std::nullopt;
      read = step(at).operands[1].views[0];
      if (read.shape != product.shape) return std::nullopt;
      at = writer(read.slot);
      if (at < 0) return std::nullopt;
    }
    bool is_turned = false;
    if (!step(at).is_code() && step(at).id.index == kernel_id<kernels::Copy>().index) {
      const View from = step(at).operands[0].views[0];
      if (from.shape.ndim() != 2 || !is_read_as_written(read, step(at).operands[1].views[0])) return std::nullopt;
      at = writer(from.slot);
      if (at < 0) return std::nullopt;
      is_turned = Rounded::of(step(at)) && from == transposed(Rounded::of(step(at))->result);
      if (!is_turned) return std::nullopt;
    }
    std::optional<Rounded> rounded = Rounded::of(step(at));
    if (!rounded || step(at).phase != Phase::constant || !is_whole(program_, rounded->result)) return std::nullopt;
    if (!is_turned && !is_read_as_written(read, rounded->result)) return std::nullopt;
    if (is_turned) {
      for (View* view : {&rounded->from, &rounded->result}) *view = transposed(*view);
      for (View* view : {&rounded->scale, &rounded->zero}) {
        if (view->shape.ndim() == 2) *view = transposed(*view);
      }
    }
    const Shape& shape = rounded->result.shape;
    const bool is_matrix = shape != W.shape;
    const auto scale = by_first_axis(rounded->scale, shape), zero = by_first_axis(rounded->zero, shape);
    if (!scale || !zero || !is_fixed(*scale) || !is_fixed(*zero) || !is_fixed(rounded->from)) return std::nullopt;

    View integers = new_view(Slot::Kind::constant, W, rounded->dtype, device), written = integers;
    if (is_matrix) {
      written.shape = shape;
      written.strides = {W.strides[0], W.strides[1]};
    }
    if (rounded->is_integer()) {
      constants_.push_back(make_step<kernels::Copy>(
          device, Phase::constant, {operand_of(Kind::in, rounded->from), operand_of(Kind::out, written)}));
    } else {
      constants_.push_back(
          quantize(*rounded, rounded->from, rounded->scale, rounded->zero, written, device, Phase::constant));
    }
    if (!factors) return Weights{integers, *scale, *zero};
    View channels = *factors;
    channels.shape = {W.shape[0]};
    channels.strides = {1};
    const View scaled = new_view(Slot::Kind::constant, channels, Dtype::float32, device);
    const auto spread = [&](View view) {
      if (view.shape[0] == W.shape[0]) return view;
      view.shape = {W.shape[0]};
      view.strides = {0};
      return view;
    };
    constants_.push_back(
        make_step<Pointwise<kernels::Mul>>(device, Phase::constant,
                                           {params_of(kernels::Mul{}), operand_of(Kind::in, spread(*scale)),
                                            operand_of(Kind::in, spread(*factors)), operand_of(Kind::out, scaled)}));
    return Weights{integers, scaled, *zero};
  }

  /// The integers of step `at`'s result, laid out like `x`, which is all of it.
  View integers(const Rounded& rounded, int32_t at, const View& x, const Device& device) {
    if (rounded.is_integer()) {
      View view = x;
      view.slot = rounded.from.slot;
      view.dtype = rounded.from.dtype;
      view.offset = rounded.from.offset;
      return view;
    }
    auto [known, is_new] = quantized_.try_emplace(at);
    if (is_new) {
      known->second = new_view(Slot::Kind::intermediate, rounded.result, rounded.dtype, device);
      before_[at] = quantize(rounded, rounded.from, rounded.scale, rounded.zero, known->second, device, Phase::forward);
    }
    View view = x;
    view.slot = known->second.slot;
    view.dtype = rounded.dtype;
    view.offset = 0;
    return view;
  }

  /// A convolution, or x W^T as one over the rows. On the CPU pack_products has made all of some rows convolutions; of
  /// one row, bytes are read in a quarter of the time.
  static std::optional<ConvolutionStep> convolution_of(const Step& s) {
    const std::optional<ConvolutionStep> convolution = ConvolutionStep::of(s);
    if (convolution || s.is_code()) return convolution;
    const int64_t fewest_rows = s.device.is_cpu() ? 1 : ConvolutionStep::kFewestRows;
    const std::optional<ConvolutionStep> product = ConvolutionStep::of_product(s, fewest_rows);
    if (!product || product->is_W_transposed) return std::nullopt;
    return ConvolutionStep::of(product->step(s.device, s.phase));
  }

  bool lower(int32_t at) {
    const Device device = step(at).device;
    const std::optional<ConvolutionStep> convolution = convolution_of(step(at));
    if (!convolution || device.backend().find(kernel_id<QuantizedConvolutionForward>()) == nullptr) return false;
    const ConvolutionStep& c = *convolution;
    if (c.y.dtype != Dtype::float32 || c.x.dtype != Dtype::float32 || c.geometry.ndim > 2) return false;
    if (numel(c.y.shape) == 0) return false;
    const int64_t terms = numel(c.W.shape) / c.W.shape[0], channels = c.x.shape[1] / c.geometry.groups;
    const bool is_depthwise = channels == 1 && c.W.shape[0] == c.geometry.groups;
    if (terms > kernels::kMostQuantizedTerms) return false;
    if (device.is_cpu() && c.geometry.groups > 1 && channels % 2 != 0 && !is_depthwise) return false;
    const int32_t maker = writer(c.x.slot);
    if (maker < 0 || maker > at || step(maker).phase != Phase::forward) return false;
    std::optional<Rounded> rounded = Rounded::of(step(maker));
    if (!rounded || !is_whole(program_, rounded->result) || !is_whole(program_, c.x)) return false;
    // Numbers that are worked out at each replay will do as well, if they are still there.
    for (View* const number : {&rounded->scale, &rounded->zero}) {
      if (const auto fixed = steady(*number, device)) {
        *number = *fixed;
      } else if (numel(number->shape) != 1 || dependencies_.is_written_between(number->slot, maker, at)) {
        return false;
      }
    }
    if (rounded->is_integer() && (!are_in_one_order(rounded->from, rounded->result) ||
                                  dependencies_.is_written_between(rounded->from.slot, maker, at)))
      return false;
    const std::optional<Weights> W = weights(c.W, device);
    if (!W) return false;

    kernels::QuantizedConvolution options;
    options.geometry = c.geometry;
    options.geometry.weights_are_fixed = true;
    options.function = c.function;
    if (c.activation == kernels::ConvolutionActivation::relu) {
      options.function.kernel = kernel_id<Pointwise<kernels::Relu>>();
    }
    const auto in = [](const View& view) { return operand_of(Kind::in, view); };
    const View x = integers(*rounded, maker, c.x, device);
    Step lowered = make_step<QuantizedConvolutionForward>(
        device, Phase::forward,
        {params_of(options), in(x), in(rounded->scale), in(rounded->zero), in(W->W), in(W->scale), in(W->zero), in(c.z),
         in(c.bias), in({}), in({}), operand_of(Kind::out, c.y)});
    lowered.fused = step(at).fused;
    program_.steps[static_cast<size_t>(at)] = std::move(lowered);
    return true;
  }

  void rebuild() {
    std::vector<Step> steps;
    size_t i = 0;
    for (; i < program_.steps.size() && program_.steps[i].phase == Phase::constant; ++i) {
      steps.push_back(std::move(program_.steps[i]));
    }
    std::ranges::move(constants_, std::back_inserter(steps));
    for (; i < program_.steps.size(); ++i) {
      if (const auto found = before_.find(static_cast<int32_t>(i)); found != before_.end()) {
        steps.push_back(std::move(found->second));
      }
      steps.push_back(std::move(program_.steps[i]));
    }
    program_.steps = std::move(steps);
  }

  Program& program_;
  Dependencies dependencies_;  // of the program as it came
  std::vector<Step> constants_;
  std::map<int32_t, Step> before_;     // each step
  std::map<SlotIndex, View> filled_;   // constants in place of slots
  std::map<int32_t, View> quantized_;  // of the results of these steps
};

/// Drops what made float32 numbers of integers that nobody reads any longer.
void drop_unread(Program& program) {
  const Dependencies dependencies(program);
  std::vector<bool> is_dropped(program.steps.size());
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const auto rounded = Rounded::of(program.steps[i]);
    if (!rounded || dependencies.is_reachable(rounded->result.slot)) continue;
    is_dropped[i] = dependencies.count_reads(rounded->result.slot) == 0;
  }
  erase_steps(program, is_dropped);
}

/// Scales a convolution's sums and bias so that its results are in steps of the scale by which they are rounded.
void compute_in_steps(Step& convolution, StepsOfResults& steps) {
  static constexpr size_t kWScale = 5, kZ = 7, kBias = 8, kYScale = 9;
  static const int relu = kernel_id<Pointwise<kernels::Relu>>().index;
  const int function = convolution.params<kernels::QuantizedConvolution>(0).function.kernel.index;
  const auto number = [&](size_t operand) { return convolution.operands[operand].views[0]; };
  const View W_scale = number(kWScale), bias = number(kBias), y_scale = number(kYScale);
  if (number(kZ).is_defined() || (function >= 0 && function != relu)) return;
  if (!steps.is_fixed(W_scale) || !steps.is_fixed(bias) || !steps.is_fixed(y_scale)) return;
  const auto replace = [&](size_t operand, const View& by) {
    convolution.operands[operand] = operand_of(Kind::in, by);
  };
  replace(kWScale, steps.divided(W_scale, y_scale, convolution.device));
  if (bias.is_defined()) replace(kBias, steps.divided(bias, y_scale, convolution.device));
  replace(kYScale, steps.one(convolution.device));
}

/// Convolutions write integers where nobody reads anything else of them. Returns how many.
int write_integers(Program& program) {
  const Dependencies dependencies(program);
  StepsOfResults steps(program, dependencies);
  std::vector<bool> is_dropped(program.steps.size());
  for (size_t i = 0; i < program.steps.size(); ++i) {
    Step& convolution = program.steps[i];
    if (convolution.is_code() || convolution.id.index != kernel_id<QuantizedConvolutionForward>().index) continue;
    const size_t result = convolution.operands.size() - 1;
    const View y = convolution.operands[result].views[0];
    const int32_t reader = dependencies.only_reader(y.slot);
    if (reader < 0 || !computes<kernels::Quantize>(program.steps[static_cast<size_t>(reader)])) continue;
    const Step& quantize = program.steps[static_cast<size_t>(reader)];
    const auto view = [&](size_t operand) { return quantize.operands[operand].views[0]; };
    const View q = view(4);
    if (!is_whole(program, y) || !is_whole(program, q) || !is_whole(program, view(1))) continue;
    if (view(1).strides != q.strides || view(1).shape != q.shape || dependencies.count_writes(q.slot) != 1) continue;
    if (program.slots[static_cast<size_t>(q.slot)].kind != Slot::Kind::intermediate || !is_8_bits(q.dtype)) continue;
    if (numel(view(2).shape) != 1 || numel(view(3).shape) != 1) continue;
    if (!is_constant(program, dependencies, view(2).slot) || !is_constant(program, dependencies, view(3).slot))
      continue;
    auto options = convolution.params<kernels::QuantizedConvolution>(0);
    const auto range = quantize.params<kernels::Quantize>(0);
    options.low = range.low;
    options.high = range.high;
    convolution.operands[0] = params_of(options);
    convolution.operands[result - 2] = operand_of(Kind::in, view(2));
    convolution.operands[result - 1] = operand_of(Kind::in, view(3));
    View written = y;
    written.slot = q.slot;
    written.dtype = q.dtype;
    written.offset = q.offset;
    convolution.operands[result] = operand_of(Kind::out, written);
    convolution.fused += (convolution.fused.empty() ? std::string(convolution.name) : std::string()) + " + quantize";
    is_dropped[static_cast<size_t>(reader)] = true;
    compute_in_steps(convolution, steps);
  }
  const int written = erase_steps(program, is_dropped);
  steps.insert();
  return written;
}

}  // namespace

int lower_quantized(Program& program, PassLog& log) {
  if (!is_inference(program)) return 0;
  const int lowered = Lower(program).run();
  if (lowered == 0) return 0;
  drop_unread(program);
  const int written = write_integers(program);
  log.entries.push_back({"lower_quantized", "made " + std::to_string(lowered) + " convolutions of integers, " +
                                                std::to_string(written) + " of which write integers"});
  return lowered;
}

}  // namespace kusari::graphs
