// The programs of docs/how_to.md, compiled and run. tests/docs/blocks_test.cc compares the texts.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/eigen.h"
#include "kusari/framework/kusari.h"
#include "kusari/framework/testing/testing.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari {
namespace {

// --- models --------------------------------------------------------------------------------------------------------

class Residual : public Chain {
 public:
  explicit Residual(int64_t channels)
      : conv1{*this, "conv1", channels, channels, 3, {.pad = 1, .nobias = true}},
        conv2{*this, "conv2", channels, channels, 3, {.pad = 1, .nobias = true}},
        bn1{*this, "bn1", channels},
        bn2{*this, "bn2", channels} {}
  Variable operator()(const Variable& x) const { return bn2.add_relu(conv2(bn1.relu(conv1(x))), x); }

 private:
  Child<L::Convolution2D> conv1, conv2;
  Child<L::BatchNormalization> bn1, bn2;
};

class ResidualNet : public Chain {
 public:
  ResidualNet(int64_t channels, int64_t depth, int64_t classes)
      : stem{*this, "stem", kInfer, channels, 3, {.pad = 1}},
        blocks{*this, "blocks"},
        fc{*this, "fc", channels, classes} {
    for (int64_t i = 0; i < depth; ++i) blocks.append(Residual(channels));
  }
  Variable operator()(const Variable& x) const {
    Variable h = stem(x);
    for (const Residual& block : blocks) h = block(h);
    return fc(F::mean(h, Axes{2, 3}));
  }

 private:
  Child<L::Convolution2D> stem;
  Child<ChainList<Residual>> blocks;
  Child<L::Linear> fc;
};

class Elman : public Chain {
 public:
  Elman(int64_t words, int64_t units)
      : embed{*this, "embed", words, units},
        from_word{*this, "from_word", units, units},
        from_state{*this, "from_state", units, units, {.nobias = true}},
        out{*this, "out", units, words} {}

  void reset_state() { h = Variable(); }
  // Scores of the next word; remembers the state.
  Variable operator()(const Variable& word) {
    const Variable a = from_word(embed(word));
    h = F::tanh(h ? a + from_state(h) : a);
    return out(h);
  }

 private:
  Child<L::EmbedID> embed;
  Child<L::Linear> from_word, from_state, out;
  State h{*this, "h"};
};

class Mlp : public Chain {
 public:
  Mlp(int64_t units, int64_t classes) : l1{*this, "l1", kInfer, units}, l2{*this, "l2", units, classes} {}
  Variable operator()(const Variable& x) const { return l2(F::relu(l1(x))); }

  Child<L::Linear> l1, l2;
};

class Adapted : public Chain {
 public:
  explicit Adapted(const Mlp& trained)
      : l1{*this, "l1", trained.l1, {.rank = 4, .alpha = 8}}, l2{*this, "l2", trained.l2, {.rank = 2, .alpha = 4}} {}
  Variable operator()(const Variable& x) const { return l2(F::relu(l1(x))); }

  Child<L::LoraLinear> l1, l2;
};

// --- data ----------------------------------------------------------------------------------------------------------

Array some_images(int64_t n) { return random::normal({n, 6}); }
Array some_labels(int64_t n) {
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < n; ++i) labels.push_back(static_cast<int32_t>(i % 3));
  return array<int32_t>(labels);
}

TEST_CASE("how to: models of several layers") {
  ResidualNet net(8, 3, 10);
  CHECK(net(random::normal({2, 3, 8, 8})).shape() == Shape{2, 10});
  CHECK(net.params().size() == 2 + 3 * 6 + 2);
}

TEST_CASE("how to: summary") {
  ResidualNet net(16, 2, 10);
  const ModelSummary what = summary(net, {zeros({1, 3, 32, 32})});
  std::printf("%s", what.text().c_str());
  CHECK(what.parameters == 9962);
  CHECK(what.rows[0].outputs == std::vector<Shape>{{1, 10}});
}

