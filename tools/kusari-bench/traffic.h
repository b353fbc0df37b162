#pragma once

#include <cstdint>
#include <functional>

#include "kusari/tools/kusari-bench/sampling.h"

namespace bench {

/// Counts what one call of `step` asks of the device and prints it: a table of kernels with their launches and the
/// bytes of the arrays that they read and write, and the same as one line of JSON. Settings::traffic 2 lists every
/// launch first. "Read again" is what the passes of a batch normalization read a second time; in "mb_per_item_moved" it
/// counts, in "mb_per_item" each array counts once. Scratch memory and what caches keep are in neither.
void report_traffic(const Settings& settings, const char* name, int64_t batch, const std::function<void()>& step);

}  // namespace bench
