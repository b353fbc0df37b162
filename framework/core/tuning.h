#pragma once

#include <cstdint>
#include <string>

#include "kusari/framework/core/export.h"

/// What was found to be the fastest way of computing each problem, see Config::autotune. Algorithms of one problem give
/// different bits, so a run that resumes takes the choices of the run that was interrupted instead of timing again:
/// they are in the trainer's snapshot.
///
/// A family of kernels shares its choices here under texts that mean the same in every process: printable ASCII without
/// '=', the family's name and version first. "cpu.convolution/1 forward float32 batch 4 ..". The version is raised when
/// the rest of the text gets another meaning; choices of other versions and families are kept, but nobody asks for
/// them. All functions may be called by several threads.
namespace kusari {
class Serializer;
namespace tuning {

/// The algorithm that is the choice for a problem, empty if there is none. It may come from another build: the caller
/// looks whether it has it.
KUSARI_API std::string find(const std::string& problem);
KUSARI_API void keep(const std::string& problem, const std::string& algorithm);
/// Changes when choices are restored: what was made of find's answers before is out of date.
KUSARI_API uint64_t generation() noexcept;

/// All choices, a line "problem = algorithm" each, sorted.
KUSARI_API std::string choices();
/// Adds choices to those that are there, and replaces those of the same problems. Lines that are no choices are left
/// out with one warning.
KUSARI_API void restore(const std::string& choices);

/// The entry "choices"; absent when there are none. A reader leaves out, with a warning, what is none of choices'.
KUSARI_API void serialize(Serializer& serializer);

}  // namespace tuning
}  // namespace kusari
