#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// A batch of sequences, each with its first elements in reverse order: for time_axis 0 and batch_axis 1 y[t, b] =
/// x[lengths[b] - 1 - t, b] where t < lengths[b], else x[t, b].
/// x: any dtype. lengths: (batch), integers from 0 to the size of the time axis. Returns y like x. Throws IndexError
/// for an axis that x does not have, ValueError when the two are one or, on the CPU, a length is out of range,
/// TypeError when lengths do not fit. Differentiable to any order by x. tf.reverse_sequence.
KUSARI_API Variable reverse_sequence(const Variable& x, const Variable& lengths, int64_t time_axis = 0,
                                     int64_t batch_axis = 1);

}  // namespace kusari::functions
