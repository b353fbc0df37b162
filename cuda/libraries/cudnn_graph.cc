#include "kusari/cuda/libraries/cudnn_graph.h"

#include <algorithm>
#include <array>
#include <span>

#include "kusari/framework/core/error.h"

namespace kusari::cuda {
namespace {

cudnnDataType_t data_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16:
      return CUDNN_DATA_HALF;
    case Dtype::bfloat16:
      return CUDNN_DATA_BFLOAT16;
    case Dtype::float32:
      return CUDNN_DATA_FLOAT;
    case Dtype::float64:
      return CUDNN_DATA_DOUBLE;
    default:
      throw DeviceError(std::string("cuDNN: no convolution of dtype ") + name(dtype));
  }
}

// Builds the operations of one graph.
class GraphBuilder {
 public:
  explicit GraphBuilder(const ConvolutionKey& key)
      : key_{key},
        axes_{static_cast<size_t>(key.ndim) + 2},
        element_{data_type(key.element())},
        compute_{key.element() == Dtype::float64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT} {}

  CudnnDescriptor build(cudnnHandle_t handle) {
    int64_t w_strides[ConvolutionKey::kMaxAxes] = {};
    set_channels_last_strides(key_.w, static_cast<int>(axes_), w_strides);
    CudnnDescriptor x = tensor(kTensorX, key_.x, key_.x_strides);
    const CudnnDescriptor w = tensor(kTensorW, key_.w, w_strides);
    if (key_.has_load != 0) x = loaded(x);
    switch (key_.pass) {
      case ConvolutionPass::forward:
        forward(x, w);
        break;
      case ConvolutionPass::data_grad:
        convolution(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
                    x, w, tensor(kTensorY, key_.y, key_.y_strides));
        break;
      case ConvolutionPass::filter_grad:
        convolution(
            CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
            x, w, tensor(kTensorY, key_.y, key_.y_strides));
        break;
    }
    CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
    if (handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
    graph.finalize();
    return graph;
  }

 private:
  struct ConvolutionAttributes {
    cudnnBackendAttributeName_t geometry, x, w, y, alpha, beta;
  };

  std::span<const int64_t> sizes(const int64_t* values) const { return {values, axes_}; }
  std::span<const int64_t> spatial(const int64_t* values) const { return {values, axes_ - 2}; }

  CudnnDescriptor tensor(int64_t id, const int64_t* shape, const int64_t* strides, bool is_virtual = false) const {
    return tensor(id, shape, strides, is_virtual ? compute_ : element_, is_virtual);
  }
  CudnnDescriptor tensor(int64_t id, const int64_t* shape, const int64_t* strides, cudnnDataType_t type,
                         bool is_virtual) const {
    CudnnDescriptor t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes(shape));
    t.set(CUDNN_ATTR_TENSOR_STRIDES, sizes(strides));
    t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
    t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, key_.alignment);
    if (is_virtual) t.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    t.finalize();
    return t;
  }

  void convolution(cudnnBackendDescriptorType_t type, const ConvolutionAttributes& names, const CudnnDescriptor& x,
                   const CudnnDescriptor& w, const CudnnDescriptor& y) {
    CudnnDescriptor geometry(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    geometry.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, key_.ndim);
    geometry.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, compute_);
    geometry.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
    geometry.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, spatial(key_.pad));
    geometry.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, spatial(key_.pad));
    geometry.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, spatial(key_.dilate));
    geometry.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, spatial(key_.stride));
    geometry.finalize();
    CudnnDescriptor operation(type);
    operation.set(names.geometry, geometry);
    operation.set(names.x, x);
    operation.set(names.w, w);
    operation.set(names.y, y);
    if (compute_ == CUDNN_DATA_DOUBLE) {
      operation.set(names.alpha, 1.0);
      operation.set(names.beta, key_.is_added != 0 ? 1.0 : 0.0);
    } else {
      operation.set(names.alpha, 1.0f);
      operation.set(names.beta, key_.is_added != 0 ? 1.0f : 0.0f);
    }
    operation.finalize();
    operations_.push_back(std::move(operation));
  }

  // What a step of the epilogue gives: y if it is the last one.
  CudnnDescriptor step_result() {
    --steps_left_;
    return steps_left_ == 0 ? tensor(kTensorY, key_.y, key_.y_strides)
                            : tensor(kTensorFirstVirtual + steps_left_, key_.y, key_.y_strides, true);
  }

  CudnnDescriptor pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* second) {
    CudnnDescriptor y = step_result();
    pointwise_to(mode, x, second, y);
    return y;
  }

  void pointwise_to(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* second,
                    const CudnnDescriptor& y) {
    CudnnDescriptor function(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    function.set(CUDNN_ATTR_POINTWISE_MODE, mode);
    function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, compute_);
    function.finalize();
    CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (second != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *second);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    operation.finalize();
    operations_.push_back(std::move(operation));
  }

  // What the convolution reads in place of x.
  CudnnDescriptor loaded(const CudnnDescriptor& x) {
    const CudnnDescriptor scale = per_channel(kTensorScale, key_.x[1], element_),
                          shift = per_channel(kTensorShift, key_.x[1], element_);
    const auto next = [&](int64_t number) {
      return tensor(kTensorFirstVirtual + kMostSteps + number, key_.x, key_.x_strides, true);
    };
    const CudnnDescriptor scaled = next(0), shifted = next(1);
    CudnnDescriptor cut = next(2);
    pointwise_to(CUDNN_POINTWISE_MUL, x, &scale, scaled);
    pointwise_to(CUDNN_POINTWISE_ADD, scaled, &shift, shifted);
    pointwise_to(CUDNN_POINTWISE_RELU_FWD, shifted, nullptr, cut);
    return cut;
  }

  void forward(const CudnnDescriptor& x, const CudnnDescriptor& w) {
    const bool has_activation = key_.activation != Activation::none;
    steps_left_ = 1 + (key_.has_z != 0) + (key_.has_bias != 0) + has_activation;
    CudnnDescriptor y = step_result();
    convolution(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
                x, w, y);
    if (key_.has_z != 0) {
      const CudnnDescriptor z = tensor(kTensorZ, key_.y, key_.y_strides);
      y = pointwise(CUDNN_POINTWISE_ADD, y, &z);
    }
    if (key_.has_bias != 0) {
      const CudnnDescriptor bias = per_channel(kTensorBias, key_.y[1], element_);
      y = pointwise(CUDNN_POINTWISE_ADD, y, &bias);
    }
    if (has_activation) pointwise(CUDNN_POINTWISE_RELU_FWD, y, nullptr);
    if (key_.has_sums != 0) sums_of(y);
  }

  // A number for each channel, as a tensor that broadcasts to images.
  CudnnDescriptor per_channel(int64_t id, int64_t channels, cudnnDataType_t type) const {
    int64_t shape[ConvolutionKey::kMaxAxes] = {1, channels, 1, 1, 1}, strides[ConvolutionKey::kMaxAxes] = {};
    set_channels_last_strides(shape, static_cast<int>(axes_), strides);
    return tensor(id, shape, strides, type, false);
  }

  void sums_of(const CudnnDescriptor& y) {
    CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_GENSTATS_SUM_SQSUM);
    operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_DATA_FLOAT);
    operation.set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, y);
    operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, per_channel(kTensorSums, key_.y[1], CUDNN_DATA_FLOAT));
    operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, per_channel(kTensorSquares, key_.y[1], CUDNN_DATA_FLOAT));
    operation.finalize();
    operations_.push_back(std::move(operation));
  }

  static constexpr int64_t kMostSteps = 8;  // of an epilogue

  const ConvolutionKey& key_;
  const size_t axes_;
  const cudnnDataType_t element_, compute_;
  int64_t steps_left_ = 0;
  std::vector<CudnnDescriptor> operations_;
};

}  // namespace

