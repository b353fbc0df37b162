#include <filesystem>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/kusari.h"
#include "kusari/tests/links/models.h"

// Calls of models whose members have been moved away.
namespace kusari::testing {
namespace {

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const StateError& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("no StateError, but ") + error.what();
  }
  return "no error";
}

bool says_moved(const std::string& text) { return text.find("moved") != std::string::npos; }

// The error of a call after a move, and the call works where the members went and after an assignment.
template <class Model>
std::string error_after_move(Model model, const Variable& x) {
  Model other = std::move(model);
  const std::string error = error_of([&] { model(x); });
  other(x);
  const std::string again = error_of([&] { model(x); });
  CHECK(again == error);
  const Model copied = model;
  CHECK(error_of([&] { Model{copied}(x); }) == error);
  model = other;
  model(x);
  Model third = std::move(model);
  model = std::move(third);
  model(x);
  return error;
}

class OwnParameters : public Link {
 public:
  OwnParameters() : W{*this, "W", {2, 3}}, b{*this, "b", {2}, 0} {}
  Variable operator()(const Variable& x) { return functions::linear(x, W, b); }
  Parameter W, b;
};

TEST_CASE("a moved-from model says so") {
  const Variable x(ones({2, 3}), false), images(ones({1, 3, 8, 8}), false), words(array<int32_t>({1, 0}), false);
  CHECK(error_after_move(TwoLayers(3), x) ==
        "Linear: the link was moved from: its parameters are in the model that it was moved to; use that one, or "
        "assign a model to this one");
  CHECK(error_after_move(OwnParameters(), x) ==
        "F::linear: the link of an input was moved from: its parameters are in the model that it was moved to; use "
        "that one, or assign a model to this one");
  CHECK(says_moved(error_after_move(L::Linear(3, 2), x)));
  CHECK(says_moved(error_after_move(L::Linear(2), x)));
  CHECK(says_moved(error_after_move(L::Convolution2D(3, 4, 3), images)));
  CHECK(says_moved(error_after_move(L::Convolution2D(kInfer, 4, 3), images)));
  CHECK(says_moved(error_after_move(L::Deconvolution2D(3, 4, 3), images)));
  CHECK(says_moved(error_after_move(L::DepthwiseConvolution2D(3, 4, 3), images)));
  CHECK(says_moved(error_after_move(L::LocalConvolution2D(3, 4, 8, 3), images)));
  CHECK(says_moved(error_after_move(L::EmbedID(3, 4), words)));
  CHECK(says_moved(error_after_move(L::BatchNormalization(3), x)));
  CHECK(says_moved(error_after_move(L::BatchNormalization(kInfer), x)));
  CHECK(says_moved(error_after_move(L::LayerNormalization(3), x)));
  CHECK(says_moved(error_after_move(L::GroupNormalization(1), images)));
  CHECK(says_moved(error_after_move(L::PReLU(), x)));
  CHECK(says_moved(error_after_move(L::Swish(std::nullopt), x)));
  CHECK(says_moved(error_after_move(L::SimplifiedDropconnect(3, 2), x)));
  CHECK(says_moved(error_after_move(L::Scale({.w_shape = Shape{3}}), x)));
  CHECK(says_moved(error_after_move(L::Highway(3), x)));
  CHECK(says_moved(error_after_move(L::Maxout(3, 2, 2), x)));
  CHECK(says_moved(error_after_move(Sequential(L::Linear(3, 2)), x)));
  CHECK(says_moved(error_after_move(AnyLink(L::Linear(3, 2)), x)));
}

TEST_CASE("a moved-from model says so to those who ask for its parameters") {
  const auto check = [](auto model) {
    const std::string path = (std::filesystem::temp_directory_path() / "moved_from.npz").string();
    auto other = std::move(model);
    serializers::save_npz(path, other);
    optimizers::SGD optimizer(0.1);
    CHECK(says_moved(error_of([&] { optimizer.setup(model); })));
    CHECK(says_moved(error_of([&] { serializers::load_npz(path, model); })));
    CHECK(says_moved(error_of([&] { serializers::save_npz(path, model); })));
    std::filesystem::remove(path);
    CHECK(says_moved(error_of([&] { model.count_params(); })));
    CHECK(says_moved(error_of([&] { model.namedparams(); })));
    CHECK(says_moved(error_of([&] { model.params(); })));
    CHECK(says_moved(error_of([&] { model.namedlinks(); })));
    CHECK(says_moved(error_of([&] { model.cleargrads(); })));
    CHECK(says_moved(error_of([&] { model.disable_update(); })));
    CHECK(says_moved(error_of([&] { model.to(Device()); })));
    CHECK(says_moved(error_of([&] { model.copyparams(other); })));
    CHECK(says_moved(error_of([&] { other.addgrads(model); })));
    auto copied = model;
    CHECK(says_moved(error_of([&] { copied.count_params(); })));
    auto assigned = other;
    assigned.count_params();
    assigned = model;
    CHECK(says_moved(error_of([&] { assigned.count_params(); })));
    model = other;
    CHECK(model.count_params() == other.count_params());
    optimizer.setup(model);
  };
  check(TwoLayers(3));
  check(OwnParameters());
  check(L::Linear(3, 2));
  check(Sequential(L::Linear(3, 2)));
  check(AnyLink(L::Linear(3, 2)));
  // In a model.
  TwoLayers model(3);
  const L::Linear taken = std::move(model.l1);
  CHECK(
      error_of([&] { model.count_params(); }) ==
      "Linear: the link was moved from: its parameters are in the model that it was moved to; use that one, or assign "
      "a model to this one");
}

TEST_CASE("what was empty, or is filled again, was not moved from") {
  const Variable x(ones({2, 3}), false);
  CHECK(error_of([&] { Sequential()(x); }) == "Sequential: it has no layers");
  Sequential net(L::Linear(3, 2));
  const Sequential taken = std::move(net);
  net.append(L::Linear(3, 4));
  CHECK(net(x).shape() == Shape{2, 4});
  CHECK(net.count_params() == 16);
  CHECK(Sequential().count_params() == 0);
  // An absent parameter is none that was moved away.
  CHECK_THROWS_WITH_AS(functions::linear(x, Variable()), "F::linear: W is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari::testing
