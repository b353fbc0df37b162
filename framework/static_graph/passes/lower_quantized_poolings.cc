#include "kusari/framework/static_graph/passes/lower_quantized_poolings.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/pooling.h"
#include "kusari/framework/static_graph/passes/constants.h"
#include "kusari/framework/static_graph/passes/dependencies.h"
#include "kusari/framework/static_graph/passes/pointwise_step.h"

namespace kusari::graphs {

namespace {

using Kind = LaunchArgument::Kind;

class Poolings {
 public:
  explicit Poolings(Program& program) : program_{program}, dependencies_{program}, is_dropped_(program.steps.size()) {}

  int run() {
    int lowered = 0;
    for (size_t i = 0; i < program_.steps.size(); ++i) lowered += lower(static_cast<int32_t>(i)) ? 1 : 0;
    erase_steps(program_, is_dropped_);
    return lowered;
  }

 private:
  const Step& step(int32_t index) const { return program_.steps[static_cast<size_t>(index)]; }
  const View& view(int32_t at, size_t operand) const { return step(at).operands[operand].views[0]; }
  /// The one step that writes all that v is, before `at`; -1 where there is none, or several.
  int32_t writer(const View& v, int32_t at) const {
    if (!is_whole(program_, v) || dependencies_.count_writes(v.slot) != 1) return -1;
    const int32_t found = dependencies_.last_write_before(v.slot, at);
    return found >= 0 && step(found).phase == Phase::forward ? found : -1;
  }
  /// Whether `quantize` gives back the integers that `dequantize` read, as nothing has changed a number of theirs.
  bool is_inverse(int32_t quantize, int32_t dequantize) const {
    const auto range = step(quantize).params<kernels::Quantize>(0);
    const bool is_signed = view(quantize, 4).dtype == Dtype::int8;
    if (range.low != (is_signed ? -128 : 0) || range.high != (is_signed ? 127 : 255)) return false;
    // A scale that is known before is positive; one that comes with the call may turn the order of the numbers around.
    if (!is_constant(program_, dependencies_, view(quantize, 2).slot)) return false;
    for (const size_t number : {2, 3}) {
      if (numel(view(quantize, number).shape) != 1 || view(quantize, number) != view(dequantize, number)) return false;
      if (dependencies_.is_written_between(view(quantize, number).slot, dequantize, quantize)) return false;
    }
    return view(dequantize, 1).dtype == view(quantize, 4).dtype &&
           !dependencies_.is_written_between(view(dequantize, 1).slot, dequantize, quantize);
  }

  bool lower(int32_t at) {
    if (!computes<kernels::Quantize>(step(at)) || step(at).phase != Phase::forward || !step(at).device.is_cpu()) {
      return false;
    }
    const View result = view(at, 4), pooled = view(at, 1);
    if (result.dtype != Dtype::uint8 && result.dtype != Dtype::int8) return false;
    if (result.shape != pooled.shape || result.strides != pooled.strides) return false;
    const int32_t pooling = dependencies_.only_reader(pooled.slot) == at ? writer(pooled, at) : -1;
    if (pooling < 0 || step(pooling).is_code()) return false;
    if (step(pooling).id.index != kernel_id<kernels::MaxPoolingForward>().index) return false;
    if (view(pooling, 2) != pooled) return false;  // such as reshaped in between
    const View x = view(pooling, 1);
    const int32_t dequantize = view(pooling, 3).is_defined() ? -1 : writer(x, pooling);
    if (dequantize < 0 || !computes<kernels::Dequantize>(step(dequantize)) || !is_inverse(at, dequantize)) return false;
    const View integers = view(dequantize, 1);
    if (view(dequantize, 4) != x || integers.shape != x.shape || integers.strides != x.strides) return false;

    Step lowered = make_step<kernels::MaxPoolingForward>(step(at).device, Phase::forward,
                                                         {step(pooling).operands[0], operand_of(Kind::in, integers),
                                                          operand_of(Kind::out, result), step(pooling).operands[3]});
    program_.steps[static_cast<size_t>(at)] = std::move(lowered);
    is_dropped_[static_cast<size_t>(pooling)] = true;
    if (dependencies_.only_reader(x.slot) == pooling) is_dropped_[static_cast<size_t>(dequantize)] = true;
    return true;
  }

  Program& program_;
  Dependencies dependencies_;  // of the program as it came
  std::vector<bool> is_dropped_;
};

}  // namespace

int lower_quantized_poolings(Program& program, PassLog& log) {
  if (!is_inference(program)) return 0;
  const int lowered = Poolings(program).run();
  if (lowered > 0) {
    log.entries.push_back({"lower_quantized", "made " + std::to_string(lowered) + " poolings of integers"});
  }
  return lowered;
}

}  // namespace kusari::graphs
