#pragma once

#include <cstddef>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"

namespace kusari::detail {

/// A link that lies in the object of another one without being registered there: a member that was to be a Child.
struct StrayLink {
  Link* link;
  Link* holder;
};
/// The same of a parameter.
struct StrayParameter {
  Parameter* parameter;
  Link* holder;
};
struct StrayMembers {
  std::vector<StrayLink> links;            // without those below another one
  std::vector<StrayParameter> parameters;  // of no link
};

/// The stray members of a model, until structure_version() changes. `size`: bytes of the model's object, as far as the
/// caller knows.
KUSARI_API StrayMembers find_stray_members(Link& root, size_t size);

}  // namespace kusari::detail
