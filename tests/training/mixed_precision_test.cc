#include "kusari/framework/training/extensions/mixed_precision.h"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/evaluator.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari::testing {
namespace {

namespace F = functions;
using extensions::MixedPrecision;
using extensions::MixedPrecisionOptions;
using extensions::MixedPrecisionRecipe;

class MixedNet : public Chain {
 public:
  MixedNet() : l1{*this, "l1", 6, 16}, bn{*this, "bn", 16}, l2{*this, "l2", 16, 3} {}
  Variable operator()(const Variable& x) {
    const Variable h = l1(x);
    seen = h.dtype();
    scores = l2(F::relu(bn(h)));
    return scores;
  }

  Child<L::Linear> l1;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> l2;
  Dtype seen = Dtype::float64;  // of the first activations
  Variable scores;
};

/// Points around three centers, by class.
class Points final : public datasets::Dataset {
 public:
  int64_t size() const override { return 48; }
  datasets::Example get(int64_t i) const override {
    std::vector<float> x(6);
    for (size_t k = 0; k < 6; ++k) {
      const float noise = static_cast<float>(philox_word(static_cast<uint64_t>(i), k)) * 0x1p-32F - 0.5F;
      x[k] = noise + (static_cast<int64_t>(k) % 3 == i % 3 ? 1.0F : 0.0F);
    }
    return {array(x, {6}), full({}, i % 3, Dtype::int32)};
  }
};

/// A training run with everything that it needs.
struct MixedRun {
  explicit MixedRun(const MixedPrecisionOptions& options, int64_t iterations) : mixed{options}, model{make_model()} {
    model.lossfun = [this](const Variable& y, const Variable& t) {
      const Variable loss = F::softmax_cross_entropy(y, t);
      return config().train && overflows.count(updater->iteration() + 1) > 0 ? loss * 1e10 : loss;
    };
    optimizer.setup(model);
    updater.emplace(train, optimizer);
    trainer.emplace(*updater, training::TriggerRef(iterations, "iteration"), out.path());
    trainer->extend(mixed);
    trainer->extend(extensions::Evaluator(test, model));
    trainer->extend(log);
  }
  static L::Classifier<MixedNet> make_model() {
    random::seed(1);
    return L::classifier(MixedNet());
  }
  std::map<std::string, std::vector<double>> values() {
    std::map<std::string, std::vector<double>> result;
    for (const auto& [path, parameter] : model.namedparams()) result[path] = parameter->array().to_vector<double>();
    result["mean"] = model.predictor.bn.avg_mean.to_vector<double>();
    return result;
  }

  std::set<int64_t> overflows;  // iterations whose gradients are infinite in float16
  MixedPrecision mixed;
  ScratchDirectory out;
  Points points;
  iterators::SerialIterator train{points, 8, {.shuffle = false}};
  iterators::SerialIterator test{points, 16, {.repeat = false, .shuffle = false}};
  L::Classifier<MixedNet> model;
  optimizers::Adam optimizer{{.alpha = 0.02}};
  extensions::LogReport log;
  std::optional<updaters::StandardUpdater> updater;
  std::optional<training::Trainer> trainer;
};

TEST_CASE("MixedPrecision trains in 16 bits and gives the float32 model back") {
  for (const auto recipe : {MixedPrecisionRecipe::autocast, MixedPrecisionRecipe::to_fp16}) {
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
      CAPTURE(name(dtype));
      CAPTURE(static_cast<int>(recipe));
      const bool is_16_bit = recipe == MixedPrecisionRecipe::to_fp16;
      MixedRun run({.recipe = recipe, .dtype = dtype, .clip = 10}, 60);
      MixedNet& net = run.model.predictor;
      int64_t steps = 0;
      run.trainer->extend([&](training::Trainer&) {
        ++steps;
        CHECK(net.seen == dtype);
        CHECK(net.l1.W.dtype() == (is_16_bit ? dtype : Dtype::float32));
        CHECK(net.bn.gamma.dtype() == Dtype::float32);
        CHECK(run.model.loss.dtype() == Dtype::float32);
        CHECK(run.optimizer.has_loss_scaling() == (dtype == Dtype::float16));
        CHECK(net.l1.W.update_rule().state("m").dtype() == Dtype::float32);
        CHECK(net.l1.W.update_rule().state("fp32_param").is_defined() == is_16_bit);
      });
      run.trainer->run();
      CHECK(steps == 60);
      for (const auto& [path, parameter] : run.model.namedparams()) CHECK(parameter->dtype() == Dtype::float32);
      CHECK(!run.optimizer.has_loss_scaling());
      const Array master = net.l1.W.update_rule().state("fp32_param");
      if (master.is_defined()) CHECK(net.l1.W.array().to_vector<float>() == master.to_vector<float>());
      // More digits than 16 bits have.
      CHECK(net.l1.W.array().to_vector<float>() != net.l1.W.array().astype(dtype).to_vector<float>());
      const auto& row = run.log.log().back();
      CHECK(row.at("main/loss") < 0.25);
      CHECK(row.at("validation/main/accuracy") > 0.95);
      CHECK((row.find("loss_scale") != nullptr) == (dtype == Dtype::float16));
      if (dtype == Dtype::float16) {
        CHECK(row.at("loss_scale") == 65536);
        CHECK(row.at("skipped_steps") == 0);
      }
      net(Variable(zeros({2, 6})));  // the region has ended
      CHECK(net.seen == Dtype::float32);
    }
  }
}

