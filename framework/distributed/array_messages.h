#pragma once

#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/kernels/device_group.h"

namespace kusari::distributed {

/// Arrays as what a Group moves: whole ones, or, of those on the devices of a DeviceGroup, dtype and shape alone, since
/// their elements go from device to device. Each rank calls one of the methods below for each call of the others.
class ArrayMessages {
 public:
  /// `devices`: null: all arrays travel whole.
  explicit ArrayMessages(DeviceGroup* devices) : devices_{devices} {}

  std::string message(const Array& array) const;
  std::vector<std::string> messages(std::span<const Array> arrays) const;

  /// The arrays of the messages that have come, on `device`. `sent`: what each rank gets of this one; empty: nothing.
  std::vector<Array> received(std::span<const std::string> messages, std::span<const Array> sent,
                              const Device& device) const;
  /// That of the root's message, which is `own` there.
  Array broadcast(const std::string& message, const Array& own, bool is_root, int root, const Device& device) const;

 private:
  bool goes_alone(const Array& array) const;
  Array expected(const std::string& message) const;

  DeviceGroup* devices_;
};

}  // namespace kusari::distributed
