#pragma once

#include <string>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"

// Parameters that belong to some axes of x, for the sources of this folder.
namespace kusari::functions {

/// y with axes of size 1 before and behind, so that its axes stand for x's from `axis` on when the two broadcast.
/// Throws ValueError naming `call` when its shape is not that of those axes.
inline Variable align_axes(const Variable& x, const Variable& y, int axis, const char* call, const char* name) {
  const Shape &wide = x.shape(), &narrow = y.shape();
  bool fits = axis >= 0 && axis + narrow.ndim() <= wide.ndim();
  for (int i = 0; fits && i < narrow.ndim(); ++i) fits = narrow[i] == wide[axis + i];
  if (!fits) {
    throw ValueError(std::string(call) + ": x has shape " + to_string(wide) + " but " + name + " has shape " +
                     to_string(narrow) + ": " + name + " must have the sizes of x's axes from axis " +
                     std::to_string(axis) + " on");
  }
  Shape aligned = Shape::filled(wide.ndim(), 1);
  for (int i = 0; i < narrow.ndim(); ++i) aligned[axis + i] = narrow[i];
  return reshape(y, aligned);
}

/// For a function that is made of others. Throws TypeError naming `call` for two dtypes, except where autocast, or
/// another caster, may make them one.
inline void expect_one_dtype(const Variable& x, const Variable& y, const char* call, const char* name) {
  if (x.dtype() == y.dtype() || kusari::detail::t_input_caster != nullptr) return;
  const std::string in_x = kusari::name(x.dtype()), in_y = kusari::name(y.dtype());
  throw TypeError(std::string(call) + ": x has dtype " + in_x + " but " + name + " has dtype " + in_y +
                  ": x.dtype must equal " + name + ".dtype (" + in_x + " != " + in_y + ")");
}

}  // namespace kusari::functions
