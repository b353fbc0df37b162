#include "kusari/framework/core/log.h"

#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/core/child_process.h"
#include "kusari/tests/text_search.h"

namespace kusari {
namespace {

using testing::contains;

std::string output(const std::string& environment) {
  return testing::run_in_child("-u KUSARI_LOG_LEVEL " + environment, "log one message of each level").output;
}

TEST_CASE("the log is quiet by default: warnings and errors") {
  const std::string text = output("");
  CHECK(contains(text, "[kusari warning] a warning\n"));
  CHECK(contains(text, "[kusari error] an error\n"));
  CHECK_FALSE(contains(text, "some information"));
  CHECK_FALSE(contains(text, "a detail"));
}

TEST_CASE("KUSARI_LOG_LEVEL changes that") {
  CHECK(contains(output("KUSARI_LOG_LEVEL=debug"), "[kusari debug] a detail\n"));
  CHECK(contains(output("KUSARI_LOG_LEVEL=info"), "[kusari info] some information\n"));
  CHECK_FALSE(contains(output("KUSARI_LOG_LEVEL=error"), "a warning"));
  CHECK_FALSE(contains(output("KUSARI_LOG_LEVEL=off"), "an error"));
  CHECK(contains(output("KUSARI_LOG_LEVEL=loud"),
                 "KUSARI_LOG_LEVEL: 'loud' is not trace, debug, info, warn, error or off"));
}

TEST_CASE("levels have names") {
  CHECK_THROWS_WITH_AS(log::set_level("loud"), "log::set_level: 'loud' is not trace, debug, info, warn, error or off",
                       ValueError);
}

TEST_CASE("log one message of each level" * doctest::skip()) {
  log::debug("a detail");
  log::info("some information");
  log::warn("a warning");
  log::error("an error");
}

}  // namespace
}  // namespace kusari
