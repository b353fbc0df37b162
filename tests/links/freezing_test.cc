#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/sequential.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/links/models.h"
#include "kusari/tests/scratch_directory.h"

// disable_update() before and after setup.
namespace kusari::testing {
namespace {

// Which parameters a step changes.
template <class Model>
std::vector<std::string> changed_by_step(Optimizer& optimizer, Model& model) {
  const Variable x(ones({2, 4}), false);
  model(x);
  std::vector<std::vector<float>> before;
  for (Parameter* parameter : model.params()) before.push_back(parameter->to_vector<float>());
  optimizer.update([&] { return functions::sum(model(x)); });
  std::vector<std::string> changed;
  size_t i = 0;
  for (const auto& [path, parameter] : model.namedparams()) {
    if (parameter->template to_vector<float>() != before[i++]) changed.push_back(path);
  }
  return changed;
}

using Paths = std::vector<std::string>;

TEST_CASE("what is frozen before setup stays frozen") {
  TwoLayers model(kInfer);  // l1.W has no shape yet
  model.l1.disable_update();
  CHECK(!model.l1.W.update_enabled());
  CHECK(model.l2.W.update_enabled());
  optimizers::SGD first(0.1);
  first.setup(model);
  CHECK(!model.l1.update_enabled());
  CHECK(model.update_enabled());
  CHECK(changed_by_step(first, model) == Paths{"/l2/W"});
  CHECK(model.l1.W.update_rule().t() == 0);
  SUBCASE("also when it is set up again, with the same or another optimizer") {
    first.setup(model);
    CHECK(changed_by_step(first, model) == Paths{"/l2/W"});
    optimizers::Adam second;
    second.setup(model);
    CHECK(changed_by_step(second, model) == Paths{"/l2/W"});
    model.enable_update();
    CHECK(changed_by_step(second, model) == Paths{"/l1/W", "/l1/b", "/l2/W"});
    second.setup(model);
    CHECK(changed_by_step(second, model) == Paths{"/l1/W", "/l1/b", "/l2/W"});
  }
  SUBCASE("in copies and where the model is moved to") {
    TwoLayers copied = model;
    first.setup(copied);
    CHECK(changed_by_step(first, copied) == Paths{"/l2/W"});
    TwoLayers moved = std::move(copied);
    CHECK(changed_by_step(first, moved) == Paths{"/l2/W"});
    first.setup(moved);
    CHECK(changed_by_step(first, moved) == Paths{"/l2/W"});
    TwoLayers drawn = copy(moved, CopyMode::init);
    first.setup(drawn);
    CHECK(changed_by_step(first, drawn) == Paths{"/l2/W"});
  }
  SUBCASE("assigning numbers changes nothing of it") {
    TwoLayers other(4);
    model = other;
    CHECK(changed_by_step(first, model) == Paths{"/l2/W"});
    other = model;
    first.setup(other);
    CHECK(changed_by_step(first, other) == Paths{"/l1/W", "/l1/b", "/l2/W"});
  }
  SUBCASE("loading a snapshot changes nothing of it") {
    const ScratchDirectory dir;
    serializers::save_npz(dir / "model.npz", model);
    serializers::save_npz(dir / "optimizer.npz", first);
    TwoLayers loaded(4);
    loaded.l2.disable_update();
    optimizers::SGD of_loaded(0.1);
    of_loaded.setup(loaded);
    serializers::load_npz(dir / "model.npz", loaded);
    serializers::load_npz(dir / "optimizer.npz", of_loaded);
    CHECK(changed_by_step(of_loaded, loaded) == Paths{"/l1/W", "/l1/b"});
  }
}

TEST_CASE("a single parameter's switch, with a rule and without") {
  TwoLayers model(4);
  model.l1.W.disable_update();
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  CHECK(!model.l1.W.update_rule().enabled);
  CHECK(changed_by_step(optimizer, model) == Paths{"/l1/b", "/l2/W"});
  model.l1.W.update_rule().enabled = true;
  model.l1.b.update_rule().enabled = false;
  CHECK(model.l1.W.update_enabled());
  optimizer.setup(model);
  CHECK(changed_by_step(optimizer, model) == Paths{"/l1/W", "/l2/W"});
  model.l1.b.set_update_rule(nullptr);
  CHECK(!model.l1.b.update_enabled());
  model.l1.b.enable_update();
  optimizer.setup(model);
  CHECK(changed_by_step(optimizer, model) == Paths{"/l1/W", "/l1/b", "/l2/W"});
}

TEST_CASE("children that come later are frozen or not for themselves") {
  Sequential model(L::Linear(4, 3));
  model.disable_update();
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  L::Linear frozen(3, 3);
  frozen.disable_update();
  model.append(std::move(frozen));
  model.append(L::Linear(3, 2));
  optimizer.setup(model);
  CHECK(changed_by_step(optimizer, model) == Paths{"/2/W", "/2/b"});
}

}  // namespace
}  // namespace kusari::testing
