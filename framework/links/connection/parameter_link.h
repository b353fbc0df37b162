#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

/// A link that is one parameter: calling it gives W. chainer.links.Parameter.
class KUSARI_API ParameterLink : public Link {
 public:
  /// With these numbers.
  explicit ParameterLink(const Array& array);
  Variable operator()() const;

  Parameter W;
};

}  // namespace kusari::links