TEST_CASE("how to: a recurrent network is a loop") {
  const int64_t length = 24;
  Elman model(5, 16);
  optimizers::Adam optimizer({.alpha = 0.02});
  optimizer.setup(model);
  std::vector<Array> words;
  for (int64_t t = 0; t <= length; ++t) words.push_back(array<int32_t>({static_cast<int32_t>(t % 5)}));
  double first = 0, last = 0;
  for (int sweep = 0; sweep < 40; ++sweep) {
    model.reset_state();
    Variable loss;
    for (int64_t t = 0; t < length; ++t) {
      const Variable step = F::softmax_cross_entropy(model(words[t]), words[t + 1]);
      loss = loss ? loss + step : step;
      if ((t + 1) % 8 == 0) {  // truncated backpropagation through time
        optimizer.update([&] { return loss; });
        loss.unchain_backward();
        (sweep == 0 ? first : last) = loss.item<double>();
        loss = Variable();
      }
    }
  }
  CHECK(last < 0.2 * first);
}

TEST_CASE("how to: freezing") {
  auto model = L::classifier(Mlp(8, 3));
  const Array x = some_images(6), t = some_labels(6);
  model(x, t);
  const auto before = model.param("/predictor/l1/W").array().copy().to_vector<float>();
  model.predictor.l1.disable_update();

  optimizers::MomentumSGD optimizer({.lr = 0.05, .momentum = 0.9});
  optimizer.setup(model);
  optimizer.update(model, x, t);
  CHECK(model.param("/predictor/l1/W").array().to_vector<float>() == before);

  model.predictor.l1.enable_update();
  optimizer.update(model, x, t);
  CHECK(model.param("/predictor/l1/W").array().to_vector<float>() != before);
}

TEST_CASE("how to: other rates") {
  auto model = L::classifier(Mlp(8, 3));
  optimizers::Adam optimizer({.alpha = 1e-3});
  optimizer.setup(model);
  for (Parameter* parameter : model.predictor.l1.params()) parameter->update_rule().hyperparam().alpha = 1e-5;
  optimizer.update(model, some_images(6), some_labels(6));
  CHECK(model.param("/predictor/l1/W").update_rule().hyperparam().alpha == 1e-5);
}

TEST_CASE("how to: early stopping") {
  const testing::ScratchDirectory scratch;
  const std::string out = scratch.path();
  auto model = L::classifier(Mlp(8, 3));
  optimizers::Adam optimizer;
  optimizer.setup(model);
  const datasets::TupleDataset train(some_images(30), some_labels(30)), test(some_images(9), some_labels(9));
  iterators::SerialIterator train_iter(train, 10);
  updaters::StandardUpdater updater(train_iter, optimizer);

  training::Trainer trainer(updater,
                            triggers::EarlyStoppingTrigger({.check_trigger = {1, "epoch"},
                                                            .monitor = "validation/main/loss",
                                                            .patience = 3,
                                                            .max_trigger = {5, "epoch"}}),
                            out);
  trainer.extend(
      extensions::Evaluator(iterators::SerialIterator(test, 10, {.repeat = false, .shuffle = false}), model));
  trainer.extend(extensions::snapshot_object(model, "best.npz"),
                 {.trigger = triggers::MinValueTrigger("validation/main/loss")});
  trainer.run();

  serializers::load_npz((std::filesystem::path(out) / "best.npz").string(), model);
  CHECK(updater.epoch() <= 5);
}

TEST_CASE("how to: class weights") {
  const Variable y = F::identity(random::normal({4, 3}));
  const Array t = array<int32_t>({0, 1, 2, -1});
  const Array weights = array<float>({1, 1, 5});  // of three classes, the last one rare
  const Variable loss = F::softmax_cross_entropy(y, t, {.class_weight = weights, .ignore_label = -1});
  CHECK(std::isfinite(loss.item<double>()));
}

TEST_CASE("how to: looking for NaN") {
  auto model = L::classifier(Mlp(8, 3));
  const Array x = full({2, 6}, std::numeric_limits<double>::quiet_NaN(), Dtype::float32), t = some_labels(2);
  std::string text;
  try {
    function_hooks::NanCheckHook check;
    const ScopedFunctionHook scope(check);
    model(x, t).backward();
  } catch (const Error& error) {
    text = error.what();
  }
  CHECK(text.find("NaN") != std::string::npos);
}