void set_channels_last_strides(const int64_t* shape, int axes, int64_t* strides) {
  strides[1] = 1;
  int64_t step = shape[1];
  for (int i = axes - 1; i > 1; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  strides[0] = step;
}

size_t hash_of(const ConvolutionKey& key) noexcept {
  constexpr size_t kWords = sizeof(ConvolutionKey) / 8;
  // An odd factor for each word, so that no multiplication waits for another.
  static constexpr std::array<uint64_t, kWords> kFactors = [] {
    std::array<uint64_t, kWords> factors{};
    uint64_t state = 0;
    for (uint64_t& factor : factors) {  // splitmix64
      uint64_t z = state += 0x9E3779B97F4A7C15u;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
      factor = (z ^ (z >> 31)) | 1;
    }
    return factors;
  }();
  uint64_t words[kWords];
  std::memcpy(words, &key, sizeof(key));
  uint64_t hash = 0;
  for (size_t i = 0; i < kWords; ++i) hash += words[i] * kFactors[i];
  return hash ^ (hash >> 32);
}

ConvolutionKey convolution_key(ConvolutionPass pass, const kernels::Convolution& geometry, const Shape& x,
                               const Shape& w, const Shape& y, Dtype dtype) {
  ConvolutionKey key;
  key.pass = pass;
  key.dtype = static_cast<int64_t>(dtype);
  const int added = geometry.ndim == 1 ? 1 : 0;
  key.ndim = geometry.ndim + added;
  const auto copy = [&](const Shape& from, int64_t* to) {
    to[0] = from[0];
    to[1] = from[1];
    to[2] = 1;
    for (int i = 0; i < geometry.ndim; ++i) to[2 + added + i] = from[2 + i];
  };
  copy(x, key.x);
  copy(w, key.w);
  copy(y, key.y);
  set_channels_last_strides(key.x, static_cast<int>(key.ndim) + 2, key.x_strides);
  set_channels_last_strides(key.y, static_cast<int>(key.ndim) + 2, key.y_strides);
  key.stride[0] = key.dilate[0] = 1;
  for (int i = 0; i < geometry.ndim; ++i) {
    const int to = i + added;
    key.stride[to] = geometry.stride[i];
    key.dilate[to] = geometry.dilate[i];
    key.pad[to] = geometry.pad[i];
  }
  return key;
}

std::string text_of(const ConvolutionKey& key) {
  constexpr const char* kPasses[] = {"forward", "data_grad", "filter_grad"};
  std::string text = std::string(kPasses[static_cast<int>(key.pass)]) + ' ' + name(key.element());
  const auto add = [&](const char* field, const int64_t* values, int64_t count) {
    text += field;
    for (int64_t i = 0; i < count; ++i) text += (i == 0 ? "" : "x") + std::to_string(values[i]);
  };
  add(" x ", key.x, key.ndim + 2);
  add(" w ", key.w, key.ndim + 2);
  add(" y ", key.y, key.ndim + 2);
  add(" stride ", key.stride, key.ndim);
  add(" pad ", key.pad, key.ndim);
  add(" dilate ", key.dilate, key.ndim);
  ConvolutionKey dense = key;
  set_channels_last_strides(dense.x, static_cast<int>(key.ndim) + 2, dense.x_strides);
  set_channels_last_strides(dense.y, static_cast<int>(key.ndim) + 2, dense.y_strides);
  if (!(dense == key)) {
    add(" x_strides ", key.x_strides, key.ndim + 2);
    add(" y_strides ", key.y_strides, key.ndim + 2);
  }
  if (key.has_z != 0) text += " z";
  if (key.has_bias != 0) text += " bias";
  if (key.activation == Activation::relu) text += " relu";
  if (key.is_added != 0) text += " added";
  if (key.has_load != 0) text += " load";
  if (key.has_sums != 0) text += " sums";
  if (key.alignment != 16) add(" alignment ", &key.alignment, 1);
  if (key.is_deterministic != 0) text += " deterministic";
  if (key.allows_tensor_cores == 0) text += " no_tensor_cores";
  if (key.allows_tf32 == 0 && key.element() == Dtype::float32) text += " no_tf32";
  add(" workspace ", &key.workspace_limit, 1);
  return text;
}

CudnnDescriptor convolution_graph(const ConvolutionKey& key, cudnnHandle_t handle) {
  return GraphBuilder(key).build(handle);
}

}  // namespace kusari::cuda
