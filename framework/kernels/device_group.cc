#include "kusari/framework/kernels/device_group.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"

namespace kusari {

DeviceGroup::~DeviceGroup() = default;

bool DeviceGroup::has_dtype(Dtype dtype) noexcept { return dtype != Dtype::bool_; }

DeviceGroup* DeviceGroups::of(const Device& device) {
  if (device.is_cpu() || group_.size() == 1) return nullptr;
  if (!std::exchange(is_made_, true)) make(device);
  if (made_ == nullptr && must_have_) throw DeviceError("communicator 'pure_nccl': " + problem_);
  if (made_ != nullptr && made_->device() != device) {
    throw DeviceError("the ranks exchange arrays of '" + device.name() + "' and of '" + made_->device().name() +
                      "': each rank has one device");
  }
  return made_.get();
}

// What each rank finds, such as that a library is missing, all hear before anybody waits for the others on a device.
void DeviceGroups::make(const Device& device) {
  const ScopedGraphCapture once(nullptr);
  kernels::DeviceGroupId id{};
  std::string own = "+";
  try {
    if (device.backend().find(kernel_id<kernels::MakeDeviceGroup>()) == nullptr) {
      own = "-'" + device.name() + "' has no library for exchanges between devices (NCCL)";
    } else {
      launch<kernels::NewDeviceGroupId>(device, &id);
      own.append(id.data(), id.size());
    }
  } catch (const DeviceError& error) {
    own = std::string("-") + error.what();
  }
  const std::vector<std::string> all = group_.allgather({"devices' library"}, own);
  const std::vector<std::string> devices =
      group_.allgather({"devices"}, std::to_string(group_.inter_rank()) + "/" + device.name());
  for (int rank = 0; rank < group_.size() && problem_.empty(); ++rank) {
    const auto place = static_cast<size_t>(rank);
    const auto first = std::find(devices.begin(), devices.end(), devices[place]) - devices.begin();
    if (all[place][0] == '-') {
      problem_ = group_.describe(rank) + ": " + all[place].substr(1);
    } else if (first != rank) {
      problem_ = group_.describe(static_cast<int>(first)) + " and " + group_.describe(rank) + " use the device " +
                 devices[place].substr(devices[place].find('/') + 1) + ": each rank must have its own";
    }
  }
  if (!problem_.empty()) return;
  std::memcpy(id.data(), all[0].data() + 1, id.size());
  launch<kernels::MakeDeviceGroup>(device,
                                   kernels::DeviceGroupRequest{&device, &id, group_.rank(), group_.size(), &made_});
}

}  // namespace kusari
