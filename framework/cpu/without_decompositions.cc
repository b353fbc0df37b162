#include "kusari/framework/cpu/register.h"

// A library built with KUSARI_DECOMPOSITIONS=OFF has this in place of the sources that these functions are in. An
// absent kernel throws when it is asked for.
namespace kusari::cpu {

void register_symmetric_eigen(Backend&) {}
void register_linear_algebra(Backend&) {}
void register_decompositions(Backend&) {}

}  // namespace kusari::cpu
