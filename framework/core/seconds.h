#pragma once

#include "kusari/framework/core/export.h"

namespace kusari {

/// Seconds since some moment, by a clock that is never set back: for differences. <chrono> is kept out of the headers,
/// because it costs every program more than most of them.
KUSARI_API double steady_seconds() noexcept;

}  // namespace kusari
