#pragma once

#include <string>

#include "kusari/framework/autograd/type_check.h"
#include "kusari/framework/kernels/axes.h"

// What the batch normalizations share about axes, for the sources of this folder.
namespace kusari::functions {

/// The axes that a batch normalization averages over: those given, else the first and those behind gamma's.
AxisMask batch_axes(const Dims& axis, int x_ndim, int gamma_ndim, const std::string& call);

/// x and gamma are floating, and gamma and the others have the shape of x's axes outside the mask, and one dtype.
void expect_channels(const TypeCheck& c, AxisMask axes, const type_check::Argument& x,
                     const type_check::Argument& gamma, std::initializer_list<type_check::Argument> others);

}  // namespace kusari::functions
