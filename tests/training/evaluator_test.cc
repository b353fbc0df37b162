#include "kusari/framework/training/extensions/evaluator.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

using namespace kusari;
using extensions::Evaluator;
using iterators::SerialIterator;
using Values = DictSummary::Values;

namespace {

/// Reports the sum of its inputs, and from its child their number.
class Summing : public Chain {
 public:
  class Counter : public Link {
   public:
    void count(const Variable& x) { report({{"count", x.size()}}, *this); }
  };

  Summing() : counter{*this, "counter"} {}
  Variable operator()(const Variable& x) {
    was_training = config().train;
    was_recording = config().enable_backprop;
    Variable sum = functions::sum(x);
    report({{"sum", sum}}, *this);
    counter.count(x);
    return sum;
  }

  bool was_training = true, was_recording = true;
  Child<Counter> counter;
};

SerialIterator one_to_five() {
  return {datasets::TupleDataset(array({1.0f, 2.0f, 3.0f, 4.0f, 5.0f})), 2, {.repeat = false, .shuffle = false}};
}

}  // namespace

// Sums 1 + 2, 3 + 4 and 5, counts 2, 2 and 1: every batch has the same weight.
TEST_CASE("Evaluator averages over batches, in test mode and without a graph") {
  Summing model;
  Evaluator evaluator(one_to_five(), model);
  CHECK(evaluator() == Values{{"main/sum", 5}, {"main/counter/count", 5.0 / 3}});
  CHECK_FALSE(model.was_training);
  CHECK_FALSE(model.was_recording);
  CHECK(config().train);
  CHECK(config().enable_backprop);
  evaluator.set_name("mine");
  CHECK(evaluator()[0] == Values::value_type{"mine/main/sum", 5});  // the iterator is reset
}

TEST_CASE("Evaluator in a trainer reports under its name, once an epoch, before the readers") {
  const testing::ScratchDirectory dir;
  testing::FakeUpdater updater(2);
  training::Trainer trainer(updater, {2, "epoch"}, dir.path());
  Summing model;
  std::vector<std::vector<std::string>> seen;
  trainer.extend([&](training::Trainer& t) {
    seen.emplace_back();
    for (const auto& [key, value] : t.observation()) seen.back().push_back(key);
  });
  trainer.extend(Evaluator(one_to_five(), model));
  trainer.extend(Evaluator(one_to_five(), model), {.trigger = {3, "iteration"}});
  trainer.run();
  const std::vector<std::string> first{"validation/main/sum", "validation/main/counter/count"},
      second{"validation_1/main/sum", "validation_1/main/counter/count"};
  CHECK(seen == std::vector<std::vector<std::string>>{{}, first, second, first});
}

TEST_CASE("Evaluator: what the link in an AnyLink reports is the model's") {
  AnyLink model = Summing();
  Evaluator evaluator(one_to_five(), model);
  CHECK(evaluator() == Values{{"main/sum", 5}, {"main/counter/count", 5.0 / 3}});
}

TEST_CASE("Evaluator follows a model that moves, and says when it is gone") {
  auto model = std::make_unique<Summing>();
  Evaluator evaluator(one_to_five(), *model);
  Summing moved = std::move(*model);
  model.reset();
  CHECK(evaluator()[0].second == 5);
  CHECK(&evaluator.get_target() == &moved);
  { const Summing last = std::move(moved); }
  CHECK_THROWS_AS(evaluator(), StateError);
}

TEST_CASE("Evaluator's options") {
  Summing model;
  int hooks = 0;
  Evaluator evaluator(
      one_to_five(), model,
      {.converter = [](std::span<const datasets::Example> batch,
                       const Device& device) { return datasets::concat_examples(batch.first(1), device); },
       .eval_hook =
           [&](Evaluator& e) {
             ++hooks;
             CHECK(&e.get_target() == &model);
           },
       .eval_func =
           [&](const Variable& x) {
             report({{"first", x.item<float>()}}, model);
             return x;
           }});
  CHECK(evaluator() == Values{{"main/first", 3}});  // 1, 3, 5
  CHECK(hooks == 1);
}

TEST_CASE("Evaluator needs something to call") {
  class Mute : public Link {};
  Mute mute;
  CHECK_THROWS_WITH_AS(Evaluator(one_to_five(), mute), doctest::Contains("give an eval_func"), TypeError);
  Evaluator evaluator(one_to_five(), mute, {.eval_func = [](const Variable& x) { return x; }});
  CHECK(evaluator().empty());
}

TEST_CASE("Evaluator needs examples") {
  Summing model;
  Evaluator evaluator(SerialIterator(datasets::TupleDataset(zeros({0})), 2, {.repeat = false}), model);
  CHECK_THROWS_WITH_AS(evaluator(),
                       "Evaluator 'validation': the iterator gave a batch without examples: is its data set empty?",
                       ValueError);
}

TEST_CASE("an exception in an evaluation leaves no scope behind") {
  Summing model;
  Evaluator evaluator(one_to_five(), model, {.eval_func = [](const Variable& x) -> Variable {
                        throw ValueError("bad " + to_string(x.shape()));
                      }});
  CHECK_THROWS_WITH_AS(evaluator(), "bad (2,)", ValueError);
  CHECK(get_current_reporter() == nullptr);
  CHECK(config().train);
  CHECK(config().enable_backprop);
}
