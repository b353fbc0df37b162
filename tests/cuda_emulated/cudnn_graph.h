#pragma once

#include <cudnn.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace kusari::cuda::emulated {

/// What a descriptor of cuDNN's backend API says: attributes, as they were set or as finalizing gave them.
struct CudnnContent {
  struct Attribute {
    cudnnBackendAttributeType_t type;
    int64_t count = 0;
    std::vector<char> bytes;                                    ///< of all types but descriptors
    std::vector<std::shared_ptr<const CudnnContent>> contents;  ///< of descriptors
  };

  cudnnBackendDescriptorType_t type{};
  bool is_finalized = false;
  std::map<cudnnBackendAttributeName_t, Attribute> attributes;

  const Attribute* find(cudnnBackendAttributeName_t name) const {
    const auto it = attributes.find(name);
    return it == attributes.end() ? nullptr : &it->second;
  }
  template <class T>
  std::vector<T> values(cudnnBackendAttributeName_t name) const {
    const Attribute* const a = find(name);
    std::vector<T> result(a == nullptr ? 0 : a->bytes.size() / sizeof(T));
    if (!result.empty()) std::memcpy(result.data(), a->bytes.data(), result.size() * sizeof(T));
    return result;
  }
  template <class T>
  T value(cudnnBackendAttributeName_t name, T otherwise) const {
    const std::vector<T> all = values<T>(name);
    return all.empty() ? otherwise : all.front();
  }
  /// The descriptor of an attribute that finalizing has found to be there.
  const CudnnContent& at(cudnnBackendAttributeName_t name) const { return *find(name)->contents.front(); }
  bool has_descriptor(cudnnBackendAttributeName_t name) const {
    const Attribute* const a = find(name);
    return a != nullptr && !a->contents.empty();
  }
};

/// A tensor descriptor, read.
struct CudnnTensor {
  explicit CudnnTensor(const CudnnContent& content);
  int64_t axes() const { return static_cast<int64_t>(shape.size()); }
  int64_t size() const;
  int64_t span() const;  ///< elements from the first to the last

  int64_t id;
  cudnnDataType_t type;
  std::vector<int64_t> shape, strides;
  int64_t alignment;
  bool is_virtual;
};

/// The names that the three convolutions give to the same things.
struct CudnnConvolutionNames {
  cudnnBackendAttributeName_t geometry, x, w, y, alpha, beta;
};
/// Null if the descriptor is no convolution.
const CudnnConvolutionNames* convolution_names(cudnnBackendDescriptorType_t type);

/// The convolution of a graph; its last operation where it has none.
const CudnnContent& convolution_of(const CudnnContent& graph);

/// Why the device has no engine for a finalized graph, or null.
const char* find_obstacle(const CudnnContent& graph);

/// Runs a finalized graph on the arrays of a variant pack; in_tf32: float32 images and weights are read so.
cudnnStatus_t execute_graph(const CudnnContent& graph, const CudnnContent& pack, bool in_tf32);

}  // namespace kusari::cuda::emulated
