#pragma once

#include "kusari/framework/core/backend.h"

namespace kusari::cuda {

void register_local_response(Backend& backend);  // local_response.cu

}  // namespace kusari::cuda
