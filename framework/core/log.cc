#include "kusari/framework/core/log.h"

#include <array>
#include <memory>
#include <mutex>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/fork_safe.h"

namespace kusari::log {
namespace {

spdlog::level::level_enum parse(const std::string& what, const std::string& level) {
  using enum spdlog::level::level_enum;
  constexpr spdlog::level::level_enum kLevels[] = {trace, debug, info, warn, err, off};
  return kLevels[environment::parse_choice(what, level, std::array{"trace", "debug", "info", "warn", "error", "off"})];
}

struct Logger {
  Logger() {
    to.set_pattern("[kusari %l] %v");
    to.set_level(parse("KUSARI_LOG_LEVEL", environment::choice("KUSARI_LOG_LEVEL").value_or("warn")));
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
void set_level(const std::string& level) { logger->to.set_level(parse("log::set_level", level)); }

}  // namespace kusari::log
