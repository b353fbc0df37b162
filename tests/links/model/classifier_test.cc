#include "kusari/framework/links/model/classifier.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/reporter.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/sequential.h"
#include "kusari/tests/links/models.h"

namespace kusari::testing {
namespace {

class Sum : public Chain {
 public:
  Variable operator()(const Variable& a, const Variable& b) { return a + b; }
};

TEST_CASE("Classifier gives and reports loss and accuracy") {
  auto model = L::classifier(TwoLayers(2));
  CHECK(paths(model) == std::vector<std::string>{"/predictor/l1/W", "/predictor/l1/b", "/predictor/l2/W"});
  for (Parameter* p : model.params()) p->array().fill(0);
  Reporter reporter;
  reporter.add_observer("main", model);
  Observation observation;
  {
    const auto scope = reporter.scope(observation);
    model(Variable(ones({4, 2})), array<int32_t>({0, 0, 0, 1}));
  }
  CHECK(observation.at("main/loss") == doctest::Approx(std::log(2.0)).epsilon(1e-6));
  CHECK(observation.at("main/accuracy") == 0.75);
  CHECK(model.loss.item<float>() == doctest::Approx(std::log(2.0)).epsilon(1e-6));
  CHECK(model.y.shape() == Shape{4, 2});
}

TEST_CASE("Classifier with other functions and several inputs") {
  L::Classifier<Sum> model(Sum(),
                           {.lossfun = [](const Variable& y, const Variable& t) { return functions::sum(y - t); },
                            .compute_accuracy = false});
  const Variable loss = model(Variable(ones({2})), Variable(ones({2})), Variable(array<float>({0.5f, 1})));
  CHECK(loss.item<double>() == 2.5);
  CHECK(!model.accuracy.is_defined());
}

TEST_CASE("Classifier is a value") {
  auto model = L::classifier(Sequential(L::Linear(2, 3)));
  auto other = model;
  CHECK(paths(other) == std::vector<std::string>{"/predictor/0/W", "/predictor/0/b"});
  CHECK(!is_same(*other.params()[0], *model.params()[0]));
  auto moved = std::move(other);
  CHECK(moved.params().size() == 2);
}

}  // namespace
}  // namespace kusari::testing