TEST_CASE("how to: inference") {
  auto model = L::classifier(Mlp(8, 3));
  const Array x = some_images(4);
  model(x, some_labels(4));
  const Mlp& trained = model.predictor;

  const auto test_mode = using_config(&Config::train, false);  // no dropout; stored statistics of normalizations
  const auto no_graph = no_backprop_mode();                    // nothing is kept for backward
  const Variable scores = trained(x);
  const std::vector<int> classes = F::argmax(scores, 1).to_vector<int>();
  CHECK(classes.size() == 4);
  CHECK(scores.creator() == nullptr);
}

// --- a loop of one's own that resumes ------------------------------------------------------------------------------

struct State {
  L::Classifier<Mlp>& model;
  optimizers::Adam& optimizer;
  iterators::SerialIterator& iterator;

  void serialize(Serializer& s) {
    model.serialize(*s.child("model"));
    optimizer.serialize(*s.child("optimizer"));
    iterator.serialize(*s.child("iterator"));
    random::serialize(*s.child("random"));
  }
};

std::vector<float> train(const datasets::TupleDataset& data, const std::string& path, int64_t from, int64_t to) {
  auto model = L::classifier(Mlp(8, 3));
  optimizers::Adam optimizer;
  optimizer.setup(model);
  iterators::SerialIterator iterator(data, 7);
  State state{model, optimizer, iterator};
  if (std::filesystem::exists(path)) serializers::load_npz(path, state);
  for (int64_t step = from; step < to; ++step) {
    const auto batch = datasets::concat_examples(iterator.next());
    optimizer.update([&] { return model(F::dropout(batch[0]), batch[1]); });
  }
  serializers::save_npz(path, state);  // appears whole or not at all
  return model.param("/predictor/l2/W").array().to_vector<float>();
}

TEST_CASE("how to: a loop that resumes") {
  const testing::ScratchDirectory scratch;
  random::seed(1);
  const datasets::TupleDataset data(some_images(30), some_labels(30));
  const std::string one = scratch / "one.npz", two = scratch / "two.npz";
  random::seed(5);
  const auto whole = train(data, one, 0, 20);
  random::seed(5);
  train(data, two, 0, 9);
  random::seed(77);  // what another process would start with
  CHECK(train(data, two, 9, 20) == whole);
}

TEST_CASE("how to: arrays of others") {
  Eigen::MatrixXf m(2, 3);
  m << 1, 2, 3, 4, 5, 6;
  const Array a = from_eigen(m);            // a copy, shape (2, 3)
  eigen_matrix<float>(a).row(0).setZero();  // writes into the array
  CHECK(a.to_vector<float>() == std::vector<float>{0, 0, 0, 4, 5, 6});

  dlpack::ManagedTensor* tensor = to_dlpack(a);  // for another library, without a copy
  const Array b = from_dlpack(tensor);           // from one; takes the tensor over
  CHECK(b.raw_data() == a.raw_data());

  std::vector<float> samples(6, 1.0F);
  const Array c = array(samples, {2, 3});  // a copy
  CHECK(c.shape() == Shape{2, 3});
}

// --- further answers -----------------------------------------------------------------------------------------------

class Tied : public Chain {
 public:
  Tied(int64_t words, int64_t units) : embed{*this, "embed", words, units} {}
  Variable operator()(const Variable& word) const { return F::linear(F::tanh(embed(word)), embed.W); }

  Child<L::EmbedID> embed;
};

class SquareTest : public testing::FunctionTestCase {
  Arrays generate_inputs() override { return {random::uniform({2, 3}, {.low = -1})}; }
  Variables forward(const Variables& x) override { return {F::square(x[0])}; }
  Arrays forward_expected(const Arrays& x) override { return {x[0] * x[0]}; }
};

