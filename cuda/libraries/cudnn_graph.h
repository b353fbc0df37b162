#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kusari/cuda/libraries/cudnn_descriptor.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/kernels/convolution.h"

namespace kusari::cuda {

/// Which of the three arrays is computed from the other two.
enum class ConvolutionPass : int64_t { forward, data_grad, filter_grad };
using Activation = kernels::ConvolutionActivation;

/// Everything that a plan is chosen and made by: x (N, C, in...), w (O, C / groups, kernel...), y (N, O, out...). Made
/// of eight-byte members so that it compares and hashes as bytes; entries past `ndim` are zero. One spatial axis is
/// described as two, of which the first has size 1.
struct ConvolutionKey {
  static constexpr int kMaxAxes = 5, kMaxSpatialAxes = 3;

  ConvolutionPass pass = ConvolutionPass::forward;
  int64_t dtype = 0;  ///< a Dtype: of all arrays
  int64_t ndim = 0;   ///< spatial axes: 2 or 3
  int64_t x[kMaxAxes] = {}, x_strides[kMaxAxes] = {};
  int64_t w[kMaxAxes] = {};  ///< channels innermost, dense
  int64_t y[kMaxAxes] = {}, y_strides[kMaxAxes] = {};
  int64_t stride[kMaxSpatialAxes] = {}, dilate[kMaxSpatialAxes] = {};
  int64_t pad[kMaxSpatialAxes] = {};  ///< on both sides
  int64_t has_z = 0;                  ///< forward: adds z, of y's shape and strides, before the bias
  int64_t has_bias = 0;               ///< forward: adds (O)
  Activation activation = Activation::none;
  int64_t is_added = 0;    ///< data_grad: to what x holds
  int64_t has_load = 0;    ///< forward, filter_grad: instead of x max(0, x scale + shift), by channel
  int64_t has_sums = 0;    ///< forward: also gives the sums of y's channels and of their squares, float32; alone
  int64_t alignment = 16;  ///< bytes, of every pointer
  int64_t is_deterministic = 0, allows_tensor_cores = 1, allows_tf32 = 1;
  int64_t allows_runtime_compilation = 0;
  int64_t workspace_limit = 0;  ///< bytes
  int64_t device = 0;

  Dtype element() const { return static_cast<Dtype>(dtype); }
  int64_t groups() const { return w[1] > 0 ? x[1] / w[1] : 1; }
  friend bool operator==(const ConvolutionKey& a, const ConvolutionKey& b) noexcept {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
  }
};

size_t hash_of(const ConvolutionKey& key) noexcept;

/// Strides of a dense array (N, C, spatial...) of `axes` axes with the channels innermost.
void set_channels_last_strides(const int64_t* shape, int axes, int64_t* strides);

/// The geometry, shapes and dtype of a convolution whose arrays are dense and channels-last; throws nothing and checks
/// nothing. The other members keep their defaults.
ConvolutionKey convolution_key(ConvolutionPass pass, const kernels::Convolution& geometry, const Shape& x,
                               const Shape& w, const Shape& y, Dtype dtype);

/// What the key says for messages and for tuning::find: the same text in every process; without the device.
std::string text_of(const ConvolutionKey& key);

/// The numbers under which an execution names its arrays.
enum ConvolutionTensor : int64_t {
  kTensorX = 1,
  kTensorW,
  kTensorY,
  kTensorZ,
  kTensorBias,
  kTensorSums,
  kTensorSquares,
  kTensorScale,
  kTensorShift,
  kTensorFirstVirtual
};

/// A finalized graph of operations. Throws DeviceError where cuDNN refuses the shapes or has no name for the dtype.
/// `handle`: of the device that shall run it, or null for a device that is not here.
CudnnDescriptor convolution_graph(const ConvolutionKey& key, cudnnHandle_t handle);

}  // namespace kusari::cuda
