#pragma once

#include <vector>

#include "draw.h"

namespace kusari::misuse_drawn {

std::vector<Entry> calls_by_hand();

}  // namespace kusari::misuse_drawn
