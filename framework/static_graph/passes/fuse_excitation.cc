#include "kusari/framework/static_graph/passes/fuse_excitation.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/pooling.h"
#include "kusari/framework/kernels/squeeze_excitation.h"
#include "kusari/framework/static_graph/passes/constants.h"
#include "kusari/framework/static_graph/passes/convolution_step.h"
#include "kusari/framework/static_graph/passes/dependencies.h"
#include "kusari/framework/static_graph/passes/pointwise_step.h"

namespace kusari::graphs {

namespace {

using Kind = LaunchArgument::Kind;
using kernels::SqueezeExcitation;

const View& argument_of(const Step& step, size_t operand) { return step.operands[operand].views[0]; }

/// Rows of a matrix, whatever axes of one element the array has: (O, C, 1, 1) as (O, C).
std::optional<View> as_matrix(const View& v) {
  if (v.shape.ndim() < 2) return std::nullopt;
  View result = v;
  for (int axis = 2; axis < v.shape.ndim(); ++axis) {
    if (v.shape[axis] != 1) return std::nullopt;
  }
  result.shape = {v.shape[0], v.shape[1]};
  result.strides = {v.strides[0], v.strides[1]};
  return result;
}

/// Whether `read` is the rows of the matrix that is in `made`, whatever axes of one element either has.
bool is_same_matrix(const View& read, const View& made) {
  const auto a = as_matrix(read), b = as_matrix(made);
  return a && b && a->shape == b->shape && is_same_view(*a, *b);
}

/// One of the two layers.
struct ExcitationLayer {
  View W, bias, y;
  kernels::UnaryFunctor function;
};

class Excitations {
 public:
  explicit Excitations(Program& program)
      : program_{program}, dependencies_{program}, is_dropped_(program.steps.size()) {}

  int run() {
    int count = 0;
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (fuse(static_cast<int32_t>(i))) ++count;
    }
    erase_steps(program_, is_dropped_);
    return count;
  }

 private:
  const Step& step(int32_t index) const { return program_.steps[static_cast<size_t>(index)]; }
  /// The only step that reads all of v; -1 for none.
  int32_t reader_of(const View& v) const {
    const int32_t next = dependencies_.only_reader(v.slot);
    return next >= 0 && step(next).phase == Phase::forward && !step(next).is_code() && is_whole(program_, v) ? next
                                                                                                             : -1;
  }
  bool is_fixed(const View& v) const { return !v.is_defined() || is_constant(program_, dependencies_, v.slot); }

  /// The view of the images that are averaged over all positions.
  static std::optional<View> averaged(const Step& s) {
    if (s.is_code() || s.phase != Phase::forward) return std::nullopt;
    if (s.id.index != kernel_id<kernels::AveragePoolingForward>().index) return std::nullopt;
    const auto options = s.params<kernels::AveragePooling>(0);
    const View &x = argument_of(s, 1), &y = argument_of(s, 2);
    if (x.shape.ndim() != 4 || x.dtype != Dtype::float32 || options.divisor == kernels::PoolingDivisor::one)
      return std::nullopt;
    for (int i = 0; i < 2; ++i) {
      const bool is_all =
          options.pooling.pad[i] == 0 && options.pooling.ksize[i] == x.shape[2 + i] && y.shape[2 + i] == 1;
      if (!is_all) return std::nullopt;
    }
    return x;
  }

