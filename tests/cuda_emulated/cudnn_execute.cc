#include <algorithm>
#include <string>

#include "cudnn_error.h"
#include "cudnn_graph.h"
#include "device_memory.h"
#include "element.h"

namespace kusari::cuda::emulated {

CudnnTensor::CudnnTensor(const CudnnContent& content)
    : id{content.value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0)},
      type{content.value(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT)},
      shape{content.values<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS)},
      strides{content.values<int64_t>(CUDNN_ATTR_TENSOR_STRIDES)},
      alignment{content.value<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1)},
      is_virtual{content.value<char>(CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0) != 0} {}

int64_t CudnnTensor::size() const {
  int64_t n = 1;
  for (const int64_t s : shape) n *= s;
  return n;
}

int64_t CudnnTensor::span() const {
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * strides[i];
  return last + 1;
}

const CudnnConvolutionNames* convolution_names(cudnnBackendDescriptorType_t type) {
  static constexpr CudnnConvolutionNames kForward = {
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  static constexpr CudnnConvolutionNames kData = {
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  static constexpr CudnnConvolutionNames kFilter = {
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return &kForward;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return &kData;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return &kFilter;
    default:
      return nullptr;
  }
}

const CudnnContent& convolution_of(const CudnnContent& graph) {
  const auto& operations = graph.find(CUDNN_ATTR_OPERATIONGRAPH_OPS)->contents;
  const auto found = std::find_if(operations.begin(), operations.end(),
                                  [](const auto& operation) { return convolution_names(operation->type) != nullptr; });
  return found == operations.end() ? *operations.back() : **found;
}

const char* find_obstacle(const CudnnContent& graph) {
  const auto& operations = graph.find(CUDNN_ATTR_OPERATIONGRAPH_OPS)->contents;
  const CudnnContent& convolution = convolution_of(graph);
  const CudnnConvolutionNames* const names = convolution_names(convolution.type);
  if (names == nullptr) return "the emulated device has engines for graphs with a convolution";
  const CudnnTensor x(convolution.at(names->x)), w(convolution.at(names->w)), y(convolution.at(names->y));
  const bool is_gradient = convolution.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
  const CudnnTensor& other = is_gradient ? y : w;
  for (const auto& operation : operations) {
    if (operation.get() == &convolution) continue;
    if (operation->type == CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR) {
      if (other.type != CUDNN_DATA_HALF) return "engines take sums of channels of half alone";
      continue;
    }
    if (operation->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) return "no engine for this graph";
  }
  if (operations.size() > 1 && other.type == CUDNN_DATA_DOUBLE) return "no engine fuses in double";
  if (x.is_virtual && other.type != CUDNN_DATA_HALF) return "engines change what they load of half alone";
  if (w.type != other.type || (!x.is_virtual && x.type != w.type) || (!y.is_virtual && y.type != w.type)) {
    return "no engine for tensors of different types";
  }
  const CudnnContent& geometry = convolution.at(names->geometry);
  if (geometry.value(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION) != CUDNN_CROSS_CORRELATION) {
    return "no engine for a true convolution";
  }
  const bool is_double = geometry.value(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT) == CUDNN_DATA_DOUBLE;
  if (is_double != (w.type == CUDNN_DATA_DOUBLE)) return "no engine for this type of computation";
  return nullptr;
}

namespace {

Element element_of(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_HALF:
      return Element::half;
    case CUDNN_DATA_BFLOAT16:
      return Element::bfloat16;
    case CUDNN_DATA_DOUBLE:
      return Element::real;
    default:
      return Element::single;
  }
}

/// Where the tensors of an execution lie.
class Tensors {
 public:
  explicit Tensors(const CudnnContent& pack) {
    const auto ids = pack.values<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const auto pointers = pack.values<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (size_t i = 0; i < std::min(ids.size(), pointers.size()); ++i) given_[ids[i]] = pointers[i];
  }

  /// Null if the variant pack lacks the tensor, or its place is no device memory or not as aligned as it was said to
  /// be.
  void* find(const CudnnTensor& tensor) {
    if (tensor.is_virtual) {
      std::vector<char>& memory = virtual_[tensor.id];
      memory.resize(static_cast<size_t>(tensor.span() * element_bytes(element_of(tensor.type))));
      return memory.data();
    }
    const auto it = given_.find(tensor.id);
    if (it == given_.end() || device_of(it->second) < 0) return nullptr;
    return reinterpret_cast<uintptr_t>(it->second) % static_cast<uintptr_t>(tensor.alignment) == 0 ? it->second
                                                                                                   : nullptr;
  }

 private:
  std::map<int64_t, void*> given_;
  std::map<int64_t, std::vector<char>> virtual_;
};

/// Calls f(index in C order, offset by the strides) for every element; the axes are visited in the given order.
template <class F>
void visit(const CudnnTensor& t, const std::vector<int64_t>& strides, F&& f) {
  std::vector<int64_t> at(t.shape.size(), 0);
  int64_t offset = 0;
  const int64_t size = t.size();
  for (int64_t i = 0; i < size; ++i) {
    f(i, offset);
    for (size_t axis = at.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++at[axis] < t.shape[axis]) break;
      offset -= at[axis] * strides[axis];
      at[axis] = 0;
    }
  }
}

/// Elements with another order of axes: (0, spatial.., 1).
std::vector<int64_t> channels_last_strides(const CudnnTensor& t) {
  std::vector<int64_t> strides(t.shape.size());
  strides[1] = 1;
  int64_t step = t.shape[1];
  for (size_t i = t.shape.size(); i-- > 2;) {
    strides[i] = step;
    step *= t.shape[i];
  }
  strides[0] = step;
  return strides;
}

/// A tensor's elements, channels innermost, in a wide type.
template <class T>
std::vector<T> read(const CudnnTensor& t, const void* data) {
  std::vector<T> values(static_cast<size_t>(t.size()));
  const std::vector<int64_t> to = channels_last_strides(t);
  std::vector<int64_t> places(values.size());
  visit(t, to, [&](int64_t i, int64_t offset) { places[static_cast<size_t>(i)] = offset; });
  visit(t, t.strides, [&](int64_t i, int64_t offset) {
    values[static_cast<size_t>(places[static_cast<size_t>(i)])] = load_element<T>(data, offset, element_of(t.type));
  });
  return values;
}

/// data = alpha * values + beta * data; values as read() gives them.
void write(const CudnnTensor& t, const std::vector<double>& values, double alpha, double beta, void* data) {
  const Element element = element_of(t.type);
  std::vector<int64_t> places(values.size());
  visit(t, channels_last_strides(t), [&](int64_t i, int64_t offset) { places[static_cast<size_t>(i)] = offset; });
  visit(t, t.strides, [&](int64_t i, int64_t offset) {
    double value = alpha * values[static_cast<size_t>(places[static_cast<size_t>(i)])];
    if (beta != 0) value += beta * load_element<double>(data, offset, element);
    store_element(data, offset, element, value);
  });
}

/// One convolution's sizes, with three spatial axes.
struct Geometry {
  int64_t batch, groups, in, out;  ///< in, out: channels of a group
  int64_t x[3] = {1, 1, 1}, w[3] = {1, 1, 1}, y[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, padding[3] = {0, 0, 0};

  Geometry(const CudnnContent& g, const CudnnTensor& tx, const CudnnTensor& tw, const CudnnTensor& ty)
      : batch{tx.shape[0]},
        groups{tx.shape[1] / tw.shape[1]},
        in{tw.shape[1]},
        out{tw.shape[0] / (tx.shape[1] / tw.shape[1])} {
    const auto strides = g.values<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    const auto dilations = g.values<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
    const auto paddings = g.values<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    const size_t first = 3 - strides.size();
    for (size_t i = 0; i < strides.size(); ++i) {
      x[first + i] = tx.shape[i + 2];
      w[first + i] = tw.shape[i + 2];
      y[first + i] = ty.shape[i + 2];
      stride[first + i] = strides[i];
      dilation[first + i] = dilations[i];
      padding[first + i] = paddings[i];
    }
  }

  /// Calls f(position in x, position in w, position in y) for all that meet, positions counted in pixels.
  template <class F>
  void visit(F&& f) const {
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t i = 0; i < y[0] * y[1] * y[2]; ++i) {
        const int64_t at[3] = {i / (y[1] * y[2]), i / y[2] % y[1], i % y[2]};
        for (int64_t k = 0; k < w[0] * w[1] * w[2]; ++k) {
          const int64_t tap[3] = {k / (w[1] * w[2]), k / w[2] % w[1], k % w[2]};
          int64_t from[3];
          bool inside = true;
          for (int a = 0; a < 3; ++a) {
            from[a] = at[a] * stride[a] + tap[a] * dilation[a] - padding[a];
            inside = inside && from[a] >= 0 && from[a] < x[a];
          }
          if (!inside) continue;
          f(((n * x[0] + from[0]) * x[1] + from[1]) * x[2] + from[2], k, n * y[0] * y[1] * y[2] + i);
        }
      }
    }
  }
};

