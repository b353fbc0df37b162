#pragma once

#include <cudnn.h>

namespace kusari::cuda::emulated {

/// Keeps the message for cudnnGetLastErrorString; returns the status.
cudnnStatus_t cudnn_failure(cudnnStatus_t status, const char* message);

}  // namespace kusari::cuda::emulated
