#include "kusari/framework/kernels/arithmetic.h"

#include "kusari/framework/cpu/isa/pointwise_loop.h"

KUSARI_POINTWISE_LOOPS(arithmetic_loops, KUSARI_ARITHMETIC_OPS)