TEST_CASE("how to: fine-tuning") {
  const testing::ScratchDirectory scratch;
  const std::string path = scratch / "trained.npz";
  Mlp trained(8, 3);
  trained(some_images(1));
  serializers::save_npz(path, trained);

  Mlp finetuned(8, 5);        // five classes, where the saved one has three
  finetuned(some_images(1));  // makes what the first batch decides
  const serializers::LoadReport loaded =
      serializers::load_npz(path, finetuned, {.strict = false, .skip_mismatched = true});
  for (const auto& entry : loaded.mismatched) std::printf("new: %s\n", entry.key.c_str());
  finetuned.l1.disable_update();

  CHECK(loaded.mismatched.size() == 2);
  CHECK(finetuned.l1.W.array().to_vector<float>() == trained.l1.W.array().to_vector<float>());
  CHECK_FALSE(finetuned.l1.update_enabled());
  CHECK(finetuned.l2.W.array().shape() == Shape{5, 8});
}

TEST_CASE("how to: a correction of low rank") {
  Mlp trained(8, 3);
  trained(some_images(1));
  const std::vector<float> before = trained.l1.W.array().to_vector<float>();
  auto adapted_model = L::classifier(Adapted(trained));
  Adapted& adapted = adapted_model.predictor;
  optimizers::Adam optimizer({.alpha = 0.05});
  optimizer.setup(adapted_model);
  const Variable x(some_images(9)), t(some_labels(9));
  const double first = adapted_model(x, t).item<double>();
  for (int i = 0; i < 20; ++i) optimizer.update(adapted_model, x, t);
  CHECK(adapted_model(x, t).item<double>() < 0.9 * first);
  CHECK(adapted.l1.base.W.array().to_vector<float>() == before);

  trained.l1 = adapted.l1.merge();
  trained.l2 = adapted.l2.merge();

  const std::vector<float> y = trained(x).to_vector<float>(), same = adapted(x).to_vector<float>();
  for (size_t i = 0; i < y.size(); ++i) CHECK(y[i] == doctest::Approx(same[i]).epsilon(1e-4));
}

TEST_CASE("how to: a part of a file") {
  const testing::ScratchDirectory scratch;
  const datasets::TupleDataset data(some_images(9), some_labels(9));
  auto model = L::classifier(Mlp(8, 3));
  optimizers::SGD optimizer;
  optimizer.setup(model);
  iterators::SerialIterator iterator(data, 3);
  updaters::StandardUpdater updater(iterator, optimizer);
  training::Trainer trainer(updater, {1, "epoch"}, scratch.path());
  trainer.run();
  const std::string snapshot = scratch / "snapshot.npz";
  serializers::save_npz(snapshot, trainer);

  Mlp predictor(8, 3);
  predictor(some_images(1));
  serializers::load_npz(snapshot, predictor, {.path = "updater/model:main/predictor", .ignore_names = {}});

  CHECK(predictor.l2.W.array().to_vector<float>() == model.predictor.l2.W.array().to_vector<float>());
}

TEST_CASE("how to: reproducibility") {
  random::seed(1);
  Mlp one(8, 3);
  const float first = one(some_images(2)).to_vector<float>()[0];
  random::seed(1);
  Mlp two(8, 3);

  CHECK(two(some_images(2)).to_vector<float>()[0] == first);
}

TEST_CASE("how to: several losses") {
  const datasets::TupleDataset data(some_images(12), some_labels(12));
  Mlp model(8, 3);
  optimizers::Adam optimizer;
  optimizer.setup(model);
  iterators::SerialIterator iterator(data, 4);

  auto loss_of = [&](const Variable& x, const Variable& t) {
    const Variable y = model(x);
    const Variable classes = F::softmax_cross_entropy(y, t), size = F::mean(F::square(y));
    report({{"classes", classes}, {"size", size}}, model);
    return classes + 0.01 * size;
  };
  updaters::StandardUpdater updater(iterator, optimizer, {.loss_func = loss_of});

  updater.update();
  CHECK(updater.iteration() == 1);
}

