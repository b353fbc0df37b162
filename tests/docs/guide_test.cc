// The programs of docs/guide.md, compiled and run. tests/docs/blocks_test.cc compares the texts.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/eigen.h"
#include "kusari/framework/kusari.h"
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

// --- data ----------------------------------------------------------------------------------------------------------

Array some_images(int64_t n) { return random::normal({n, 6}); }
Array some_labels(int64_t n) {
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < n; ++i) labels.push_back(static_cast<int32_t>(i % 3));
  return array<int32_t>(labels);
}

TEST_CASE("guide: models of several layers") {
  ResidualNet net(8, 3, 10);
  CHECK(net(random::normal({2, 3, 8, 8})).shape() == Shape{2, 10});
  CHECK(net.params().size() == 2 + 3 * 6 + 2);
}

TEST_CASE("guide: summary") {
  ResidualNet net(16, 2, 10);
  const ModelSummary what = summary(net, {zeros({1, 3, 32, 32})});
  std::printf("%s", what.text().c_str());
  CHECK(what.parameters == 9962);
  CHECK(what.rows[0].outputs == std::vector<Shape>{{1, 10}});
}

TEST_CASE("guide: a recurrent network is a loop") {
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

TEST_CASE("guide: freezing") {
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

TEST_CASE("guide: other rates") {
  auto model = L::classifier(Mlp(8, 3));
  optimizers::Adam optimizer({.alpha = 1e-3});
  optimizer.setup(model);
  for (Parameter* parameter : model.predictor.l1.params()) parameter->update_rule().hyperparam().alpha = 1e-5;
  optimizer.update(model, some_images(6), some_labels(6));
  CHECK(model.param("/predictor/l1/W").update_rule().hyperparam().alpha == 1e-5);
}

TEST_CASE("guide: early stopping") {
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

TEST_CASE("guide: class weights") {
  const Variable y = F::identity(random::normal({4, 3}));
  const Array t = array<int32_t>({0, 1, 2, -1});
  const Array weights = array<float>({1, 1, 5});  // of three classes, the last one rare
  const Variable loss = F::softmax_cross_entropy(y, t, {.class_weight = weights, .ignore_label = -1});
  CHECK(std::isfinite(loss.item<double>()));
}

TEST_CASE("guide: looking for NaN") {
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

TEST_CASE("guide: inference") {
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

TEST_CASE("guide: a loop that resumes") {
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

TEST_CASE("guide: arrays of others") {
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

}  // namespace
}  // namespace kusari
