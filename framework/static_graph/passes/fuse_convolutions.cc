#include "kusari/framework/static_graph/passes/fuse_convolutions.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/static_graph/passes/constants.h"
#include "kusari/framework/static_graph/passes/convolution_step.h"
#include "kusari/framework/static_graph/passes/dependencies.h"

namespace kusari::graphs {

namespace {

using kernels::ConvolutionActivation;
using kernels::Pointwise;

bool is_add(const Step& step) { return !step.is_code() && step.id.index == kernel_id<Pointwise<kernels::Add>>().index; }
bool is_relu(const Step& step) {
  return !step.is_code() && step.id.index == kernel_id<Pointwise<kernels::Relu>>().index;
}

/// The numbers of the channels if `view` repeats them for every image and position of an array of that shape.
std::optional<View> channels_of(const View& view, const Shape& shape) {
  const int ndim = view.shape.ndim(), missing = shape.ndim() - ndim;
  if (missing < 0 || missing > 1) return std::nullopt;
  for (int axis = 0; axis < ndim; ++axis) {
    const bool is_channel = axis + missing == 1;
    if (is_channel ? view.shape[axis] != shape[1] : view.shape[axis] != 1 && view.strides[axis] != 0)
      return std::nullopt;
  }
  View channels = view;
  channels.shape = {shape[1]};
  channels.strides = {view.strides[1 - missing]};
  return channels;
}

class Fuse {
 public:
  explicit Fuse(Program& program)
      : program_{program},
        dependencies_{program},
        is_inference_{is_inference(program)},
        is_dropped_(program.steps.size()),
        is_fused_(program.steps.size()) {}

  int run() {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const auto convolution = ConvolutionStep::of(program_.steps[i]);
      if (convolution && !is_fused_[i]) fuse(*convolution, static_cast<int32_t>(i));
    }
    return erase_steps(program_, is_dropped_);
  }

 private:
  Step& step(int32_t index) { return program_.steps[static_cast<size_t>(index)]; }

  /// As much as follows the convolution at step `first`; it is computed where the last of it was.
  void fuse(ConvolutionStep convolution, int32_t first) {
    if (!step(first).device.is_cpu() && !is_inference_) return;
    std::vector<int32_t> parts = {first};
    for (;;) {
      const int32_t next = dependencies_.only_reader(convolution.y.slot);
      if (next < 0 || step(next).phase != step(first).phase || is_taken(next)) break;
      ConvolutionStep wider = convolution;
      if (!take(step(next), wider) || !may_wait(wider, parts, next)) break;
      convolution = wider;
      parts.push_back(next);
    }
    if (parts.size() == 1) return;
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

  static bool take(const Step& next, ConvolutionStep& convolution) {
    if (convolution.activation != ConvolutionActivation::none) return false;
    const auto is_result = [&](const View& view) { return view == convolution.y; };
    const auto continue_to = [&](const View& y) {
      if (y.dtype != convolution.y.dtype || y.shape != convolution.y.shape) return false;
      convolution.y = y;
      return true;
    };
    if (is_relu(next)) {
      if (!is_result(next.operands[1].views[0])) return false;
      convolution.activation = ConvolutionActivation::relu;
      return continue_to(next.operands[2].views[0]);
    }
    if (!is_add(next)) return false;
    const View &a = next.operands[1].views[0], &b = next.operands[2].views[0];
    if (!is_result(a) && !is_result(b)) return false;
    const View& other = is_result(a) ? b : a;
    if (other.slot == convolution.y.slot || other.dtype != convolution.y.dtype) return false;
    if (const auto channels = channels_of(other, convolution.y.shape);
        channels && convolution.is_plain() && !convolution.bias.is_defined()) {
      convolution.bias = *channels;
      convolution.geometry.bias_comes_after = next.device.is_cpu();  // where the bits stay the same
    } else if (other.shape == convolution.y.shape && !convolution.z.is_defined()) {
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
  Dependencies dependencies_;  // of the program as it came
  bool is_inference_;
  std::vector<bool> is_dropped_;
  std::vector<bool> is_fused_;  // the result of this pass
};

}  // namespace

int fuse_convolutions(Program& program, PassLog& log) {
  const int fused = Fuse(program).run();
  if (fused > 0) {
    log.entries.push_back({"fuse_convolutions", "put " + std::to_string(fused) + " into convolutions"});
  }
  return fused;
}

}  // namespace kusari::graphs