TEST_CASE("how to: accumulation") {
  const datasets::TupleDataset data(some_images(32), some_labels(32));
  auto model = L::classifier(Mlp(8, 3));
  optimizers::SGD optimizer;
  optimizer.setup(model);
  iterators::SerialIterator iterator(data, 4);

  updaters::StandardUpdater updater(iterator, optimizer, {.accumulate = 4});

  updater.update();
  CHECK(optimizer.t() == 1);
  model.cleargrads();
  for (int part = 0; part < 4; ++part) {
    const auto batch = datasets::concat_examples(iterator.next());
    (model(batch[0], batch[1]) / 4).backward();
  }
  optimizer.update();
  CHECK(optimizer.t() == 2);
}

TEST_CASE("how to: schedules") {
  const testing::ScratchDirectory scratch;
  const datasets::TupleDataset data(some_images(9), some_labels(9));
  auto model = L::classifier(Mlp(8, 3));
  optimizers::SGD optimizer({.lr = 0.5});
  optimizer.setup(model);
  iterators::SerialIterator iterator(data, 3);
  updaters::StandardUpdater updater(iterator, optimizer);
  training::Trainer trainer(updater, {26, "epoch"}, scratch.path());

  trainer.extend(extensions::ExponentialShift("lr", 0.5), {.trigger = {25, "epoch"}});
  trainer.extend(extensions::observe_lr());  // "lr" in the log

  trainer.run();
  CHECK(optimizer.lr == 0.25);
}

TEST_CASE("how to: epoch ends") {
  const testing::ScratchDirectory scratch;
  const datasets::TupleDataset data(some_images(9), some_labels(9));
  auto model = L::classifier(Mlp(8, 3));
  optimizers::SGD optimizer;
  optimizer.setup(model);
  iterators::SerialIterator iterator(data, 3);
  updaters::StandardUpdater updater(iterator, optimizer);
  training::Trainer trainer(updater, {2, "epoch"}, scratch.path());
  const auto norm_of = [](auto& m) { return F::sum(F::square(m.predictor.l2.W)).template item<double>(); };
  extensions::LogReport log;
  trainer.extend(log);

  trainer.extend(
      [&](training::Trainer& t) {
        report({{"norm", norm_of(model)}}, model);
        (void)t;
      },
      {.name = "norm", .trigger = {1, "epoch"}, .priority = training::kPriorityWriter});

  trainer.run();
  CHECK(log.last().at("main/norm") > 0);
}

TEST_CASE("how to: logging") {
  const testing::ScratchDirectory scratch;
  const datasets::TupleDataset data(some_images(9), some_labels(9));
  auto model = L::classifier(Mlp(8, 3));
  optimizers::SGD optimizer;
  optimizer.setup(model);
  iterators::SerialIterator iterator(data, 3);
  updaters::StandardUpdater updater(iterator, optimizer);
  training::Trainer trainer(updater, {100, "iteration"}, scratch.path());

  extensions::LogReport log({.trigger = {100, "iteration"}});
  trainer.extend(log);
  trainer.extend(extensions::PrintReport({"epoch", "iteration", "main/loss", "elapsed_time"}),
                 {.trigger = {100, "iteration"}});
  trainer.extend(extensions::ProgressBar());

  trainer.run();
  CHECK(log.last().at("main/loss") > 0);
  CHECK(std::filesystem::exists(scratch / "log"));
}

TEST_CASE("how to: curves") {
  const testing::ScratchDirectory scratch;
  const datasets::TupleDataset data(some_images(9), some_labels(9));
  auto model = L::classifier(Mlp(8, 3));
  optimizers::SGD optimizer;
  optimizer.setup(model);
  iterators::SerialIterator iterator(data, 3);
  updaters::StandardUpdater updater(iterator, optimizer);
  training::Trainer trainer(updater, {2, "epoch"}, scratch.path());
  trainer.extend(extensions::LogReport());

  trainer.extend(extensions::PlotReport({"main/loss", "validation/main/loss"}, "epoch", {.filename = "loss.png"}));
  trainer.extend(extensions::HtmlReport({.title = "My run"}));
  trainer.extend(extensions::TensorBoardReport());

  trainer.run();
  CHECK(std::filesystem::exists(scratch / "report.html"));
}

