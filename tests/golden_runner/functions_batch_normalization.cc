#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {

void add_batch_normalization_functions(FunctionTable&) {}

}  // namespace kusari::golden
