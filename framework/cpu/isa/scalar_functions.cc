#include "kusari/framework/kernels/scalar_functions.h"

#include "kusari/framework/cpu/isa/pointwise_loop.h"

KUSARI_POINTWISE_LOOPS(scalar_function_loops, KUSARI_SCALAR_FUNCTION_OPS)
