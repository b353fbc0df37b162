#pragma once

#include <string>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/dtype.h"

// What the chains of all detectors say of their arguments.
namespace kusari::links::detail {

/// Throws TypeError, "L::DetectionTrainChain: <name> has shape .. and dtype ..: it must be <rule>".
[[noreturn]] void refuse_target(const char* name, const Variable& value, const std::string& rule);

/// Throws TypeError for an argument that is not given.
void expect_target(const char* name, const Variable& value);

/// In what losses of a network's numbers are computed: float32 at least, whatever policy is on, because float16 has
/// steps of 0.001 near 1.
Dtype loss_dtype(const Variable& x);

}  // namespace kusari::links::detail
