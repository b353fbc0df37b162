#pragma once

#include <string>
#include <vector>

#include "kusari/framework/core/backend.h"

namespace kusari {

/// The names of all kernels that a backend has, sorted.
KUSARI_API std::vector<std::string> kernel_names(const Backend& backend);
/// Whether it has the kernel of that name.
KUSARI_API bool has_kernel(const Backend& backend, const std::string& name);

}  // namespace kusari
