#pragma once

// Elementary functions for formulas that run on every device: inlined and branch free on the CPU, so that loops over
// them vectorise, the CUDA library on the GPU. Without any standard header, because NVRTC compiles this text too.
// float results are within 2 ulp and double results within 3 ulp unless a function says otherwise.

#include "kusari/framework/kernels/macros.h"
#include "kusari/framework/kernels/math_arc.h"
#include "kusari/framework/kernels/math_basic.h"
#include "kusari/framework/kernels/math_erf.h"
#include "kusari/framework/kernels/math_explog.h"
#include "kusari/framework/kernels/math_hyperbolic.h"
#include "kusari/framework/kernels/math_lgamma.h"
#include "kusari/framework/kernels/math_pow.h"
#include "kusari/framework/kernels/math_special.h"
#include "kusari/framework/kernels/math_trig.h"
