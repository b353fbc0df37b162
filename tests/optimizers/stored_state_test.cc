#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/scratch_directory.h"

// State out of files, which may be anything.
using namespace kusari;
using serializers::Dictionary;
using serializers::Entry;
using testing::ScratchDirectory;

namespace {

void train_once(Optimizer& optimizer, links::Linear& model) {
  model.cleargrads();
  functions::sum(model(Variable(ones({2, 4}, model.W.dtype())))).backward();
  optimizer.update();
}

struct StoredAdam {
  explicit StoredAdam(bool is_half = false) {
    if (is_half) model.to(Dtype::float16);
    optimizer.setup(model);
    if (is_half) optimizer.use_fp32_update();
  }
  links::Linear model{4, 3};
  optimizers::Adam optimizer;
};

Dictionary stored(bool is_half = false) {
  StoredAdam trained(is_half);
  train_once(trained.optimizer, trained.model);
  serializers::DictionarySerializer all;
  trained.optimizer.serialize(all);
  return serializers::copied(all.dictionary());
}

void replace(Dictionary& entries, const std::string& key, Entry entry) {
  for (auto& [name, old] : entries) {
    if (name == key) old = std::move(entry);
  }
}

}  // namespace

TEST_CASE("an optimizer takes no snapshot of another one") {
  const ScratchDirectory dir;
  const std::string path = dir / "optimizer.npz";
  const auto expect_refused = [&](Optimizer& optimizer, const Dictionary& entries, const std::string& what) {
    links::Linear model(4, 3);
    optimizer.setup(model);
    serializers::save_npz_dictionary(path, entries);
    CHECK_THROWS_WITH_AS(serializers::load_npz(path, optimizer), ("load_npz: " + path + ": entry " + what).c_str(),
                         TypeError);
    CHECK(optimizer.t() == 0);
    const testing::QuietLog quiet;
    serializers::load_npz(path, optimizer, {.skip_mismatched = true});
    CHECK(optimizer.t() == 0);
    CHECK(!model.W.update_rule().state("v").is_defined());
  };
  const auto without_rule = [](Dictionary entries) {  // Chainer's and older ones
    CHECK(std::erase_if(entries, [](const auto& entry) { return entry.first == "rule"; }) == 1);
    return entries;
  };
  links::Linear trained(4, 3);
  optimizers::MomentumSGD momentum;
  momentum.setup(trained);
  train_once(momentum, trained);
  serializers::DictionarySerializer all;
  momentum.serialize(all);
  const Dictionary of_momentum = serializers::copied(all.dictionary());

  optimizers::Adam adam;
  optimizers::SGD sgd;
  expect_refused(momentum, stored(),
                 "'rule' is 'Adam': the file is a snapshot of the optimizer Adam, and cannot be loaded into "
                 "MomentumSGD");
  expect_refused(momentum, without_rule(stored()),
                 "'W' has states of another optimizer, 'm', 'v': those of MomentumSGD are 'v'");
  expect_refused(adam, of_momentum,
                 "'rule' is 'MomentumSGD': the file is a snapshot of the optimizer MomentumSGD, and cannot be loaded "
                 "into Adam");
  expect_refused(sgd, without_rule(of_momentum), "'W' has states of another optimizer, 'v': those of SGD are none");
  links::Linear model(4, 3);
  adam.setup(model);
  serializers::save_npz_dictionary(path, without_rule(of_momentum));
  CHECK_THROWS_WITH_AS(serializers::load_npz(path, adam),
                       doctest::Contains("'W/m' is missing or None beside the others"), TypeError);

  // The same rule with other options.
  optimizers::AdamW decayed({.weight_decay_rate = 0.1});
  decayed.setup(model);
  for (const Dictionary& entries : {stored(), without_rule(stored())}) {
    serializers::save_npz_dictionary(path, entries);
    serializers::load_npz(path, decayed);
    CHECK(decayed.t() == 1);
    CHECK(model.W.update_rule().state("m").is_defined());
  }
}

TEST_CASE("an optimizer takes no part of a state") {
  const ScratchDirectory dir;
  const std::string path = dir / "optimizer.npz";
  serializers::save_npz_dictionary(path, stored());
  links::Linear model(4, 3);
  optimizers::Adam amsgrad = optimizers::AMSGrad();
  amsgrad.setup(model);
  CHECK_THROWS_WITH_AS(serializers::load_npz(path, amsgrad),
                       ("load_npz: " + path + ": entry 'W/vhat' is missing or None beside the others").c_str(),
                       TypeError);
  CHECK(amsgrad.t() == 0);
  Dictionary entries = stored();
  replace(entries, "b/m", {});
  serializers::save_npz_dictionary(path, entries);
  StoredAdam other;
  CHECK_THROWS_AS(serializers::load_npz(path, other.optimizer), TypeError);
}