  /// The convolution or product that reads x, and the function of its result.
  std::optional<ExcitationLayer> layer_of(const View& x, std::vector<int32_t>& steps) const {
    const int32_t at = reader_of(x);
    if (at < 0) return std::nullopt;
    const Step& s = step(at);
    ExcitationLayer found;
    if (const auto convolution = ConvolutionStep::of(s)) {
      const int64_t* const pad = convolution->geometry.pad;
      if (convolution->geometry.groups != 1 || convolution->z.is_defined() || !is_same_matrix(convolution->x, x))
        return std::nullopt;
      if (std::any_of(pad, pad + kernels::kMaxSpatial, [](int64_t n) { return n != 0; })) return std::nullopt;
      found = {convolution->W, convolution->bias, convolution->y, convolution->function};
      if (convolution->activation == kernels::ConvolutionActivation::relu)
        found.function.kernel = kernel_id<kernels::Pointwise<kernels::Relu>>();
    } else if (s.id.index == kernel_id<kernels::Matmul>().index && is_same_matrix(argument_of(s, 0), x)) {
      const auto options = s.params<kernels::MatmulOptions>(3);
      found = {argument_of(s, 1), argument_of(s, 2), argument_of(s, 4), {}};
      if (options.transa || found.W.shape.ndim() != 2) return std::nullopt;
      if (!options.transb) {
        std::swap(found.W.shape[0], found.W.shape[1]);
        std::swap(found.W.strides[0], found.W.strides[1]);
      }
    } else {
      return std::nullopt;
    }
    const auto W = as_matrix(found.W);
    if (!W || !is_fixed(*W) || !is_fixed(found.bias) || found.y.dtype != Dtype::float32) return std::nullopt;
    if (W->dtype != Dtype::float32 || (found.bias.is_defined() && found.bias.dtype != Dtype::float32))
      return std::nullopt;
    found.W = *W;
    steps.push_back(at);
    take_function(found, steps);
    return found;
  }
  void take_function(ExcitationLayer& layer, std::vector<int32_t>& steps) const {
    const int32_t next = layer.function.kernel.index < 0 ? reader_of(layer.y) : -1;
    if (next < 0) return;
    const Step& s = step(next);
    const PointwiseFunctor* const functor = find_pointwise_functor(s.id);
    if (functor == nullptr || functor->arguments != 1 || functor->is_boolean || s.operands.size() != 3) return;
    const std::vector<std::byte>& bytes = s.operands[0].bytes;
    if (bytes.size() > kernels::UnaryFunctor::kBytes || argument_of(s, 2).dtype != Dtype::float32) return;
    if (!is_same_matrix(argument_of(s, 1), layer.y)) return;
    layer.function.kernel = s.id;
    std::ranges::copy(bytes, layer.function.functor);
    layer.y = argument_of(s, 2);
    steps.push_back(next);
  }

  bool fuse(int32_t first) {
    const auto x = averaged(step(first));
    if (!x || step(first).device.backend().find(kernel_id<SqueezeExcitation>()) == nullptr) return false;
    std::vector<int32_t> steps = {first};
    const auto inner = layer_of(argument_of(step(first), 2), steps);
    if (!inner) return false;
    const auto outer = layer_of(inner->y, steps);
    if (!outer) return false;
    const int64_t channels = x->shape[1];
    if (inner->W.shape[1] != channels || outer->W.shape[0] != channels || outer->W.shape[1] != inner->W.shape[0])
      return false;
    const int32_t last = reader_of(outer->y);
    if (last < 0 || !computes<kernels::Mul>(step(last))) return false;
    const View &a = argument_of(step(last), 1), &b = argument_of(step(last), 2), &y = argument_of(step(last), 3);
    const View& factor = a.slot == outer->y.slot ? a : b;
    if ((a.slot == outer->y.slot ? b : a) != *x || y.shape != x->shape || y.dtype != Dtype::float32) return false;
    // A factor for each image and channel, in their order.
    if (factor.shape.ndim() != 4 || factor.offset != 0 || factor.dtype != Dtype::float32) return false;
    if (factor.shape[0] != x->shape[0] || factor.shape[1] != channels) return false;
    for (int axis = 0; axis < 4; ++axis) {
      const int64_t stride = factor.shape[axis] == 1 ? 0 : factor.strides[axis];
      const int64_t expected = axis == 0 ? (x->shape[0] == 1 ? 0 : channels) : axis == 1 && channels > 1 ? 1 : 0;
      if (stride != expected) return false;
    }
    View rows = factor;
    rows.shape[2] = rows.shape[3] = 1;
    if (!is_same_matrix(rows, outer->y)) return false;
    if (y.slot == x->slot || dependencies_.is_written_between(x->slot, first, last)) return false;

    std::string names;
    steps.push_back(last);
    for (const int32_t at : steps) {
      names += (names.empty() ? "" : " + ") + (step(at).fused.empty() ? step(at).name : step(at).fused);
      is_dropped_[static_cast<size_t>(at)] = at != last;
    }
    const auto in = [](const View& v) { return operand_of(Kind::in, v); };
    Step fused = make_step<SqueezeExcitation>(
        step(last).device, Phase::forward,
        {params_of(kernels::ExcitationFunctions{inner->function, outer->function}), in(*x), in(inner->W),
         in(inner->bias), in(outer->W), in(outer->bias), operand_of(Kind::out, y)});
    fused.fused = names;
    program_.steps[static_cast<size_t>(last)] = std::move(fused);
    return true;
  }

  Program& program_;
  Dependencies dependencies_;  // of the program as it came
  std::vector<bool> is_dropped_;
};

}  // namespace

int fuse_excitation(Program& program, PassLog& log) {
  if (!is_inference(program)) return 0;
  const int count = Excitations(program).run();
  if (count > 0) {
    log.entries.push_back(
        {"fuse_excitation", "made " + std::to_string(count) + " squeeze-and-excitations one kernel each"});
  }
  return count;
}

}  // namespace kusari::graphs
