#pragma once

#include "kusari/framework/links/link.h"
#include "kusari/tests/golden_runner/golden_case.h"

namespace kusari::golden {

/// Checks that the link has the case's persistent values and no others, and gives each `Q` the numbers of `persist/Q`.
void set_persistents(const Case& c, Link& link);
/// Compares each persistent value `Q` with `persist_after/Q`.
void compare_persistents(const Case& c, Link& link);

}  // namespace kusari::golden
