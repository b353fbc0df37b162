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

/// The stray links of a model; those below a stray link are not counted. `size`: bytes of the model's object, as far as
/// the caller knows.
KUSARI_API std::vector<StrayLink> find_stray_links(Link& root, size_t size);

}  // namespace kusari::detail
