#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {

void add_sampling_functions(FunctionTable&) {}

}  // namespace kusari::golden
