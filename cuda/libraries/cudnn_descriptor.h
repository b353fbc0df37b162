#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cudnn.h>

namespace kusari::cuda {

/// Owns a descriptor of cuDNN's backend API. Setters and getters take C++ types in place of pairs of an attribute type
/// and bytes; what fails throws DeviceError with the attribute's number, the status and cuDNN's own words.
class CudnnDescriptor {
 public:
  CudnnDescriptor() noexcept = default;
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept : raw_{std::exchange(other.raw_, nullptr)}, type_{other.type_} {}
  CudnnDescriptor& operator=(CudnnDescriptor other) noexcept {
    std::swap(raw_, other.raw_);
    std::swap(type_, other.type_);
    return *this;
  }
  ~CudnnDescriptor();

  cudnnBackendDescriptor_t get() const noexcept { return raw_; }
  explicit operator bool() const noexcept { return raw_ != nullptr; }

  void set(cudnnBackendAttributeName_t name, int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
  void set(cudnnBackendAttributeName_t name, std::span<const int64_t> values) {
    set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, double value) { set(name, CUDNN_TYPE_DOUBLE, 1, &value); }
  void set(cudnnBackendAttributeName_t name, float value) { set(name, CUDNN_TYPE_FLOAT, 1, &value); }
  void set(cudnnBackendAttributeName_t name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, 1, &value); }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) { set(name, CUDNN_TYPE_DATA_TYPE, 1, &value); }
  void set(cudnnBackendAttributeName_t name, cudnnConvolutionMode_t value) {
    set(name, CUDNN_TYPE_CONVOLUTION_MODE, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, cudnnPointwiseMode_t value) {
    set(name, CUDNN_TYPE_POINTWISE_MODE, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, cudnnGenStatsMode_t value) {
    set(name, CUDNN_TYPE_GENSTATS_MODE, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, cudnnBackendHeurMode_t value) {
    set(name, CUDNN_TYPE_HEUR_MODE, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, cudnnBackendKnobType_t value) {
    set(name, CUDNN_TYPE_KNOB_TYPE, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, cudnnHandle_t value) { set(name, CUDNN_TYPE_HANDLE, 1, &value); }
  void set_pointers(cudnnBackendAttributeName_t name, std::span<void* const> pointers) {
    set(name, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(pointers.size()), pointers.data());
  }
  void set(cudnnBackendAttributeName_t name, const std::string& text) {
    set(name, CUDNN_TYPE_CHAR, static_cast<int64_t>(text.size()) + 1, text.c_str());
  }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.raw_);
  }
  void set(cudnnBackendAttributeName_t name, const std::vector<CudnnDescriptor>& values);

  /// The only value of the attribute.
  int64_t get_int(cudnnBackendAttributeName_t name) const;
  /// The properties of a kind that a CUDNN_TYPE_*_NOTE attribute lists, a bit each.
  uint32_t get_notes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const;
  cudnnBackendKnobType_t get_knob(cudnnBackendAttributeName_t name) const;
  /// Descriptors of `type` that the attribute holds, at most `most`.
  std::vector<CudnnDescriptor> get_descriptors(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                               int64_t most) const;

  void finalize();
  /// For what may well be impossible: finalize() without an exception.
  cudnnStatus_t try_finalize() noexcept;

 private:
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* values);
  int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, void* values) const;

  cudnnBackendDescriptor_t raw_ = nullptr;
  cudnnBackendDescriptorType_t type_{};
};

/// What cuDNN says about the last failure, "" if nothing.
std::string last_cudnn_message();

}  // namespace kusari::cuda
