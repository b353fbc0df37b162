#include "kusari/framework/kernels/incomplete_functions.h"

#include "kusari/framework/cpu/isa/pointwise_loop.h"

KUSARI_POINTWISE_LOOPS(incomplete_function_loops, KUSARI_INCOMPLETE_FUNCTION_OPS)
