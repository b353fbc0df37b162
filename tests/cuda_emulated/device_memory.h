#pragma once

#include <cstddef>

namespace kusari::cuda::emulated {

/// While an object lives, device memory can be read and written; otherwise a touch ends the process with a message.
class DeviceAccess {
 public:
  DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
  ~DeviceAccess();
};

/// Memory of a device, full of 0xff (NaN in every floating type); null if the device has not as much.
void* allocate_device(int device, size_t bytes);
/// Whether it was a block of allocate_device.
bool free_device(void* data);
size_t free_device_bytes(int device);
/// The device whose block holds the address, or -1.
int device_of(const void* address);

}  // namespace kusari::cuda::emulated
