#pragma once

#include <initializer_list>
#include <string>

#include "kusari/framework/distributions/distribution.h"

// How the constructors of this folder take their parameters.
namespace kusari::distributions {

struct NamedParameter {
  const char* name;
  const ParameterValue& value;
  bool is_size = false;  ///< a scale, a rate or a shape: a number, or an element on the CPU, must not be negative
};

/// The parameters as variables of one floating dtype on one device. Throws TypeError, naming the distribution and the
/// parameter, for one that is not given or does not fit, ValueError for a negative one that must not be. Arrays of
/// other devices, and those of a static graph that records, are not looked at, as that would wait for them.
Variables parameters(const char* distribution, std::initializer_list<NamedParameter> given);
/// The same, broadcast to their common shape.
Variables broadcast_parameters(const char* distribution, std::initializer_list<NamedParameter> given);
/// Which of two parameters was given. Throws ValueError unless exactly one was.
NamedParameter one_of(const char* distribution, const NamedParameter& a, const NamedParameter& b);
/// The size of a parameter's last axis. Throws TypeError, naming the parameter, when it has none.
int64_t last_size(const char* distribution, const char* parameter, const Shape& shape);
/// `shape` without its last `axes` axes. Throws TypeError, naming the parameter, when it has fewer.
Shape batch_of(const char* distribution, const char* parameter, const Shape& shape, int axes);

}  // namespace kusari::distributions
