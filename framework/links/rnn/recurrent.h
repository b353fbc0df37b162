#pragma once

#include <string>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/links/link.h"

// What the recurrent links share.
namespace kusari::links {

/// Zeros for a state that there is not yet: (rows of `like`, units), of its dtype and on its device.
inline Variable zero_state(const Variable& like, int64_t units) {
  return Variable(zeros({like.shape()[0], units}, like.dtype(), like.device()), false);
}
/// Throws TypeError unless a state that there is has as many rows as x: sums would repeat a single one.
inline void expect_rows_of(const char* call, const Variable& x, const char* argument, const Variable& state) {
  if (!state.is_defined() || !x.is_defined() || state.shape(0) == x.shape(0)) return;
  throw TypeError(std::string(call) + ": x has " + std::to_string(x.shape(0)) + " rows and " + argument + " " +
                  std::to_string(state.shape(0)) + ": they must be equal");
}
/// A state that the user gives, where the link is, with its graph where it is there already. `call`:
/// "L::LSTM::set_state".
inline Variable given_state(const Link& link, const char* call, const char* argument, const Variable& value) {
  functions::expect_given(value, call, argument);
  return value.device() == link.device() ? value : Variable(value.array().to_device(link.device()), false);
}

}  // namespace kusari::links
