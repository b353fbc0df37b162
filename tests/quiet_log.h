#pragma once

#include "kusari/framework/core/log.h"

namespace kusari::testing {

/// Keeps the library from warning while it lives, where warnings are expected.
class QuietLog {
 public:
  /// `level`: what may still be said.
  explicit QuietLog(const char* level = "error") { log::set_level(level); }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
  ~QuietLog() { log::set_level("warn"); }
};

}  // namespace kusari::testing
