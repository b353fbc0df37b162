#pragma once

namespace kusari {
class Backend;
}

namespace kusari::cuda {

/// Enters what makes a DeviceGroup: kernels/device_group.h.
void register_nccl(Backend& backend);

}  // namespace kusari::cuda
