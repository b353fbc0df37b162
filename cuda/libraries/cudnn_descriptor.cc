#include "kusari/cuda/libraries/cudnn_descriptor.h"

#include <array>

#include "kusari/framework/core/error.h"

namespace kusari::cuda {
namespace {

void require(cudnnStatus_t status, const char* call, const char* what, int64_t number) {
  if (status == CUDNN_STATUS_SUCCESS) [[likely]]
    return;
  const std::string message = last_cudnn_message();
  throw DeviceError(std::string("cuDNN: ") + call + " of " + what + " " + std::to_string(number) +
                    " failed: " + cudnnGetErrorString(status) + (message.empty() ? "" : ", " + message));
}

}  // namespace

std::string last_cudnn_message() {
  std::array<char, 512> message = {};
  cudnnGetLastErrorString(message.data(), message.size());
  return message.data();
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) : type_{type} {
  require(cudnnBackendCreateDescriptor(type, &raw_), "cudnnBackendCreateDescriptor", "descriptor type", type);
}

CudnnDescriptor::~CudnnDescriptor() {
  if (raw_ != nullptr) cudnnBackendDestroyDescriptor(raw_);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                          const void* values) {
  require(cudnnBackendSetAttribute(raw_, name, type, count, values), "cudnnBackendSetAttribute", "attribute", name);
}

int64_t CudnnDescriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                             void* values) const {
  int64_t found = 0;
  require(cudnnBackendGetAttribute(raw_, name, type, count, &found, values), "cudnnBackendGetAttribute", "attribute",
          name);
  return found;
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const std::vector<CudnnDescriptor>& values) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor& value : values) raw.push_back(value.raw_);
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(raw.size()), raw.data());
}

int64_t CudnnDescriptor::get_int(cudnnBackendAttributeName_t name) const {
  int64_t value = 0;
  get(name, CUDNN_TYPE_INT64, 1, &value);
  return value;
}

uint32_t CudnnDescriptor::get_notes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
  std::array<int32_t, 32> notes = {};  // both kinds of notes are enumerations of this size
  static_assert(sizeof(cudnnBackendNumericalNote_t) == sizeof(int32_t) &&
                sizeof(cudnnBackendBehaviorNote_t) == sizeof(int32_t));
  const int64_t count = get(name, type, static_cast<int64_t>(notes.size()), notes.data());
  uint32_t bits = 0;
  for (int64_t i = 0; i < count; ++i) bits |= 1u << notes[static_cast<size_t>(i)];
  return bits;
}

cudnnBackendKnobType_t CudnnDescriptor::get_knob(cudnnBackendAttributeName_t name) const {
  cudnnBackendKnobType_t knob{};
  get(name, CUDNN_TYPE_KNOB_TYPE, 1, &knob);
  return knob;
}

std::vector<CudnnDescriptor> CudnnDescriptor::get_descriptors(cudnnBackendAttributeName_t name,
                                                              cudnnBackendDescriptorType_t type, int64_t most) const {
  std::vector<CudnnDescriptor> descriptors;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < most; ++i) raw.push_back(descriptors.emplace_back(type).get());
  const int64_t count = get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, raw.data());
  if (count < most) descriptors.erase(descriptors.begin() + count, descriptors.end());
  return descriptors;
}

void CudnnDescriptor::finalize() { require(try_finalize(), "cudnnBackendFinalize", "descriptor type", type_); }

cudnnStatus_t CudnnDescriptor::try_finalize() noexcept { return cudnnBackendFinalize(raw_); }

}  // namespace kusari::cuda
