#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/transform_dataset.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/iterators/multiprocess_iterator.h"
#include "kusari/iterators/multithread_iterator.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

using namespace kusari;
using datasets::Example;
using datasets::TupleDataset;
using iterators::Batch;
using iterators::SerialIterator;
using updaters::StandardUpdater;
using updaters::StandardUpdaterOptions;

namespace {

class PrefetchNet : public Chain {
 public:
  PrefetchNet() : l1{*this, "l1", 3, 4}, l2{*this, "l2", 4, 1} {}
  Variable operator()(const Variable& x, const Variable& t) {
    return functions::mean_squared_error(l2(functions::dropout(l1(x), 0.25)), t);
  }

 private:
  Child<L::Linear> l1, l2;
};

TupleDataset prefetch_points(int64_t n = 7) {
  std::vector<float> x(static_cast<size_t>(n * 3)), t(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.1f * static_cast<float>(i * i % 17) - 0.5f;
  for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<float>(i % 3);
  return TupleDataset(array(x, {n, 3}), array(t, {n, 1}));
}

/// Both steps draw, from the streams of the examples and from the thread's.
datasets::Converter random_converter() {
  return {[](std::span<const Example> batch, const Device& device) {
            Example arrays = datasets::concat_converter().upload(batch, device);
            auto stream = datasets::ExampleRandomScope::stream(1);
            arrays.push_back(array({stream.uniform(), static_cast<double>(random::bits() % 7)}));
            return arrays;
          },
          [](Example arrays) {
            const Array shift = arrays.back();
            arrays.pop_back();
            const std::vector<double> by = shift.to_vector<double>();
            auto stream = datasets::ExampleRandomScope::stream(2);
            std::vector<float> x = arrays[0].to_vector<float>();
            for (float& v : x) v += static_cast<float>(0.1 * by[0] + 0.01 * by[1] + 0.1 * stream.uniform());
            arrays[0] = array(x, arrays[0].shape());
            return arrays;
          }};
}

enum class Kind { serial, threads, processes };

/// One training run, with all that may be random in it.
struct PrefetchRun {
  explicit PrefetchRun(uint64_t seed, StandardUpdaterOptions options = {}, Kind kind = Kind::serial) : seeded{seed} {
    options.converter = random_converter();
    optimizer.setup(model);
    datasets::TransformDataset data(prefetch_points(), [](const Example& in, datasets::ExampleRandom& random) {
      return Example{array({static_cast<float>(random.uniform()), 1.0f, in[0].to_vector<float>()[2]}), in[1]};
    });
    const auto make = [&]() -> iterators::IteratorRef {
      if (kind == Kind::threads) {
        return iterators::MultithreadIterator(std::move(data), 2, {.n_threads = 3, .n_prefetch = 2});
      }
      if (kind == Kind::processes) return iterators::MultiprocessIterator(std::move(data), 2, {.n_processes = 2});
      return SerialIterator(std::move(data), 2);
    };
    updater.emplace(make(), optimizer, options);
  }
  /// What a step leaves behind.
  std::vector<double> step() {
    updater->update();
    std::vector<double> state{static_cast<double>(updater->iteration()), static_cast<double>(updater->epoch()),
                              updater->epoch_detail(), updater->previous_epoch_detail().value_or(-1),
                              static_cast<double>(updater->is_new_epoch())};
    for (Parameter* parameter : model.params()) {
      for (const double v : parameter->array().to_vector<double>()) state.push_back(v);
    }
    return state;
  }

  struct Seeded {
    explicit Seeded(uint64_t seed) { random::seed(seed); }
  } seeded;  // before the model draws its weights
  PrefetchNet model;
  optimizers::MomentumSGD optimizer{0.05};
  std::optional<StandardUpdater> updater;
};

std::vector<std::vector<double>> steps(PrefetchRun& run, int n) {
  std::vector<std::vector<double>> states;
  for (int i = 0; i < n; ++i) states.push_back(run.step());
  return states;
}

/// Counts what a converter does, in order: "u3" for the upload of the batch whose first example is 3, "f3" for finish.
struct Traced {
  datasets::Converter converter() {
    return {[this](std::span<const Example> batch, const Device& device) {
              const auto first = batch[0][0].to_vector<float>()[0];
              if (on_upload) on_upload(static_cast<int>(first));
              events.push_back("u" + std::to_string(static_cast<int>(first)));
              return datasets::concat_converter().upload(batch, device);
            },
            [this](Example arrays) {
              events.push_back("f" + std::to_string(static_cast<int>(arrays[0].to_vector<float>()[0])));
              return arrays;
            }};
  }
  std::vector<std::string> take() { return std::exchange(events, {}); }

  std::vector<std::string> events;
  std::function<void(int)> on_upload;
};
using Events = std::vector<std::string>;

/// loss = w x^2.
class Square : public Chain {
 public:
  Square() : l{*this, "l", 1, 1, {.nobias = true, .initial_w = 1}} {}
  Variable operator()(const Variable& x) { return functions::mean_squared_error(l(x), x); }

 private:
  Child<L::Linear> l;
};

TupleDataset counting(int n) {
  std::vector<float> x;
  for (int i = 0; i < n; ++i) x.push_back(static_cast<float>(i));
  return TupleDataset(array(x, {n, 1}));
}

/// A SerialIterator that can be told to fail, or not to look ahead.
class Moody final : public iterators::Iterator {
 public:
  explicit Moody(int n, bool repeat = true) : inner_{counting(n), 1, {.repeat = repeat, .shuffle = false}} {}
  const Batch* try_next() override { return inner_.try_next(); }
  const Batch* peek(int64_t ahead, bool wait) override {
    if (!peeks) return nullptr;
    if (failures > 0) {
      --failures;
      throw IoError("no peeking");
    }
    return inner_.peek(ahead, wait || is_loaded);
  }
  void prefer_device(const Device& device) override { preferred = device; }
  int64_t epoch() const override { return inner_.epoch(); }
  double epoch_detail() const override { return inner_.epoch_detail(); }
  std::optional<double> previous_epoch_detail() const override { return inner_.previous_epoch_detail(); }
  bool is_new_epoch() const override { return inner_.is_new_epoch(); }
  bool repeat() const override { return inner_.repeat(); }
  void reset() override { inner_.reset(); }
  void serialize(Serializer& serializer) override { inner_.serialize(serializer); }

  bool peeks = true;
  bool is_loaded = true;  // as if workers had loaded all that may be asked for
  int failures = 0;
  std::optional<Device> preferred;

 private:
  SerialIterator inner_;
};

}  // namespace

TEST_CASE("prefetch changes nothing, whatever is random") {
  for (const int64_t accumulate : {1, 2}) {
    PrefetchRun plain(5, {.accumulate = accumulate});
    const auto expected = steps(plain, 12);
    for (const Kind kind : {Kind::serial, Kind::threads, Kind::processes}) {
      for (const int64_t prefetch : {0, 1, 2, 5}) {
        CAPTURE(accumulate);
        CAPTURE(static_cast<int>(kind));
        CAPTURE(prefetch);
        PrefetchRun run(5, {.prefetch = prefetch, .accumulate = accumulate}, kind);
        CHECK(steps(run, 12) == expected);
      }
    }
  }
  PrefetchRun other(6);
  PrefetchRun plain(5);
  CHECK(steps(other, 3) != steps(plain, 3));
}

TEST_CASE("prefetch changes nothing when others use the iterator, and when steps fail") {
  const auto train = [](Kind kind, int64_t prefetch) {
    bool fails = false;
    PrefetchNet* model = nullptr;
    const auto loss = [&](const Variable& x, const Variable& t) {
      if (fails) throw ValueError("a bad step");
      return (*model)(x, t);
    };
    PrefetchRun run(5, {.loss_func = loss, .prefetch = prefetch}, kind);
    model = &run.model;
    iterators::Iterator& iterator = run.updater->get_iterator("main");
    std::vector<std::vector<double>> states = steps(run, 2);
    const auto go_on = [&](int n) {
      for (auto& state : steps(run, n)) states.push_back(std::move(state));
    };
    iterator.next();
    go_on(1);
    iterator.next();
    iterator.next();
    go_on(2);
    iterator.reset();
    go_on(2);
    fails = true;
    CHECK_THROWS_WITH_AS(run.updater->update(), "a bad step", ValueError);
    fails = false;
    go_on(2);
    iterator.next();
    iterator.reset();
    fails = true;
    CHECK_THROWS_WITH_AS(run.updater->update(), "a bad step", ValueError);
    fails = false;
    iterator.next();
    go_on(4);
    if (kind == Kind::serial) {
      run.updater->finalize();  // as at the end of Trainer::run
      go_on(3);
    }
    return states;
  };
  for (const Kind kind : {Kind::serial, Kind::threads, Kind::processes}) {
    CAPTURE(static_cast<int>(kind));
    const auto expected = train(kind, 0);
    for (const int64_t prefetch : {1, 2, 5}) {
      CAPTURE(prefetch);
      CHECK(train(kind, prefetch) == expected);
    }
  }
}

TEST_CASE("a snapshot taken with batches in flight resumes exactly") {
  struct Snapshot {
    StandardUpdater& updater;
    void serialize(Serializer& serializer) {
      updater.serialize(*serializer.child("updater"));
      random::serialize(*serializer.child("random"));
    }
  };
  const testing::ScratchDirectory dir;
  for (const Kind kind : {Kind::serial, Kind::threads, Kind::processes}) {
    for (const int64_t accumulate : {1, 3}) {
      PrefetchRun plain(5, {.accumulate = accumulate}, kind);
      const auto expected = steps(plain, 12);
      for (int stop = 1; stop < 9; ++stop) {
        PrefetchRun first(5, {.prefetch = 3, .accumulate = accumulate}, kind);
        steps(first, stop);
        Snapshot taken{*first.updater};
        serializers::save_npz(dir / "snapshot", taken);
        CHECK(first.step() == expected[static_cast<size_t>(stop)]);  // a snapshot disturbs nothing
        for (const int64_t prefetch : {0, 2}) {
          CAPTURE(static_cast<int>(kind));
          CAPTURE(accumulate);
          CAPTURE(stop);
          CAPTURE(prefetch);
          PrefetchRun second(77, {.prefetch = prefetch, .accumulate = accumulate}, kind);
          steps(second, 2);  // has batches of its own in flight
          Snapshot read{*second.updater};
          serializers::load_npz(dir / "snapshot", read);
          CHECK(second.updater->previous_epoch_detail() == expected[static_cast<size_t>(stop) - 1][3]);
          CHECK(second.updater->is_new_epoch() == (expected[static_cast<size_t>(stop) - 1][4] == 1));
          for (int i = stop; i < stop + 3; ++i) CHECK(second.step() == expected[static_cast<size_t>(i)]);
        }
      }
    }
  }
}

TEST_CASE("batches are sent ahead of their turn, and their epochs are those of the batch in turn") {
  Traced traced;
  Square model;
  optimizers::MomentumSGD optimizer(0.01);
  optimizer.setup(model);
  Moody iterator(4);
  StandardUpdater updater(iterator, optimizer, {.converter = traced.converter(), .prefetch = 2});
  CHECK(iterator.preferred == Device());
  CHECK(traced.take().empty());  // nothing is loaded before the first step
  updater.update();
  CHECK(traced.take() == Events{"u0", "f0", "u1", "u2"});
  CHECK(updater.epoch_detail() == 0.25);
  updater.update();
  CHECK(traced.take() == Events{"f1", "u3"});
  updater.update();
  CHECK(traced.take() == Events{"f2", "u0"});
  CHECK_FALSE(updater.is_new_epoch());
  updater.update();
  CHECK(traced.take() == Events{"f3", "u1"});
  CHECK(updater.is_new_epoch());
  CHECK(optimizer.epoch() == 1);

  SUBCASE("somebody else takes a batch") {
    CHECK(iterator.next()[0][0].to_vector<float>()[0] == 0);
    updater.update();
    CHECK(traced.take() == Events{"u1", "f1", "u2", "u3"});  // what was sent was for other random numbers
  }
  SUBCASE("somebody else resets the iterator") {
    updater.update();
    traced.take();
    iterator.reset();
    updater.update();
    CHECK(traced.take() == Events{"u0", "f0", "u1", "u2"});
    CHECK(updater.epoch_detail() == 0.25);
  }
  SUBCASE("the end") {
    updater.finalize();
    CHECK(updater.iteration() == 4);
  }
}

TEST_CASE("only the very next batch is waited for") {
  Square model;
  optimizers::MomentumSGD optimizer(0.01);
  optimizer.setup(model);
  Traced traced;
  Moody iterator(4);
  StandardUpdater updater(iterator, optimizer, {.converter = traced.converter(), .prefetch = 2});
  iterator.is_loaded = false;
  updater.update();
  CHECK(traced.take() == Events{"u0", "f0", "u1"});
  iterator.is_loaded = true;
  updater.update();
  CHECK(traced.take() == Events{"f1", "u2", "u3"});
}

TEST_CASE("what goes wrong ahead is thrown in its turn") {
  Traced traced;
  Square model;
  optimizers::MomentumSGD optimizer(0.01);
  optimizer.setup(model);
  Moody iterator(4);
  StandardUpdater updater(iterator, optimizer, {.converter = traced.converter(), .prefetch = 2});
  SUBCASE("in the converter") {
    int left = 3;  // twice ahead, once in its turn
    traced.on_upload = [&](int first) {
      if (first == 2 && left-- > 0) throw ValueError("two");
    };
    updater.update();
    CHECK(traced.take() == Events{"u0", "f0", "u1"});
    updater.update();
    CHECK(traced.take() == Events{"f1"});
    CHECK_THROWS_WITH_AS(updater.update(), "two", ValueError);
    CHECK(updater.iteration() == 2);
    CHECK(updater.epoch_detail() == 0.75);  // that batch is lost, as without prefetch
    updater.update();
    CHECK(traced.take() == Events{"u3", "f3", "u0", "u1"});
  }
  SUBCASE("in the iterator") {
    updater.update();
    traced.take();
    iterator.failures = 1;
    updater.update();
    CHECK(traced.take() == Events{"f1"});
    updater.update();
    CHECK(traced.take() == Events{"f2", "u3", "u0"});
  }
}

TEST_CASE("prefetch needs an iterator that can look ahead") {
  Square model;
  optimizers::MomentumSGD optimizer(0.01);
  optimizer.setup(model);
  Moody iterator(4);
  iterator.peeks = false;
  StandardUpdater plain(iterator, optimizer);
  plain.update();
  StandardUpdater updater(iterator, optimizer, {.prefetch = 2});
  CHECK_THROWS_WITH_AS(
      updater.update(),
      "StandardUpdater: prefetch is 2, but the iterator 'main' cannot look ahead: its peek() gives nothing",
      ValueError);
  CHECK_THROWS_WITH_AS(StandardUpdater(iterator, optimizer, {.prefetch = -1}),
                       "StandardUpdater: prefetch is -1 and accumulate is 1: they must be at least 0 and 1",
                       ValueError);
}

TEST_CASE("prefetch stops where an iterator without repeat does") {
  Square model;
  optimizers::MomentumSGD optimizer(0.01);
  optimizer.setup(model);
  Traced traced;
  StandardUpdater updater(Moody(3, false), optimizer, {.converter = traced.converter(), .prefetch = 2});
  for (int i = 0; i < 3; ++i) updater.update();
  CHECK(traced.take() == Events{"u0", "f0", "u1", "u2", "f1", "f2"});
  CHECK(updater.is_new_epoch());
  CHECK_THROWS_AS(updater.update(), StateError);
  CHECK(updater.iteration() == 3);
}

TEST_CASE("an updater of one's own prefetches from several iterators") {
  struct Both final : StandardUpdater {
    using StandardUpdater::StandardUpdater;
    void update_core() override {
      for (const char* name : {"main", "second", "main"}) {
        const Variables inputs = next_inputs(name);
        taken.push_back(inputs[0].to_vector<float>()[0]);
      }
    }
    std::vector<float> taken;
  };
  Square model;
  optimizers::MomentumSGD optimizer(0.01);
  optimizer.setup(model);
  for (const int64_t prefetch : {0, 1, 3}) {
    Moody main(4), second(3);
    Traced traced;
    Both updater({{"second", second}, {"main", main}}, {{"main", optimizer}},
                 {.converter = traced.converter(), .prefetch = prefetch});
    for (int i = 0; i < 3; ++i) updater.update();
    CHECK(updater.taken == std::vector<float>{0, 0, 1, 2, 1, 3, 0, 2, 1});
    CHECK(updater.previous_epoch_detail() == 1);  // before both batches of the last step
    CHECK_FALSE(updater.is_new_epoch());
    updater.update();
    CHECK(updater.is_new_epoch());
    CHECK(updater.previous_epoch_detail() == 1.5);
  }
}
