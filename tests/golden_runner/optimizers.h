#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/optimizers/optimizer.h"
#include "kusari/tests/golden_runner/golden_case.h"

namespace kusari::golden {

/// The optimizer of that name with Chainer's constructor arguments. Throws Unsupported when there is none.
std::unique_ptr<Optimizer> make_optimizer(const std::string& name, const Json& ctor);
/// The hook of that name with Chainer's constructor arguments.
OptimizerHook make_hook(const std::string& name, const Json& ctor);

/// A link with the parameters of a case: those of its inputs that begin with `prefix`, under the rest of their names.
class CaseParameters : public Chain {
 public:
  CaseParameters(const Case& c, const std::string& prefix);
  Parameter& operator[](const std::string& name) { return param("/" + name); }

 private:
  std::array<std::optional<Parameter>, 4> parameters_;
};

}  // namespace kusari::golden
