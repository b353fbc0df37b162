#include "kusari/framework/kernels/comparison.h"

#include "kusari/framework/cpu/isa/pointwise_loop.h"

KUSARI_POINTWISE_LOOPS(comparison_loops, KUSARI_COMPARISON_OPS)
