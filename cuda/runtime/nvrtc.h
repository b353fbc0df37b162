#pragma once

#include <string>
#include <vector>

namespace kusari::cuda {

/// What to compile for: "sm_90" for a card that the compiler knows; for a newer one "compute_121", the newest that it
/// does.
std::string architecture_for(int major, int minor);

/// Machine code for text in CUDA C++, which may include Kusari's headers that need no other ones; for an architecture
/// "compute_...", PTX, which the driver compiles when it is loaded. Throws Error with the compiler's words.
std::string compile_text(const std::string& name, const std::string& code, const std::vector<std::string>& options,
                         const std::string& architecture);

/// The same through a folder of what was compiled before: $KUSARI_CACHE_DIR, or kusari/kernels in $XDG_CACHE_HOME or
/// ~/.cache. A folder that cannot be written is done without; KUSARI_CACHE_DIR= (empty) asks for none.
std::string compile_cached(const std::string& name, const std::string& code, const std::vector<std::string>& options,
                           const std::string& architecture);

}  // namespace kusari::cuda
