#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {

void add_sampling_links(LinkTable&) {}

}  // namespace kusari::golden
