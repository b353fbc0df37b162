#include "kusari/framework/links/connection/parameter_link.h"

#include "kusari/framework/functions/math/identity.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {

ParameterLink::ParameterLink(const Array& array) : W{*this, "W", array} {}

Variable ParameterLink::operator()() const {
  const LinkCall call(*this);
  return functions::identity(W);
}

}  // namespace kusari::links
