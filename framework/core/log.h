#pragma once

#include <string>

#include "kusari/framework/core/export.h"

/// Messages of the library, through spdlog. Quiet by default: warnings and errors only, on stderr.
/// KUSARI_LOG_LEVEL=trace|debug|info|warn|error|off changes that.
namespace kusari::log {

KUSARI_API void debug(const std::string& message);
KUSARI_API void info(const std::string& message);
KUSARI_API void warn(const std::string& message);
KUSARI_API void error(const std::string& message);
/// One of the names above; throws ValueError for another.
KUSARI_API void set_level(const std::string& level);

}  // namespace kusari::log
