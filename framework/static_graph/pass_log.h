#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kusari::graphs {

/// What the passes did to a program, for its summary.
struct PassLog {
  struct Entry {
    std::string pass;
    std::string what;  ///< one line: "fused 12 kernels into 3"
  };
  std::vector<Entry> entries;
  size_t recorded_kernels = 0;     ///< before the passes
  size_t recorded_bytes = 0;       ///< of the intermediate slots before the passes, each in memory of its own
  size_t recorded_live_bytes = 0;  ///< the largest sum of those that live at one time
};

}  // namespace kusari::graphs
