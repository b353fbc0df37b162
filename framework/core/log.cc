#include "kusari/framework/core/log.h"

#include <cstdlib>
#include <memory>
#include <mutex>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"

namespace kusari::log {
namespace {

spdlog::level::level_enum parse(const std::string& level) {
  const spdlog::level::level_enum parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") {
    throw ValueError("log::set_level: '" + level + "' is not trace, debug, info, warn, error or off");
  }
  return parsed;
}

struct Logger {
  Logger() {
    to.set_pattern("[kusari %l] %v");
    const char* level = std::getenv("KUSARI_LOG_LEVEL");
    to.set_level(level != nullptr ? parse(level) : spdlog::level::warn);
  }

  ForkSafeMutex mutex;  // spdlog's own would stay locked in a child
  spdlog::logger to{"kusari", std::make_shared<spdlog::sinks::stderr_sink_st>()};
};

constinit Lazy<Logger> logger;

void write(spdlog::level::level_enum level, const std::string& message) {
  if (!logger->to.should_log(level)) return;
  const std::scoped_lock lock(logger->mutex);
  logger->to.log(level, message);
}

}  // namespace

void debug(const std::string& message) { write(spdlog::level::debug, message); }
void info(const std::string& message) { write(spdlog::level::info, message); }
void warn(const std::string& message) { write(spdlog::level::warn, message); }
void error(const std::string& message) { write(spdlog::level::err, message); }
void set_level(const std::string& level) { logger->to.set_level(parse(level)); }

}  // namespace kusari::log