/// w (groups * out, taps, in) as (taps, groups, in, out).
template <class T>
std::vector<T> transpose_weights(const Geometry& g, const std::vector<T>& w) {
  const int64_t taps = g.w[0] * g.w[1] * g.w[2];
  std::vector<T> result(w.size());
  for (int64_t o = 0; o < g.groups * g.out; ++o) {
    for (int64_t k = 0; k < taps; ++k) {
      for (int64_t c = 0; c < g.in; ++c) {
        const int64_t to = ((k * g.groups + o / g.out) * g.in + c) * g.out + o % g.out;
        result[static_cast<size_t>(to)] = w[static_cast<size_t>((o * taps + k) * g.in + c)];
      }
    }
  }
  return result;
}

template <class T>
std::vector<double> forward(const Geometry& g, const std::vector<T>& x, const std::vector<T>& w, size_t size) {
  const std::vector<T> weights = transpose_weights(g, w);
  std::vector<double> y(size, 0);
  g.visit([&](int64_t from, int64_t k, int64_t to) {
    for (int64_t group = 0; group < g.groups; ++group) {
      double* const sum = &y[static_cast<size_t>((to * g.groups + group) * g.out)];
      for (int64_t c = 0; c < g.in; ++c) {
        const T factor = x[static_cast<size_t>((from * g.groups + group) * g.in + c)];
        const T* const row = &weights[static_cast<size_t>(((k * g.groups + group) * g.in + c) * g.out)];
        for (int64_t o = 0; o < g.out; ++o) sum[o] += static_cast<double>(factor * row[o]);
      }
    }
  });
  return y;
}

