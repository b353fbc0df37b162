#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/optimizer.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/links/models.h"

// What an optimizer says whose parameters another one has taken over.
namespace kusari::testing {
namespace {

Variable four_ones() { return Variable(ones({2, 4}), false); }
Variable loss_of(TwoLayers& model) { return functions::sum(model(four_ones())); }

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const StateError& error) {
    return error.what();
  }
  return "no StateError";
}

TEST_CASE("an optimizer whose model another one was set up with throws") {
  TwoLayers model(4);
  optimizers::SGD first(0.1);
  optimizers::Adam second;
  first.setup(model);
  first.update([&] { return loss_of(model); });
  second.setup(model);
  const char* const expected =
      "SGD: another optimizer was set up with this one's parameters and has taken over all 3 (the first is /l1/W): "
      "call "
      "setup(model) again on the optimizer that shall update them, or set up each optimizer with parameters of its own";
  SUBCASE("update with a loss function") {
    bool is_called = false;
    const auto lossfun = [&] {
      is_called = true;
      return loss_of(model);
    };
    CHECK(error_of([&] { first.update(lossfun); }) == expected);
    CHECK(!is_called);
    CHECK(error_of([&] { first.update(lossfun); }) == expected);  // again
  }
  SUBCASE("update without") {
    CHECK(error_of([&] { first.update(); }) == expected);
  }
  SUBCASE("accumulate") {
    CHECK(error_of([&] { first.accumulate([&] { return loss_of(model); }); }) == expected);
  }
  SUBCASE("a step of those who scale the loss themselves") {
    CHECK(error_of([&] { detail::OptimizerAccess::update(first, Array(), Array()); }) == expected);
  }
  SUBCASE("after the model was moved") {
    const TwoLayers moved = std::move(model);
    CHECK(error_of([&] { first.update(); }) == expected);
  }
}

TEST_CASE("the optimizer that was set up last trains, also when it is the displaced one again") {
  TwoLayers model(4);
  optimizers::SGD first(0.1);
  optimizers::Adam second;
  first.setup(model);
  second.setup(model);
  second.update([&] { return loss_of(model); });
  first.setup(model);
  first.update([&] { return loss_of(model); });
  CHECK(error_of([&] { second.update(); }).find("Adam: another optimizer") == 0);
}

TEST_CASE("an optimizer throws when another one took over a part of its model") {
  TwoLayers model(4);
  optimizers::SGD whole(0.1), part(0.1);
  SUBCASE("the part is set up later") {
    whole.setup(model);
    part.setup(model.l2);
    CHECK(error_of([&] { whole.update(); }).find("has taken over 1 of 3 (the first is /l2/W)") != std::string::npos);
    part.update([&] { return loss_of(model); });
  }
  SUBCASE("the part is set up first") {
    part.setup(model.l2);
    whole.setup(model);
    CHECK(error_of([&] { part.update(); }).find("has taken over all 1 (the first is /W)") != std::string::npos);
    whole.update([&] { return loss_of(model); });
  }
}

TEST_CASE("an optimizer of a model that is gone says so, displaced or not") {
  auto model = std::make_unique<TwoLayers>(4);
  optimizers::SGD first(0.1), second(0.1);
  first.setup(*model);
  second.setup(*model);
  model.reset();
  CHECK(error_of([&] { first.update(); }).find("the model is gone") == 0);
  CHECK(error_of([&] { second.update(); }).find("the model is gone") == 0);
}

TEST_CASE("optimizers that are not displaced go on") {
  TwoLayers a(4), b(4);
  optimizers::SGD of_a(0.1), of_b(0.1);
  of_a.setup(a);
  of_b.setup(b);
  const auto step = [](Optimizer& optimizer, TwoLayers& model) {
    const auto before = model.l1.W.to_vector<float>();
    optimizer.update([&] { return loss_of(model); });
    CHECK(model.l1.W.to_vector<float>() != before);
  };
  SUBCASE("of two models, each of which gets gradients in the other's steps") {
    const auto both = [&] { return loss_of(a) * loss_of(b); };
    of_a.update(both);
    of_b.update(both);
  }
  SUBCASE("set up twice") {
    of_a.setup(a);
    of_a.setup(a);
  }
  SUBCASE("when the model was moved, copied and assigned to") {
    TwoLayers moved = std::move(a);
    step(of_a, moved);
    const TwoLayers copied = moved;
    step(of_a, moved);
    moved = b;
    step(of_a, moved);
    a = std::move(moved);
    step(of_a, a);
  }
  SUBCASE("when the optimizer was moved") {
    optimizers::SGD moved = std::move(of_a);
    step(moved, a);
    of_a = std::move(moved);
  }
  SUBCASE("when a copy of the model got another optimizer") {
    TwoLayers shared = copy(a, CopyMode::share), own = a;
    optimizers::Adam other, third;
    other.setup(shared);
    third.setup(own);
    step(of_a, a);
  }
  SUBCASE("when an optimizer of the model has gone") {
    {
      optimizers::Adam other;
      other.setup(a);
    }
    of_a.setup(a);
  }
  step(of_a, a);
  step(of_b, b);
}

}  // namespace
}  // namespace kusari::testing
