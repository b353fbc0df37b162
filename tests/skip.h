#pragma once

#include <string>

namespace kusari::testing {

/// Says that the running test case cannot run here and why; the case returns at once. The program counts such cases and
/// lists them at its end. With the environment's KUSARI_TEST_SKIP_CODE it ends with that code if there was one and
/// nothing failed, which is how CTest shows a test as skipped.
void skip(const std::string& reason);

}  // namespace kusari::testing

/// Ends the running test case so.
#define KUSARI_SKIP(reason)            \
  do {                                 \
    ::kusari::testing::skip((reason)); \
    return;                            \
  } while (false)