TEST_CASE("a run in mixed precision resumes exactly") {
  for (const auto recipe : {MixedPrecisionRecipe::autocast, MixedPrecisionRecipe::to_fp16}) {
    CAPTURE(static_cast<int>(recipe));
    MixedRun whole({.recipe = recipe}, 12), first({.recipe = recipe}, 7), second({.recipe = recipe}, 12);
    for (MixedRun* const run : {&whole, &first, &second}) {
      run->overflows = {2, 10};
      run->trainer->extend([run](training::Trainer& t) {
        if (t.updater().iteration() == 7) serializers::save_npz(run->out / "snapshot", t);
      });
    }
    whole.trainer->run();
    first.trainer->run();
    serializers::load_npz(first.out / "snapshot", *second.trainer);
    std::vector<double> scales;
    second.trainer->extend([&](training::Trainer&) { scales.push_back(second.optimizer.loss_scale()); });
    second.trainer->run();
    CHECK(scales == std::vector<double>{32768, 32768, 16384, 16384, 16384});
    CHECK(second.values() == whole.values());
    CHECK(second.optimizer.t() == whole.optimizer.t());
    CHECK(second.optimizer.t() == 10);
  }
}

TEST_CASE("a snapshot that is loaded when the extensions begin resumes mixed precision, too") {
  for (const auto recipe : {MixedPrecisionRecipe::autocast, MixedPrecisionRecipe::to_fp16}) {
    CAPTURE(static_cast<int>(recipe));
    MixedRun whole({.recipe = recipe}, 12), first({.recipe = recipe}, 7), second({.recipe = recipe}, 12);
    for (MixedRun* const run : {&whole, &first, &second}) {
      run->overflows = {2, 10};
      run->trainer->extend(extensions::snapshot({.autoload = run == &second}), {.trigger = {7, "iteration"}});
    }
    whole.trainer->run();
    first.trainer->run();
    std::filesystem::copy(first.out / "snapshot_iter_7", second.out / "snapshot_iter_7");
    second.trainer->run();
    CHECK(second.values() == whole.values());
    CHECK(second.optimizer.t() == 10);
    CHECK(second.log.log().back().at("loss_scale") == whole.log.log().back().at("loss_scale"));
  }
}

TEST_CASE("MixedPrecision may run again") {
  MixedRun once({.recipe = MixedPrecisionRecipe::to_fp16, .loss_scale = 128}, 8);
  MixedRun twice({.recipe = MixedPrecisionRecipe::to_fp16, .loss_scale = 128}, 8);
  once.trainer->run();
  bool is_interrupted = false;
  twice.trainer->extend([&](training::Trainer& t) {
    if (t.updater().iteration() != 4 || is_interrupted) return;
    is_interrupted = true;
    throw StateError("interrupted");
  });
  CHECK_THROWS_AS(twice.trainer->run(false), StateError);
  CHECK(twice.model.predictor.l1.W.dtype() == Dtype::float32);
  twice.trainer->run();
  CHECK(twice.values() == once.values());
}

TEST_CASE("MixedPrecision gives frozen parameters back as they were") {
  const float tenth = 0.1F;  // which neither 16-bit dtype holds
  const MixedPrecisionOptions options{.recipe = MixedPrecisionRecipe::to_fp16};
  const auto freeze = [&](MixedRun& run) {
    L::Linear& l1 = run.model.predictor.l1;
    l1.W.array().fill(tenth);
    l1.disable_update();
  };
  MixedRun first(options, 4), second(options, 6), written(options, 4);
  for (MixedRun* const run : {&first, &second, &written}) freeze(*run);
  first.trainer->extend([&](training::Trainer& t) {
    CHECK(first.model.predictor.l1.W.dtype() == Dtype::float16);
    if (t.updater().iteration() == 3) serializers::save_npz(first.out / "snapshot", t);
  });
  first.trainer->run();
  const Parameter& W = first.model.predictor.l1.W;
  CHECK(W.array().to_vector<float>() == std::vector<float>(96, tenth));

  second.model.predictor.l1.W.array().fill(0);
  serializers::load_npz(first.out / "snapshot", *second.trainer);
  second.trainer->run();
  CHECK(second.model.predictor.l1.W.array().to_vector<float>() == std::vector<float>(96, tenth));

  written.trainer->extend([&](training::Trainer& t) {
    if (t.updater().iteration() == 2) written.model.predictor.l1.W.array().fill(0.25);
  });
  written.trainer->run();
  CHECK(written.model.predictor.l1.W.array().to_vector<float>() == std::vector<float>(96, 0.25F));
}

TEST_CASE("MixedPrecision refuses what cannot work") {
  CHECK_THROWS_WITH_AS(MixedPrecision({.clip = 0}), "MixedPrecision: clip is 0 but must be positive", ValueError);
  {
    MixedRun run({.dtype = Dtype::float32}, 1);
    CHECK_THROWS_AS(run.trainer->run(false), ValueError);
  }
  {
    MixedRun run({}, 1);
    run.optimizer.set_loss_scale(4);
    CHECK_THROWS_AS(run.trainer->run(false), StateError);
    CHECK(run.optimizer.loss_scale() == 4);
  }
  {
    MixedRun run({}, 1);
    run.model.to(Dtype::float16);
    CHECK_THROWS_AS(run.trainer->run(false), TypeError);
  }
}

}  // namespace
}  // namespace kusari::testing
