#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {

void add_convolution_functions(FunctionTable&) {}

}  // namespace kusari::golden