TEST_CASE("an optimizer takes no state of another shape") {
  const ScratchDirectory dir;
  const std::string path = dir / "optimizer.npz";
  for (const bool is_half : {false, true}) {
    for (const char* const name : {"m", "v", "fp32_param"}) {
      if (!is_half && std::string(name) == "fp32_param") continue;
      for (const Shape& shape : {Shape{}, Shape{1}, Shape{12}, Shape{4, 3}, Shape{3, 40}, Shape{0}, Shape{300, 400}}) {
        for (const bool is_fresh : {true, false}) {  // whether there is state already
          CAPTURE(name);
          CAPTURE(shape);
          StoredAdam other(is_half);
          if (!is_fresh) train_once(other.optimizer, other.model);
          Dictionary entries = stored(is_half);
          replace(entries, std::string("W/") + name, {zeros(shape)});
          serializers::save_npz_dictionary(path, entries);
          CHECK_THROWS_WITH_AS(serializers::load_npz(path, other.optimizer),
                               ("load_npz: " + path + ": entry 'W/" + name + "' has shape " + to_string(shape) +
                                " but must have shape (3, 4)")
                                   .c_str(),
                               TypeError);
          CHECK(other.optimizer.t() == (is_fresh ? 0 : 1));
          CHECK(other.model.W.update_rule().state("m").is_defined() != is_fresh);
          train_once(other.optimizer, other.model);
          CHECK(std::isfinite(functions::sum(functions::sum(other.model.W)).array().item<double>()));
        }
      }
    }
  }
  Dictionary entries = stored();
  replace(entries, "W/v", {zeros({3, 4}, Dtype::int64)});
  serializers::save_npz_dictionary(path, entries);
  StoredAdam other;
  CHECK_THROWS_WITH_AS(serializers::load_npz(path, other.optimizer),
                       doctest::Contains("entry 'W/v' has dtype int64: it must be floating"), TypeError);
}

TEST_CASE("state that comes before its parameter's shape begins anew when it does not fit") {
  const ScratchDirectory dir;
  serializers::save_npz_dictionary(dir / "a", stored());
  links::Linear lazy{kInfer, 3};
  optimizers::Adam optimizer;
  optimizer.setup(lazy);
  serializers::load_npz(dir / "a", optimizer);
  lazy(Variable(ones({2, 7})));
  const testing::QuietLog quiet;
  lazy.cleargrads();
  functions::sum(lazy(Variable(ones({2, 7})))).backward();
  optimizer.update();
  CHECK(lazy.W.update_rule().state("m").shape() == Shape{3, 7});
}

TEST_CASE("an optimizer takes no counts and hyperparameters that make no sense") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  const auto integer = [](int64_t value) { return Entry{full({}, value, Dtype::int64)}; };
  const auto real = [](double value) { return Entry{full({}, value, Dtype::float64)}; };
  struct Case {
    const char* key;
    Entry entry;
    const char* message;
  };
  const Case cases[] = {
      {"t", integer(-1), "entry 't' is -1: it must be 0 .. 2^53"},
      {"t", integer(std::numeric_limits<int64_t>::max()), "entry 't' is 9223372036854775807: it must be 0 .. 2^53"},
      {"epoch", integer(-7), "entry 'epoch' is -7"},
      {"skipped_steps", integer(std::numeric_limits<int64_t>::min()), "entry 'skipped_steps' is -9223372036854775808"},
      {"W/t", integer(-1), "entry 'W/t' is -1"},
      {"b/t", integer(int64_t{1} << 60), "entry 'b/t' is"},
      {"hyperparam/alpha", real(kNan), "entry 'hyperparam/alpha' is nan: it must be finite"},
      {"hyperparam/alpha", real(kInf), "entry 'hyperparam/alpha' is inf: it must be finite"},
      {"hyperparam/beta1", real(1), "entry 'hyperparam/beta1' is 1: it must be at least 0 and less than 1"},
      {"hyperparam/eps", real(-1), "entry 'hyperparam/eps' is -1: it must be finite and not negative"},
  };
  const ScratchDirectory dir;
  for (const Case& c : cases) {
    CAPTURE(c.key);
    Dictionary entries = stored();
    replace(entries, c.key, c.entry);
    serializers::save_npz_dictionary(dir / "a", entries);
    StoredAdam other;
    CHECK_THROWS_WITH_AS(serializers::load_npz(dir / "a", other.optimizer), doctest::Contains(c.message), ValueError);
    CHECK(other.optimizer.t() == 0);
    CHECK(other.optimizer.alpha == 0.001);
    CHECK_FALSE(other.model.W.update_rule().state("m").is_defined());
  }
  links::Linear model{4, 3};
  optimizers::MomentumSGD optimizer;
  optimizer.setup(model);
  optimizer.loss_scaling();
  model.W.update_rule().hyperparam().lr = 0.5;
  for (const char* const key : {"loss_scale", "loss_scale_growth_tracker", "W/hyperparam/lr"}) {
    CAPTURE(key);
    for (const double value : {kNan, kInf, -kInf}) {
      serializers::DictionarySerializer all;
      optimizer.serialize(all);
      Dictionary entries = all.dictionary();
      replace(entries, key, real(value));
      serializers::save_npz_dictionary(dir / "a", entries);
      CHECK_THROWS_AS(serializers::load_npz(dir / "a", optimizer), ValueError);
      CHECK(optimizer.loss_scale() == 32768);
      CHECK(model.W.update_rule().hyperparam().lr == 0.5);
    }
  }
}
