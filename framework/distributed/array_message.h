#pragma once

#include <optional>
#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::distributed {

/// An array as a message: dtype, shape, and the elements in C order.
KUSARI_API std::string pack_array(const Array& array);
/// Throws Error for a message that pack_array has not made.
KUSARI_API Array unpack_array(std::string message);
/// y[j] = the sum of rows[r, j], in the order in which all sums over ranks are added. rows: (N, n) on the CPU.
KUSARI_API Array sum_of_rows(const Array& rows);
/// The dtype, if gradients may travel in it. Throws ValueError naming `call` for one that is not floating.
std::optional<Dtype> checked_gradient_dtype(const char* call, std::optional<Dtype> dtype);

}  // namespace kusari::distributed
