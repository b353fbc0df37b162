#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {

void add_normalization_links(LinkTable&) {}

}  // namespace kusari::golden
