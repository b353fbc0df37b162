#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

/// Shifts groups of channels, one for each place of a filter, by the offset of that place: zeros come in at the border.
/// The channels are divided in order among the kh kw places, C / (kh kw) to each; the centre, which does not move,
/// changes places with the last one and has the rest.
/// x: (N, C, H, W), floating, C >= kh kw. ksize: odd. dilate: distance of neighbouring places, not 0; negative ones
/// shift the other way. Returns y like x. Throws ValueError for another ksize or dilate, TypeError for another x.
/// Differentiable to any order. Wu et al. 2018; chainer.functions.shift.
KUSARI_API Variable shift(const Variable& x, const PerAxis& ksize = 3, const PerAxis& dilate = 1);

}  // namespace kusari::functions
