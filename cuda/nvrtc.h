#pragma once

#include <string>
#include <vector>

namespace kusari::cuda {

/// Machine code for text in CUDA C++, which may include Kusari's headers that need no other ones. `architecture`:
/// "sm_90". Throws Error with the compiler's words.
std::string compile_text(const std::string& name, const std::string& code, const std::vector<std::string>& options,
                         const std::string& architecture);

/// The same through a folder of what was compiled before: $KUSARI_CACHE_DIR, or kusari/kernels in $XDG_CACHE_HOME or
/// ~/.cache. A folder that cannot be written is done without; KUSARI_CACHE_DIR= (empty) asks for none.
std::string compile_cached(const std::string& name, const std::string& code, const std::vector<std::string>& options,
                           const std::string& architecture);

}  // namespace kusari::cuda
