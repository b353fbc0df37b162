#pragma once

#include <string>

// The choices of core/tuning.h that were made by timing on this machine, for runs that resume nothing: lines
// "problem = algorithm" of a file in the cache folder. Problems name the card and the library's version.
namespace kusari::cuda {

/// Empty if there is none.
std::string find_saved_choice(const std::string& problem);
/// Adds to what other processes have saved. A folder that cannot be written is done without.
void save_choice(const std::string& problem, const std::string& algorithm);

}  // namespace kusari::cuda
