#include "kusari/framework/core/dlpack.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"

namespace kusari {
namespace {

// The layout that DLPack's ABI fixes on machines with 64-bit pointers.
static_assert(sizeof(dlpack::Tensor) == 48 && offsetof(dlpack::Tensor, shape) == 24);
static_assert(sizeof(dlpack::ManagedTensor) == 64 && sizeof(dlpack::ManagedTensorVersioned) == 80);
static_assert(offsetof(dlpack::ManagedTensorVersioned, dl_tensor) == 32);

dlpack::DataType to_dlpack(Dtype dtype) {
  const auto bits = static_cast<uint8_t>(8 * itemsize(dtype));
  switch (dtype) {
    case Dtype::bool_:
      return {dlpack::kBool, bits, 1};
    case Dtype::uint8:
      return {dlpack::kUInt, bits, 1};
    case Dtype::int8:
    case Dtype::int32:
    case Dtype::int64:
      return {dlpack::kInt, bits, 1};
    case Dtype::bfloat16:
      return {dlpack::kBfloat, bits, 1};
    default:
      return {dlpack::kFloat, bits, 1};
  }
}

Dtype from_dlpack(dlpack::DataType type) {
  for (int i = 0; i < kDtypeCount; ++i) {
    const dlpack::DataType known = to_dlpack(static_cast<Dtype>(i));
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return static_cast<Dtype>(i);
  }
  throw TypeError("from_dlpack: the tensor has type code " + std::to_string(type.code) + ", " +
                  std::to_string(type.bits) + " bits and " + std::to_string(type.lanes) +
                  " lanes: Kusari has no such dtype");
}

Device from_dlpack(dlpack::DeviceId device) {
  if (device.device_type == dlpack::kCpu || device.device_type == dlpack::kCudaHost) return Device();
  if (device.device_type == dlpack::kCuda) return get_device("cuda:" + std::to_string(device.device_id));
  throw DeviceError("from_dlpack: the tensor is on a device of type " + std::to_string(device.device_type) +
                    ": only the CPU (1), CUDA (2) and pinned host memory (3) are known");
}

// Other libraries use streams of their own, so memory that changes hands is not ordered by ours. A device that cannot
// be waited for, at the process's end, has no work left.
void wait_for(const Device& device) noexcept {
  try {
    synchronize(device);
  } catch (const DeviceError&) {
  }
}

template <class Managed>
struct Exported {
  Managed managed;
  Array array;
  Shape shape;
  Strides strides;
};

template <class Managed>
Managed* export_array(const Array& array) {
  if (!array.is_defined()) throw ValueError("to_dlpack: the array is undefined");
  GraphCapture::refuse("to_dlpack", "another library would hold memory whose contents replays change");
  synchronize(array.device());
  auto* exported = new Exported<Managed>{{}, array, array.shape(), array.strides()};
  Managed& managed = exported->managed;
  managed.manager_ctx = exported;
  managed.deleter = [](Managed* self) {
    auto* const mine = static_cast<Exported<Managed>*>(self->manager_ctx);
    wait_for(mine->array.device());
    delete mine;
  };
  dlpack::Tensor& tensor = managed.dl_tensor;
  array.expose();
  tensor.data = array.raw_data();
  tensor.device = {array.device().is_cpu() ? dlpack::kCpu : dlpack::kCuda, array.device().index()};
  tensor.ndim = array.ndim();
  tensor.dtype = to_dlpack(array.dtype());
  tensor.shape = exported->shape.begin();
  tensor.strides = exported->strides.begin();
  return &managed;
}

template <class Managed>
void release(void* managed) {
  auto* tensor = static_cast<Managed*>(managed);
  const dlpack::DeviceId id = tensor->dl_tensor.device;
  if (id.device_type == dlpack::kCuda) wait_for(get_device("cuda:" + std::to_string(id.device_id)));
  if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

template <class Managed>
Array import_tensor(Managed* managed) {
  if (managed == nullptr) throw ValueError("from_dlpack: the tensor is a null pointer");
  const dlpack::Tensor& tensor = managed->dl_tensor;
  if (tensor.ndim < 0 || tensor.ndim > kMaxNdim || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    throw ValueError("from_dlpack: the tensor has " + std::to_string(tensor.ndim) + " axes: 0 to " +
                     std::to_string(kMaxNdim) + " are possible");
  }
  const Dtype dtype = from_dlpack(tensor.dtype);
  const Device device = from_dlpack(tensor.device);
  const Shape shape(tensor.shape, tensor.shape + tensor.ndim);
  if (std::any_of(shape.begin(), shape.end(), [](int64_t n) { return n < 0; })) {
    throw ValueError("from_dlpack: the tensor has shape " + to_string(shape) + " with a negative size");
  }
  const Strides strides =
      tensor.strides ? Strides(tensor.strides, tensor.strides + tensor.ndim) : contiguous_strides(shape);
  char* data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (numel(shape) == 0) {
    const Array nothing = empty(shape, dtype, device);
    release<Managed>(managed);
    return nothing;
  }
  synchronize(device);
  if (tensor.data == nullptr) throw ValueError("from_dlpack: the tensor has elements but no data");
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(itemsize(dtype)) != 0) {
    throw ValueError(std::string("from_dlpack: the tensor's data is not aligned to its dtype ") + name(dtype));
  }
  return from_external(data, shape, strides, dtype, device, release<Managed>, managed);
}

}  // namespace

dlpack::ManagedTensor* to_dlpack(const Array& array) { return export_array<dlpack::ManagedTensor>(array); }

dlpack::ManagedTensorVersioned* to_dlpack_versioned(const Array& array) {
  dlpack::ManagedTensorVersioned* managed = export_array<dlpack::ManagedTensorVersioned>(array);
  managed->version = dlpack::kVersion;
  return managed;
}

Array from_dlpack(dlpack::ManagedTensor* tensor) { return import_tensor(tensor); }

Array from_dlpack(dlpack::ManagedTensorVersioned* tensor) {
  if (tensor != nullptr && tensor->version.major > dlpack::kVersion.major) {
    throw ValueError("from_dlpack: the tensor has version " + std::to_string(tensor->version.major) + "." +
                     std::to_string(tensor->version.minor) + ": only 1 is known");
  }
  const bool read_only = tensor != nullptr && (tensor->flags & dlpack::kReadOnly) != 0;
  const Array view = import_tensor(tensor);
  return read_only ? view.copy() : view;
}

}  // namespace kusari
