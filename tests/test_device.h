#pragma once

#include <cstdlib>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/device.h"

namespace kusari::testing {

/// Where tests compute that run on any device: the one that KUSARI_TEST_DEVICE names, otherwise the CPU. In full
/// float32, without TF32.
inline const Device& test_device() {
  static const Device device = [] {
    global_config().use_tf32 = false;
    const char* const name = std::getenv("KUSARI_TEST_DEVICE");
    return name == nullptr ? Device() : get_device(name);
  }();
  return device;
}

inline Array on_test_device(const Array& array) { return array.is_defined() ? array.to_device(test_device()) : array; }

}  // namespace kusari::testing
