#include "kusari/framework/core/number_text.h"

#include <clocale>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include <doctest/doctest.h>

using namespace kusari;

namespace {

std::string printed(const char* pattern, int digits, double value) {
  char text[400];
  std::snprintf(text, sizeof text, pattern, digits, value);
  return text;
}

}  // namespace

TEST_CASE("numbers as printf prints them") {
  for (const double value : {0.0, -0.0, 1.0, 0.5, 2.0 / 3, 123456.0, 1234567.0, 1e-5, 1.5e300, 5e-324, -2.5,
                             std::numeric_limits<double>::max(), HUGE_VAL, -HUGE_VAL}) {
    CAPTURE(value);
    for (const int digits : {1, 3, 6, 17}) {
      CHECK(general_text(value, digits) == printed("%.*g", digits, value));
      CHECK(fixed_text(value, digits) == printed("%.*f", digits, value));
    }
  }
  CHECK(general_text(-std::nan("")) == "nan");
}

TEST_CASE("digits in groups of three") {
  CHECK(grouped_text(0) == "0");
  CHECK(grouped_text(999) == "999");
  CHECK(grouped_text(1000) == "1,000");
  CHECK(grouped_text(1234567) == "1,234,567");
  CHECK(grouped_text(-123) == "-123");
  CHECK(grouped_text(-1234) == "-1,234");
}

TEST_CASE("numbers have points, whatever the program's locale") {
  bool has_locale = false;
  for (const char* locale : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"}) {
    has_locale = has_locale || std::setlocale(LC_NUMERIC, locale) != nullptr;
  }
  if (!has_locale) MESSAGE("no locale with a decimal comma is installed");
  CHECK(general_text(0.5) == "0.5");
  CHECK(fixed_text(0.5, 2) == "0.50");
  std::setlocale(LC_NUMERIC, "C");
}
