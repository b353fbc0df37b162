#pragma once

#include <string>

#include "kusari/framework/initializers/initializer.h"
#include "kusari/tests/golden_runner/golden_case.h"

namespace kusari::golden {

/// Makes the initializer of that name from the arguments of Chainer's constructor; throws Unsupported.
Initializer make_initializer(const std::string& name, const Json& ctor);

}  // namespace kusari::golden
