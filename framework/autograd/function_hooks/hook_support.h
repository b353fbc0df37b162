#pragma once

#include "kusari/framework/autograd/function_node.h"

// What hooks that measure share.
namespace kusari::function_hooks {

/// The device of the first one that is there; null when there is none.
const Device* device_of(const ArrayRefs& arrays) noexcept;
const Device* device_of(const Variables& variables) noexcept;

}  // namespace kusari::function_hooks
