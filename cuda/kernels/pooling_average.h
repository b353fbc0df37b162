#pragma once

#include "kusari/framework/kernels/pooling.h"

namespace kusari::cuda {

void average_pooling_forward(Params<kernels::AveragePooling> average, In x, Out y);
void average_pooling_grad(Params<kernels::AveragePooling> average, In gy, Out gx);

}  // namespace kusari::cuda
