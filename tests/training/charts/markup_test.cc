#include "kusari/framework/training/charts/markup.h"

#include <string>

#include <doctest/doctest.h>

using namespace kusari::training::charts;

TEST_CASE("escaped text cannot leave its place in a page") {
  CHECK(escaped("</script><b a=\"x\" b='y'>&") == "&lt;/script&gt;&lt;b a=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
  CHECK(escaped("h\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\n\t") == "h\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\n\t");
}

TEST_CASE("escaped replaces what is no UTF-8, and control characters") {
  const std::string unknown = "\xEF\xBF\xBD";
  for (const std::string& bad : {std::string("\x01"), std::string("\0", 1), std::string("\x7F"), std::string("\xFF"),
                                 std::string("\xC3"), std::string("\xC0"), std::string("\xBF")}) {
    CHECK(escaped("a" + bad + "b") == "a" + unknown + "b");
  }
  CHECK(escaped("\xC0\xAF") == unknown + unknown);                // a slash in two bytes
  CHECK(escaped("\xED\xA0\x80") == unknown + unknown + unknown);  // a surrogate
  CHECK(escaped("\xE2\x82") == unknown + unknown);                // cut off
}

TEST_CASE("coordinate") {
  CHECK(coordinate(12.5) == "12.5");
  CHECK(coordinate(3) == "3");
  CHECK(coordinate(100) == "100");
  CHECK(coordinate(-0.001) == "0");
  CHECK(coordinate(1.0 / 3) == "0.33");
}
