#include "kusari/optimizers/msvag.h"

#include <cmath>

#include <doctest/doctest.h>

#include "kusari/tests/functions/testing.h"

namespace kusari::testing {
namespace {

class OneParameter : public Chain {
 public:
  OneParameter() : p{*this, "p", ones({2}, Dtype::float32, test_device())} {}
  void set_gradient(double g) { p.set_grad(full({2}, g, Dtype::float32, test_device())); }
  Parameter p;
};

TEST_CASE("MSVAG stays finite where squares of gradients vanish or overflow") {
  for (const double first : {1e-23, 1.0, 1e25}) {
    CAPTURE(first);
    OneParameter model;
    optimizers::MSVAG optimizer(0.5);
    optimizer.setup(model);
    model.set_gradient(first);
    optimizer.update();
    if (first != 1) CHECK(model.p.to_vector<double>()[1] == 1);  // a variance that is not known: no step, as in Chainer
    model.set_gradient(0);
    for (int i = 0; i < 2000; ++i) optimizer.update();
    CHECK(std::isfinite(model.p.to_vector<double>()[1]));
  }
}

TEST_CASE("MSVAG shows a gradient that is NaN") {
  OneParameter model;
  optimizers::MSVAG optimizer(0.5);
  optimizer.setup(model);
  model.set_gradient(std::nan(""));
  optimizer.update();
  CHECK(std::isnan(model.p.to_vector<double>()[1]));
}

}  // namespace
}  // namespace kusari::testing
