#pragma once

#include <cstddef>
#include <optional>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/first_call.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::detail {

/// While it lives, the sizes that this thread gives to parameters are on trial: if it ends with an exception they are
/// taken back, so that a lazy link that refuses its first batch waits for another one. Other threads' first calls wait
/// for the end, so nothing within may wait for these. May be nested.
class KUSARI_API SizesOnTrial {
 public:
  /// Does nothing when the parameter has its numbers. It must be one that is made in the call.
  explicit SizesOnTrial(const Parameter& parameter) {
    if (!parameter.is_initialized()) [[unlikely]]
      begin();
  }
  SizesOnTrial(const SizesOnTrial&) = delete;
  SizesOnTrial& operator=(const SizesOnTrial&) = delete;
  ~SizesOnTrial() {
    if (alone_) [[unlikely]]
      end();
  }

  // For parameters, within a FirstCall.

  /// Whether sizes are on trial: other threads must not hear of them yet.
  static bool is_open() noexcept;
  /// Keeps for the end what takes a size back; it must not throw. Drops it when none is on trial.
  static void keep(Callable<void()> undo);

 private:
  void begin();
  void end() noexcept;

  std::optional<FirstCall> alone_;
  int exceptions_ = 0;  // that were under way at the beginning
  size_t kept_ = 0;     // then
};

}  // namespace kusari::detail
