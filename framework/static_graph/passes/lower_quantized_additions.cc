#include "kusari/framework/static_graph/passes/lower_quantized_additions.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/quantized_convolution.h"
#include "kusari/framework/static_graph/passes/constants.h"
#include "kusari/framework/static_graph/passes/dependencies.h"
#include "kusari/framework/static_graph/passes/pointwise_step.h"
#include "kusari/framework/static_graph/passes/steps_of_results.h"

namespace kusari::graphs {

namespace {

using kernels::QuantizedAddForward;
using Kind = LaunchArgument::Kind;

const View& view(const Step& step, size_t operand) { return step.operands[operand].views[0]; }
bool holds_8_bits(const View& v) { return v.dtype == Dtype::uint8 || v.dtype == Dtype::int8; }
bool is_alike(const View& a, const View& b) { return a.shape == b.shape && a.strides == b.strides; }

class Additions {
 public:
  explicit Additions(Program& program)
      : program_{program},
        dependencies_{program},
        steps_of_results_(program, dependencies_),
        is_dropped_(program.steps.size()) {}

  int run() {
    int lowered = 0;
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (!lower(static_cast<int32_t>(i))) continue;
      ++lowered;
    }
    // What made float32 numbers of the integers, where nobody else reads them.
    for (const int32_t at : dequantizations_) {
      const SlotIndex result = view(step(at), 4).slot;
      int reads = dependencies_.count_reads(result);
      for (const Access& access : dependencies_.accesses(result)) {
        if (!access.writes && is_dropped_[static_cast<size_t>(access.step)]) --reads;
      }
      if (reads == 0 && !dependencies_.is_reachable(result)) is_dropped_[static_cast<size_t>(at)] = true;
    }
    erase_steps(program_, is_dropped_);
    steps_of_results_.insert();
    return lowered;
  }

 private:
  const Step& step(int32_t index) const { return program_.steps[static_cast<size_t>(index)]; }
  /// The one step that writes the slot, before `at`; -1 where there is none, or several.
  int32_t writer(SlotIndex slot, int32_t at) const {
    if (dependencies_.count_writes(slot) != 1) return -1;
    const int32_t found = dependencies_.last_write_before(slot, at);
    return found >= 0 && step(found).phase == Phase::forward ? found : -1;
  }
  /// The step that makes v, all of it, for one reader alone.
  int32_t maker_for(const View& v, int32_t reader) const {
    return is_whole(program_, v) && dependencies_.only_reader(v.slot) == reader ? writer(v.slot, reader) : -1;
  }
  /// The Dequantize that v is the result of; -1 where it is none, or the integers are not laid out like `y`.
  int32_t dequantization(const View& v, const View& y, int32_t at) const {
    const int32_t maker = is_whole(program_, v) ? writer(v.slot, at) : -1;
    if (maker < 0 || !computes<kernels::Dequantize>(step(maker))) return -1;
    const View &from = view(step(maker), 1), &result = view(step(maker), 4);
    const bool fits = holds_8_bits(from) && is_alike(from, y) && result == v && is_alike(v, y) &&
                      numel(view(step(maker), 2).shape) == 1 && numel(view(step(maker), 3).shape) == 1;
    if (!fits || dependencies_.is_written_between(from.slot, maker, at)) return -1;
    for (const size_t number : {2, 3}) {
      if (dependencies_.is_written_between(view(step(maker), number).slot, maker, at)) return -1;
    }
    return maker;
  }

  bool lower(int32_t at) {
    const Step& quantize = step(at);
    if (!computes<kernels::Quantize>(quantize) || quantize.phase != Phase::forward) return false;
    if (quantize.device.backend().find(kernel_id<QuantizedAddForward>()) == nullptr) return false;
    const View y = view(quantize, 4), sum = view(quantize, 1);
    if (!holds_8_bits(y) || !is_whole(program_, y) || !is_alike(sum, y) || sum.dtype != Dtype::float32) return false;
    if (numel(view(quantize, 2).shape) != 1 || numel(view(quantize, 3).shape) != 1) return false;
    int32_t add = maker_for(sum, at);
    std::optional<int32_t> relu;
    if (add >= 0 && computes<kernels::Relu>(step(add))) {
      relu = add;
      if (!is_alike(view(step(*relu), 1), y)) return false;
      add = maker_for(view(step(*relu), 1), *relu);
    }
    if (add < 0 || !computes<kernels::Add>(step(add)) || !is_alike(view(step(add), 3), y)) return false;
    const int32_t a = dequantization(view(step(add), 1), y, at), b = dequantization(view(step(add), 2), y, at);
    if (a < 0 || b < 0) return false;

    const auto range = quantize.params<kernels::Quantize>(0);
    const auto in = [](const View& v) { return operand_of(Kind::in, v); };
    View scales[] = {view(step(a), 2), view(step(b), 2), view(quantize, 2)};
    if (std::ranges::all_of(scales, [&](const View& scale) { return steps_of_results_.is_fixed(scale); })) {
      for (View* scale : {&scales[0], &scales[1]}) {
        *scale = steps_of_results_.divided(*scale, scales[2], quantize.device);
      }
      scales[2] = steps_of_results_.one(quantize.device);
    }
    Step lowered = make_step<QuantizedAddForward>(
        quantize.device, Phase::forward,
        {params_of(kernels::QuantizedAdd{range.low, range.high, relu.has_value()}), in(view(step(a), 1)), in(scales[0]),
         in(view(step(a), 3)), in(view(step(b), 1)), in(scales[1]), in(view(step(b), 3)), in(scales[2]),
         in(view(quantize, 3)), operand_of(Kind::out, y)});
    program_.steps[static_cast<size_t>(at)] = std::move(lowered);
    is_dropped_[static_cast<size_t>(add)] = true;
    if (relu) is_dropped_[static_cast<size_t>(*relu)] = true;
    dequantizations_.push_back(a);
    dequantizations_.push_back(b);
    return true;
  }

  Program& program_;
  Dependencies dependencies_;  // of the program as it came
  StepsOfResults steps_of_results_;
  std::vector<bool> is_dropped_;
  std::vector<int32_t> dequantizations_;
};

}  // namespace

int lower_quantized_additions(Program& program, PassLog& log) {
  if (!is_inference(program)) return 0;
  const int lowered = Additions(program).run();
  if (lowered > 0) {
    log.entries.push_back({"lower_quantized", "made " + std::to_string(lowered) + " additions of integers"});
  }
  return lowered;
}

}  // namespace kusari::graphs
