#include "kusari/framework/kernels/activation.h"

#include "kusari/framework/cpu/isa/pointwise_loop.h"

KUSARI_POINTWISE_LOOPS(activation_loops, KUSARI_ACTIVATION_OPS)