template <class T>
std::vector<double> data_grad(const Geometry& g, const std::vector<T>& w, const std::vector<T>& gy, size_t size) {
  const int64_t taps = g.w[0] * g.w[1] * g.w[2];
  std::vector<double> gx(size, 0);
  g.visit([&](int64_t to, int64_t k, int64_t from) {
    for (int64_t o = 0; o < g.groups * g.out; ++o) {
      double* const sum = &gx[static_cast<size_t>((to * g.groups + o / g.out) * g.in)];
      const T factor = gy[static_cast<size_t>(from * g.groups * g.out + o)];
      const T* const row = &w[static_cast<size_t>((o * taps + k) * g.in)];
      for (int64_t c = 0; c < g.in; ++c) sum[c] += static_cast<double>(factor * row[c]);
    }
  });
  return gx;
}

template <class T>
std::vector<double> filter_grad(const Geometry& g, const std::vector<T>& x, const std::vector<T>& gy, size_t size) {
  const int64_t taps = g.w[0] * g.w[1] * g.w[2];
  std::vector<double> gw(size, 0);
  g.visit([&](int64_t from, int64_t k, int64_t to) {
    for (int64_t o = 0; o < g.groups * g.out; ++o) {
      double* const sum = &gw[static_cast<size_t>((o * taps + k) * g.in)];
      const T factor = gy[static_cast<size_t>(to * g.groups * g.out + o)];
      const T* const row = &x[static_cast<size_t>((from * g.groups + o / g.out) * g.in)];
      for (int64_t c = 0; c < g.in; ++c) sum[c] += static_cast<double>(factor * row[c]);
    }
  });
  return gw;
}

double scale_of(const CudnnContent& operation, cudnnBackendAttributeName_t name) {
  return operation.find(name)->type == CUDNN_TYPE_DOUBLE ? operation.value<double>(name, 0)
                                                         : operation.value<float>(name, 0);
}

/// An operand as an engine reads it.
template <class T>
std::vector<T> operand(const CudnnTensor& t, const void* data, bool in_tf32) {
  std::vector<T> values = read<T>(t, data);
  if (t.is_virtual) {  // what was made of half on the way is half again where it is multiplied
    for (T& x : values) {
      uint16_t half;
      store_element(&half, 0, Element::half, static_cast<double>(x));
      x = load_element<T>(&half, 0, Element::half);
    }
  } else if (in_tf32 && t.type == CUDNN_DATA_FLOAT) {
    for (T& x : values) x = static_cast<T>(tf32_of(static_cast<float>(x)));
  }
  return values;
}

template <class T>
void convolve(const CudnnContent& operation, const CudnnTensor& tx, const CudnnTensor& tw, const CudnnTensor& ty,
              void* x, void* w, void* y, bool in_tf32) {
  const CudnnConvolutionNames& names = *convolution_names(operation.type);
  const Geometry g(operation.at(names.geometry), tx, tw, ty);
  const double alpha = scale_of(operation, names.alpha), beta = scale_of(operation, names.beta);
  const auto given = [in_tf32](const CudnnTensor& t, const void* data) { return operand<T>(t, data, in_tf32); };
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return write(ty, forward(g, given(tx, x), given(tw, w), static_cast<size_t>(ty.size())), alpha, beta, y);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return write(tx, data_grad(g, given(tw, w), given(ty, y), static_cast<size_t>(tx.size())), alpha, beta, x);
    default:
      return write(tw, filter_grad(g, given(tx, x), given(ty, y), static_cast<size_t>(tw.size())), alpha, beta, w);
  }
}

