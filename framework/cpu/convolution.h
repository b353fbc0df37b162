#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa/packed_convolution.h"
#include "kusari/framework/kernels/convolution.h"

// What the sources of the convolution share.
namespace kusari::cpu {

/// Which of the three arrays is computed from the other two.
enum class ConvolutionPass : int64_t { forward, data_grad, filter_grad };

/// Everything that an algorithm is chosen and prepared by. x is (N, in..., C), w (O, kernel..., C / groups) and
/// y (N, out..., O) in memory: channels innermost, dense. Made of eight-byte members so that it compares and hashes as
/// bytes; entries past `ndim` are zero.
struct ConvolutionProblem {
  ConvolutionPass pass = ConvolutionPass::forward;
  int64_t dtype = 0;    // a Dtype, of x and y: float32, float64 or bfloat16
  int64_t w_dtype = 0;  // the same, or float32 beside bfloat16
  int64_t ndim = 0;
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  int64_t has_bias = 0;      // added to y in the forward pass, to x in the data gradient
  int64_t bias_is_own = 0;   // it is added to the rounded sums; the forward pass alone has this and the next two
  int64_t has_z = 0;         // another array like y is added to it
  int64_t relu = 0;          // y is cut at 0 in the end
  int64_t has_function = 0;  // instead, a pointwise functor of one argument: its kernel, its members
  int64_t function = 0, functor[2] = {};
  int64_t in[kernels::kMaxSpatial] = {}, out[kernels::kMaxSpatial] = {}, kernel[kernels::kMaxSpatial] = {};
  int64_t stride[kernels::kMaxSpatial] = {}, pad[kernels::kMaxSpatial] = {}, dilate[kernels::kMaxSpatial] = {};

  Dtype element() const { return static_cast<Dtype>(dtype); }
  Dtype w_element() const { return static_cast<Dtype>(w_dtype); }
  int64_t in_size() const { return product(in); }          ///< positions of one image of x
  int64_t out_size() const { return product(out); }        ///< positions of one image of y
  int64_t kernel_size() const { return product(kernel); }  ///< positions of the kernel
  /// Whether sums may begin with the bias.
  bool has_inner_bias() const { return has_bias != 0 && bias_is_own == 0; }
  /// Whether y needs more than the sums and an inner bias.
  bool has_epilogue() const { return bias_is_own != 0 || has_z != 0 || relu != 0 || has_function != 0; }
  /// The problem without its epilogue: what a convolution is that other kernels follow.
  ConvolutionProblem sums() const {
    ConvolutionProblem p = *this;
    p.has_bias = has_inner_bias() ? 1 : 0;
    p.bias_is_own = p.has_z = p.relu = p.has_function = p.function = p.functor[0] = p.functor[1] = 0;
    return p;
  }
  /// Multiplications and additions, two each.
  double flops() const {
    return 2.0 * static_cast<double>(batch * out_size() * kernel_size()) *
           static_cast<double>(out_channels * (in_channels / groups));
  }
  /// Elements that lie behind the last one of the axis as the kernel moves; negative where it does not reach the end.
  int64_t pad_after(int axis) const {
    return (out[axis] - 1) * stride[axis] + (kernel[axis] - 1) * dilate[axis] + 1 - in[axis] - pad[axis];
  }
  friend bool operator==(const ConvolutionProblem& a, const ConvolutionProblem& b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
  }

 private:
  int64_t product(const int64_t* sizes) const {
    int64_t n = 1;
    for (int64_t i = 0; i < ndim; ++i) n *= sizes[i];
    return n;
  }
};

size_t hash_of(const ConvolutionProblem& p) noexcept;

/// w with its channels innermost. Where the array has another order or dtype, the copy is made when an algorithm asks
/// for the first time: most have packed fixed weights by then, and never ask.
class ConvolutionWeights {
 public:
  /// `dtype`: of the copy. `is_result`: the filter gradient, whose elements need not be copied.
  ConvolutionWeights(Array given, Dtype dtype, bool is_result);
  /// Not by several threads at once.
  void* data() const { return array().raw_data(); }
  const Array& array() const;

 private:
  Array given_;
  Dtype dtype_;
  bool is_result_;
  mutable Array ordered_;
};

/// The arrays' addresses; the result is y, x or w by the pass.
struct ConvolutionArrays {
  void* x;
  const ConvolutionWeights& w;
  void* y;
  const void* bias;           // (O) or (C) by the pass, or null; float32 beside bfloat16
  const Array* kept_weights;  // the array of w if it will come again unchanged, else null
  const void* z = nullptr;    // as y
};

/// The epilogue of n positions (n out_channels neighbouring elements) that begin `skip` elements behind a.y, on the
/// calling thread: y += bias if it is its own, y += z, y cut at 0 or its function; each where the problem has it.
void finish_convolution(const ConvolutionProblem& p, const ConvolutionArrays& a, int64_t skip, int64_t n);

/// Where the problem has a functor: that of n neighbouring elements of y, in place, on the calling thread.
void apply_function(const ConvolutionProblem& p, void* y, int64_t n);
/// How loops may cut float32 results in registers, with the bits of the problem's ReLU or functor; ResultCut::none
/// where there is nothing to cut or apply_function() must do it.
ResultRange range_of(const ConvolutionProblem& p);

// Each algorithm computes all of the problem, with its epilogue, except convolve_im2col.

/// Rows of copied input times the matrix of weights, any geometry; depthwise convolutions by direct loops. The
/// workspace is some hundred KiB for each thread. float32 and float64; bfloat16 for filter gradients without groups.
bool im2col_supports(const ConvolutionProblem& p);
void convolve_im2col(const ConvolutionProblem& p, const ConvolutionArrays& a);

/// Winograd's F(4x4, 3x3): 3x3 kernels of stride 1, float32, both channel counts multiples of 32.
bool winograd_supports(const ConvolutionProblem& p);
size_t winograd_workspace(const ConvolutionProblem& p);  ///< bytes
void convolve_winograd(const ConvolutionProblem& p, const ConvolutionArrays& a);

/// Products with packed weights, read where they lie in x: float32 or, where the processor has_bfloat16_dot(), bfloat16
/// of one or two axes, forward alone.
bool packed_supports(const ConvolutionProblem& p);
void convolve_packed(const ConvolutionProblem& p, const ConvolutionArrays& a);

/// Loops over lines of y: the same dtypes, one or two axes, one result for each channel, forward alone.
bool depthwise_supports(const ConvolutionProblem& p);
void convolve_depthwise_lines(const ConvolutionProblem& p, const ConvolutionArrays& a);

/// How oneDNN gets x and y: as they are, or reordered to blocks of channels and back.
enum class OneDnnOrder : int64_t { channels_last, blocked };

/// oneDNN's direct convolution, divided among our threads. False where this build has no oneDNN or oneDNN no such
/// convolution; prepares it otherwise.
bool onednn_supports(const ConvolutionProblem& p, OneDnnOrder order);
size_t onednn_workspace(const ConvolutionProblem& p, OneDnnOrder order);  ///< bytes
void convolve_onednn(const ConvolutionProblem& p, OneDnnOrder order, const ConvolutionArrays& a);

/// Whether there is an algorithm for the problem: always where all is float32 or float64.
bool can_convolve(const ConvolutionProblem& p);
/// Computes with the algorithm that suits the problem, see Config::autotune.
void convolve(const ConvolutionProblem& p, const ConvolutionArrays& a, bool autotune);

}  // namespace kusari::cpu
