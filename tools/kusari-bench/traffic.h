#pragma once

#include <cstdint>
#include <functional>

#include "kusari/tools/kusari-bench/sampling.h"

namespace bench {

/// Counts what one call of `step` asks of the device and prints it: a table of kernels with their launches and the
/// bytes of the arrays that they read and write, and the same as one line of JSON. Settings::traffic 2 lists every
/// launch first. What a kernel reads twice, its scratch memory and what caches keep are not in these numbers.
void report_traffic(const Settings& settings, const char* name, int64_t batch, const std::function<void()>& step);

}  // namespace bench
