#include "kusari/framework/core/log.h"

#include <cstdlib>
#include <memory>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "kusari/framework/core/error.h"

namespace kusari::log {
namespace {

spdlog::level::level_enum parse(const std::string& level) {
  const spdlog::level::level_enum parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") {
    throw ValueError("log::set_level: '" + level + "' is not trace, debug, info, warn, error or off");
  }
  return parsed;
}

spdlog::logger& logger() {
  static spdlog::logger* instance = [] {
    auto* made = new spdlog::logger("kusari", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("[kusari %l] %v");
    const char* level = std::getenv("KUSARI_LOG_LEVEL");
    made->set_level(level != nullptr ? parse(level) : spdlog::level::warn);
    return made;
  }();
  return *instance;
}

}  // namespace

void debug(const std::string& message) { logger().debug(message); }
void info(const std::string& message) { logger().info(message); }
void warn(const std::string& message) { logger().warn(message); }
void error(const std::string& message) { logger().error(message); }
void set_level(const std::string& level) { logger().set_level(parse(level)); }

}  // namespace kusari::log
