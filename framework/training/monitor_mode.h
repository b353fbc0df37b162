#pragma once

#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::training {

/// Of "max", "min" and "auto": whether a larger value of what is watched is a better one.
inline bool is_larger_better(const char* call, const std::string& mode, const std::string& monitor) {
  if (mode == "max") return true;
  if (mode == "min") return false;
  if (mode == "auto") return monitor.find("accuracy") != std::string::npos;
  throw ValueError(std::string(call) + ": mode is '" + mode + "': it must be 'max', 'min' or 'auto'");
}

}  // namespace kusari::training