void run_pointwise(cudnnPointwiseMode_t mode, const CudnnTensor& tx, const void* x, const CudnnTensor* tb,
                   const void* b, const CudnnTensor& ty, void* y) {
  std::vector<double> values = read<double>(tx, x);
  if (tb != nullptr) {
    CudnnTensor broadcast = *tb;
    for (size_t i = 0; i < broadcast.shape.size(); ++i) {
      if (broadcast.shape[i] != 1) continue;
      broadcast.shape[i] = ty.shape[i];
      broadcast.strides[i] = 0;
    }
    const std::vector<double> second = read<double>(broadcast, b);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = mode == CUDNN_POINTWISE_ADD ? values[i] + second[i] : values[i] * second[i];
    }
  } else if (mode == CUDNN_POINTWISE_RELU_FWD) {
    for (double& value : values) value = value < 0 ? 0 : value;  // NaN stays
  }
  write(ty, values, 1, 0, y);
}

/// Of each channel of x, in the order of the channels: as an engine sums, in float, though in another order.
void take_sums(const CudnnTensor& tx, const void* x, float* sums, float* squares) {
  const std::vector<double> values = read<double>(tx, x);
  const auto channels = static_cast<size_t>(tx.shape[1]);
  std::vector<double> sum(channels), square(channels);
  for (size_t i = 0; i < values.size(); ++i) {
    sum[i % channels] += values[i];
    square[i % channels] += values[i] * values[i];
  }
  for (size_t c = 0; c < channels; ++c) {
    sums[c] = static_cast<float>(sum[c]);
    squares[c] = static_cast<float>(square[c]);
  }
}

}  // namespace

cudnnStatus_t execute_graph(const CudnnContent& graph, const CudnnContent& pack, bool in_tf32) {
  Tensors tensors(pack);
  const auto missing = [](const CudnnTensor& t) {
    const std::string text = "tensor " + std::to_string(t.id) +
                             " is not in the variant pack, or no device memory, or not aligned as it was said to be";
    return cudnn_failure(CUDNN_STATUS_BAD_PARAM, text.c_str());
  };
  for (const auto& operation : graph.find(CUDNN_ATTR_OPERATIONGRAPH_OPS)->contents) {
    if (const CudnnConvolutionNames* names = convolution_names(operation->type)) {
      const CudnnTensor tx(operation->at(names->x)), tw(operation->at(names->w)), ty(operation->at(names->y));
      void *const x = tensors.find(tx), *const w = tensors.find(tw), *const y = tensors.find(ty);
      if (x == nullptr) return missing(tx);
      if (w == nullptr) return missing(tw);
      if (y == nullptr) return missing(ty);
      if (tx.type == CUDNN_DATA_DOUBLE) {
        convolve<double>(*operation, tx, tw, ty, x, w, y, false);
      } else {
        convolve<float>(*operation, tx, tw, ty, x, w, y, in_tf32);
      }
      continue;
    }
    if (operation->type == CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR) {
      const CudnnTensor tx(operation->at(CUDNN_ATTR_OPERATION_GENSTATS_XDESC));
      const CudnnTensor tsum(operation->at(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC));
      const CudnnTensor tsquare(operation->at(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC));
      const void* const x = tensors.find(tx);
      void *const sum = tensors.find(tsum), *const square = tensors.find(tsquare);
      if (x == nullptr) return missing(tx);
      if (sum == nullptr) return missing(tsum);
      if (square == nullptr) return missing(tsquare);
      take_sums(tx, x, static_cast<float*>(sum), static_cast<float*>(square));
      continue;
    }
    const CudnnTensor tx(operation->at(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
    const CudnnTensor ty(operation->at(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    const void* const x = tensors.find(tx);
    void* const y = tensors.find(ty);
    if (x == nullptr) return missing(tx);
    if (y == nullptr) return missing(ty);
    const auto mode = operation->at(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
                          .value(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_IDENTITY);
    if (operation->has_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) {
      const CudnnTensor tb(operation->at(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
      const void* const b = tensors.find(tb);
      if (b == nullptr) return missing(tb);
      run_pointwise(mode, tx, x, &tb, b, ty, y);
    } else {
      run_pointwise(mode, tx, x, nullptr, nullptr, ty, y);
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace kusari::cuda::emulated
