// Whole steps are replayed with F::forget in the model, random numbers and all: forward and backward are one recording.
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/functions/util/forget.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/updaters/standard_updater.h"
#include "kusari/updaters/static_step.h"

namespace kusari {
namespace {

constexpr int64_t kForgottenInputs = 5, kForgottenHidden = 7, kForgottenClasses = 3;

class ForgettingNet : public Chain {
 public:
  explicit ForgettingNet(bool forgets)
      : l1{*this, "l1", kForgottenInputs, kForgottenHidden},
        bn{*this, "bn", kForgottenHidden},
        l2{*this, "l2", kForgottenHidden, kForgottenClasses},
        forgets_{forgets} {}
  Variable operator()(const Variable& x) {
    const auto block = [this](const Variable& h) { return functions::dropout(functions::relu(bn(l1(h))), 0.3); };
    return l2(forgets_ ? functions::forget(block, x) : block(x));
  }

  Child<L::Linear> l1;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> l2;

 private:
  bool forgets_;
};

struct Result {
  std::vector<double> parameters;
  int64_t replays = 0;
};

Result train_forgetting(bool forgets, bool is_static) {
  random::seed(7);
  std::vector<float> x(static_cast<size_t>(kForgottenInputs * 24));
  std::vector<int32_t> t(24);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::cos(0.3f * static_cast<float>(i * i % 97));
  for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<int32_t>(i * 7 % kForgottenClasses);
  const datasets::TupleDataset examples(array(x, {24, kForgottenInputs}), array(t));
  iterators::SerialIterator iterator(examples, 6, {.shuffle = false});
  L::Classifier<ForgettingNet> model{ForgettingNet(forgets)};
  optimizers::MomentumSGD optimizer(0.1);
  optimizer.setup(model);
  updaters::StandardUpdaterOptions options;
  if (is_static) options.static_graph = StaticGraphOptions{.passes = StaticGraphPasses::none()};
  updaters::StandardUpdater updater(iterator, optimizer, options);
  for (int step = 0; step < 10; ++step) updater.update();
  Result result;
  const auto add = [&](const Array& array) {
    for (const double v : array.to_vector<double>()) result.parameters.push_back(v);
  };
  for (Parameter* parameter : model.params()) add(parameter->array());
  add(model.predictor.bn.avg_mean);
  add(model.predictor.bn.avg_var);
  if (is_static) result.replays = updater.static_step()->replays();
  return result;
}

TEST_CASE("steps with forgotten blocks are those without, also replayed") {
  const Result expected = train_forgetting(false, false);
  CHECK(train_forgetting(true, false).parameters == expected.parameters);
  const Result replayed = train_forgetting(true, true);
  CHECK(replayed.parameters == expected.parameters);
  CHECK(replayed.replays >= 8);
}

}  // namespace
}  // namespace kusari
