#pragma once

#include "kusari/framework/core/kernel.h"

namespace kusari::cuda {

void copy(In x, Out y);  // copy.cu

}  // namespace kusari::cuda
