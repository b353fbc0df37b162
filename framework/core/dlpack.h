#pragma once

#include <cstdint>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

/// Exchange of arrays with other libraries without copying: the C structures of DLPack (github.com/dmlc/dlpack), with
/// the same layout as those of dlpack.h, so that a pointer to one may be cast to a pointer to the other.
namespace kusari::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3 };
enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

/// DLDevice.
struct DeviceId {
  int32_t device_type;
  int32_t device_id;
};
/// DLDataType.
struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
/// DLTensor; strides count elements, null strides mean C order.
struct Tensor {
  void* data;
  DeviceId device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
/// DLManagedTensor. Whoever has it calls deleter(this) once.
struct ManagedTensor {
  Tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
};
/// DLPackVersion.
struct Version {
  uint32_t major;
  uint32_t minor;
};
inline constexpr Version kVersion = {1, 0};
inline constexpr uint64_t kReadOnly = 1;  // DLPACK_FLAG_BITMASK_READ_ONLY
/// DLManagedTensorVersioned, of DLPack 1.0.
struct ManagedTensorVersioned {
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensorVersioned* self);
  uint64_t flags;
  Tensor dl_tensor;
};

}  // namespace kusari::dlpack

namespace kusari {

/// The elements of `array` with its strides, for another library. They stay alive until the receiver calls the deleter.
/// Waits for the array's device first, and again in the deleter: the other library's streams are not known here. Throws
/// ValueError for an undefined array.
KUSARI_API dlpack::ManagedTensor* to_dlpack(const Array& array);
KUSARI_API dlpack::ManagedTensorVersioned* to_dlpack_versioned(const Array& array);

/// An array over another library's elements, with their strides. Waits for all work on the tensor's device, now and
/// before the elements are given back. The tensor is taken over: its deleter is called with the last array that views
/// it. A read-only tensor is copied, since arrays can be written. Throws TypeError for a dtype that Kusari lacks,
/// DeviceError for another device, ValueError for a malformed tensor or a version above 1; then the tensor still
/// belongs to the caller.
KUSARI_API Array from_dlpack(dlpack::ManagedTensor* tensor);
KUSARI_API Array from_dlpack(dlpack::ManagedTensorVersioned* tensor);

}  // namespace kusari
