#pragma once

#include "kusari/framework/kernels/batch_normalization.h"

namespace kusari::cuda {

void batch_normalization_backward(Params<kernels::BatchNormalization> options, In x, In y, In gy, In gamma, In beta,
                                  In mean, In inv_std, Out gx, Out gresidual, Out ggamma, Out gbeta);
void batch_normalization_masked_backward(Params<kernels::BatchNormalization> options, In x, In mask, In gy, In gamma,
                                         In mean, In inv_std, Out gx, Out gresidual, Out ggamma, Out gbeta);

}  // namespace kusari::cuda
