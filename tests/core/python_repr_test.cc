#include "kusari/framework/core/python_repr.h"

#include <limits>
#include <string>

#include <doctest/doctest.h>

using kusari::python_repr;

// Expected: Python 3.11, repr(x).
TEST_CASE("python_repr") {
  struct Case {
    double value;
    const char* text;
  };
  for (const Case& c : {Case{0, "0.0"},
                        {-0.0, "-0.0"},
                        {1, "1.0"},
                        {0.1, "0.1"},
                        {1.0 / 3, "0.3333333333333333"},
                        {0.2916666716337204, "0.2916666716337204"},
                        {1e-4, "0.0001"},
                        {1e-5, "1e-05"},
                        {-1.5e-7, "-1.5e-07"},
                        {1234567890123456, "1234567890123456.0"},
                        {9999999999999998, "9999999999999998.0"},
                        {1e16, "1e+16"},
                        {1.2345e100, "1.2345e+100"},
                        {5e-324, "5e-324"},
                        {9007199254740993.0, "9007199254740992.0"},
                        {2e-44, "2e-44"},
                        {std::numeric_limits<double>::quiet_NaN(), "nan"},
                        {-std::numeric_limits<double>::infinity(), "-inf"}}) {
    CHECK(python_repr(c.value) == c.text);
  }
}
