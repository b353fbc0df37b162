#pragma once

#include <functional>
#include <string>

#include "kusari/tools/kusari-bench/sampling.h"

namespace bench {

/// What a replayed step costs beside its kernels: records the launches of `step`, calls them again in a loop, and
/// prints their time, that of `replay`, the same step replayed without passes, and the difference per launch.
void report_replay_overhead(const Settings& settings, const std::string& name, const std::function<void()>& step,
                            const std::function<void()>& replay);

}  // namespace bench
