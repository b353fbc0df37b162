#include "kusari/framework/autograd/debug_print.h"

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

TEST_CASE("debug_print tells all of a variable") {
  Variable x(array<float>({1, 3}));
  CHECK(debug_print(x) ==
        "variable([1. 3.])\n- device: cpu\n- backend: cpu\n- shape: (2,)\n- dtype: float32\n"
        "- statistics: mean=2.00000000, std=1.00000000\n- grad: None");
  x.set_grad(array<float>({0.5, 0.5}));
  CHECK(debug_print(x).ends_with("\n- grad: mean=0.50000000, std=0.00000000"));
  CHECK(debug_print(Variable()) ==
        "variable(None)\n- device: None\n- backend: None\n- shape: None\n- dtype: None\n- statistics: None\n"
        "- grad: None");
  CHECK(debug_print(Variable(zeros({0, 2}))).find("- statistics: mean=nan, std=nan") != std::string::npos);
}

TEST_CASE("label") {
  CHECK(label(Variable(zeros({2, 3}))) == "(2, 3), float32");
  CHECK(label(Variable(array(2.0))) == "float64");
  CHECK_THROWS_AS(label(Variable()), StateError);
}

}  // namespace
}  // namespace kusari
