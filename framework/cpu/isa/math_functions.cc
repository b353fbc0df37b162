#include "kusari/framework/kernels/math_functions.h"

#include "kusari/framework/cpu/isa/pointwise_loop.h"

KUSARI_POINTWISE_LOOPS(math_function_loops, KUSARI_PLAIN_FUNCTION_OPS)