TEST_CASE("how to: sharing") {
  Tied model(5, 4);
  CHECK(model(array<int32_t>({1, 2})).shape() == Shape{2, 5});
  CHECK(model.params().size() == 1);
}

TEST_CASE("how to: counting") {
  Mlp model(8, 3);
  model(some_images(1));

  int64_t trainable = 0;
  for (const auto& [path, parameter] : model.namedparams()) {
    std::printf("%s %s\n", path.c_str(), to_string(parameter->shape()).c_str());
    if (parameter->update_enabled()) trainable += parameter->size();
  }

  CHECK(trainable == 6 * 8 + 8 + 8 * 3 + 3);
  CHECK(trainable == model.count_params());
}

TEST_CASE("how to: hooks") {
  auto model = L::classifier(Mlp(8, 3));
  optimizers::Adam optimizer;
  optimizer.setup(model);

  optimizer.add_hook(optimizer_hooks::WeightDecay(1e-4));
  optimizer.add_hook(optimizer_hooks::GradientClipping(5.0));

  optimizer.update(model, some_images(3), some_labels(3));
  CHECK(optimizer.t() == 1);
}

TEST_CASE("how to: validation") {
  const datasets::TupleDataset data(some_images(20), some_labels(20));

  const auto [train, valid] = datasets::split_dataset_random(data, data.size() * 9 / 10, 0);
  for (const auto& [fold_train, fold_valid] : datasets::get_cross_validation_datasets_random(data, 5, 0)) {
    std::printf("%d and %d\n", static_cast<int>(fold_train.size()), static_cast<int>(fold_valid.size()));
  }

  CHECK(train.size() == 18);
  CHECK(valid.size() == 2);
}

TEST_CASE("how to: tables") {
  const datasets::TabularView table = datasets::from_data({{"x", some_images(4)}, {"t", some_labels(4)}});
  const datasets::TabularView doubled =
      table.slice({}, datasets::Keys{"x"}).transform({"twice"}, [](const datasets::Example& e) {
        return datasets::Example{e[0] * 2};
      });
  iterators::SerialIterator iterator(table.join({doubled}).asdict(), 2);

  CHECK(iterator.keys() == datasets::Keys{"x", "t", "twice"});
}

TEST_CASE("how to: memory") {
  Mlp model(8, 3);
  const Variable x(some_images(2));

  const Variable y = F::forget([&](const Variable& h) { return model(h); }, x);
  std::printf("%s", memory::summary().c_str());

  CHECK(y.shape() == Shape{2, 3});
}

TEST_CASE("how to: threads") {
  Mlp model(8, 3);
  model(some_images(1));
  const std::vector<Array> inputs{some_images(1), some_images(1)};
  std::vector<int> classes(2, -1);

  std::vector<std::thread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&, i] {
      const auto no_graph = no_backprop_mode();  // settings are those of a thread
      classes[static_cast<size_t>(i)] = F::argmax(model(inputs[static_cast<size_t>(i)]), 1).item<int>();
    });
  }
  for (std::thread& worker : workers) worker.join();

  for (const int c : classes) CHECK((c >= 0 && c < 3));
}

TEST_CASE("how to: derivatives of derivatives") {
  const Variable x(array<double>({1, 2})), v(array<double>({1, 0}));

  const Variable y = x * x * x;
  const Array J = F::jacobian(y, x).array();  // a row for each element of y
  const Variables Hv = F::hessian_vector_product(F::sum(y), {&x, 1}, {&v, 1});

  CHECK(J.to_vector<double>() == std::vector<double>{3, 0, 0, 12});
  CHECK(Hv[0].to_vector<double>() == std::vector<double>{6, 0});
}

TEST_CASE("how to: tests") { CHECK_NOTHROW(SquareTest().run()); }

}  // namespace
}  // namespace kusari
