#pragma once

#include <functional>
#include <optional>
#include <string>

#include "kusari/framework/autograd/variable.h"

namespace kusari::onnx {

using Activation = std::function<Variable(const Variable&)>;

/// The function that attributes of recurrent and fused operators name. Numbers that are not given are the operator's
/// defaults of that name. Throws ValueError for an unknown name.
Activation named_activation(const std::string& name, std::optional<double> alpha, std::optional<double> beta);

}  // namespace kusari::onnx
