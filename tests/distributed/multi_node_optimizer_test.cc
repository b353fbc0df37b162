#include "kusari/framework/distributed/multi_node_optimizer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "kusari/framework/amp/grad_scaler.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/distributed/links/multi_node_batch_normalization.h"
#include "kusari/framework/distributed/run_ranks.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/rnn/lstm.h"
#include "kusari/framework/serializers/dictionary_message.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/distributed/small_models.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari::testing {
namespace {

using distributed::Communicator;
using distributed::create_multi_node_optimizer;
using distributed::run_ranks;

using Values = std::vector<double>;

class TestLstm : public Chain {
 public:
  TestLstm() : lstm{*this, "lstm", 5, 12}, out{*this, "out", 12, 10} {}
  /// x: (batch, times, 5).
  Variable operator()(const Variable& x) {
    lstm.reset_state();
    const Variable hs = lstm.sequence(functions::transpose(x, {1, 0, 2}));
    return out(functions::get_item(hs, {-1}));
  }

  Child<links::LSTM> lstm;
  Child<links::Linear> out;
};

class TestNormalizedCnn : public Chain {
 public:
  explicit TestNormalizedCnn(const Communicator& comm)
      : conv{*this, "conv", 3, 8, 3, {.stride = 2}}, bn{*this, "bn", 8, comm}, fc{*this, "fc", kInfer, 10} {}
  Variable operator()(const Variable& x) { return fc(functions::relu(bn(conv(x)))); }

  Child<links::Convolution2D> conv;
  Child<distributed::MultiNodeBatchNormalization> bn;
  Child<links::Linear> fc;
};

template <class Model>
Model make_model(const Communicator& comm) {
  if constexpr (std::is_constructible_v<Model, const Communicator&>) {
    return Model(comm);
  } else {
    return Model();
  }
}

/// Parameters of each rank after `steps` steps with its part of each batch of `n` examples.
template <class Model, class Optimizer>
std::vector<Values> train(int ranks, int64_t n, int steps, Shape shape, const std::function<Optimizer()>& make,
                          const std::string& communicator = "auto",
                          const distributed::CommunicatorOptions& options = {}) {
  std::vector<Values> results(static_cast<size_t>(ranks));
  random::seed(7);
  run_ranks(ranks, [&](Communicator& world) {
    const Communicator comm(world.shared_group(), communicator, options);
    auto model = links::classifier(make_model<Model>(comm));
    auto optimizer = create_multi_node_optimizer(make(), comm);
    optimizer.setup(model);
    for (int step = 0; step < steps; ++step) {
      const TestBatch batch = test_batch(n, shape, step, get_dtype()).part(comm.rank(), comm.size());
      optimizer.update(model, Variable(batch.x, false), Variable(batch.t, false));
    }
    CHECK(optimizer.t() == steps);
    results[static_cast<size_t>(comm.rank())] = values_of(model);
  });
  return results;
}

TEST_CASE("multi-node optimizer: several ranks take the steps of one with the whole batch") {
  const auto sgd = [] { return optimizers::MomentumSGD(0.1, 0.9); };
  const auto adam = [] { return optimizers::Adam(); };
  struct Case {
    const char* name;
    std::function<std::vector<Values>(int ranks)> train;
  };
  const Case cases[] = {
      {"MLP, momentum", [&](int ranks) { return train<TestMlp, optimizers::MomentumSGD>(ranks, 26, 50, {12}, sgd); }},
      {"MLP, Adam", [&](int ranks) { return train<TestMlp, optimizers::Adam>(ranks, 24, 50, {12}, adam); }},
      {"CNN, momentum",
       [&](int ranks) {
         return train<TestCnn, optimizers::MomentumSGD>(ranks, 13, 50, {3, 9, 9}, sgd);
       }},
      {"CNN with synchronized batch normalization, momentum",
       [&](int ranks) {
         return train<TestNormalizedCnn, optimizers::MomentumSGD>(ranks, 13, 50, {3, 9, 9}, sgd);
       }},
      {"LSTM, momentum",
       [&](int ranks) {
         return train<TestLstm, optimizers::MomentumSGD>(ranks, 13, 50, {6, 5}, sgd);
       }},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      CAPTURE(name(dtype));
      const auto config = using_config(&Config::dtype, dtype);
      const Values one = c.train(1)[0];
      for (const int ranks : {2, 3, 4}) {
        CAPTURE(ranks);
        const std::vector<Values> all = c.train(ranks);
        const double bound = dtype == Dtype::float64 ? 1e-12 : 1e-5;
        CHECK(difference(one, all[0]) <= bound);
        for (const Values& values : all) CHECK(values == all[0]);
        if (ranks == 3) CHECK(c.train(ranks)[0] == all[0]);  // a second run: the same bits
      }
    }
  }
}

TEST_CASE("multi-node optimizer: with one rank nothing changes") {
  const auto plain = [](bool is_multi_node) {
    random::seed(3);
    auto model = links::classifier(TestMlp());
    optimizers::Adam optimizer;
    optimizer.setup(model);
    if (is_multi_node) {
      CHECK(&create_multi_node_optimizer(optimizer, distributed::create_communicator()) == &optimizer);
    }
    for (int step = 0; step < 5; ++step) {
      const TestBatch batch = test_batch(9, {7}, step);
      optimizer.update([&] { return model(functions::dropout(Variable(batch.x, false)), Variable(batch.t, false)); });
    }
    return values_of(model);
  };
  CHECK(plain(true) == plain(false));
}

/// 24 layers of 256 KiB.
class TestDeepMlp : public Chain {
 public:
  TestDeepMlp() : layers{*this, "layers"}, out{*this, "out", 256, 10} {
    for (int i = 0; i < 24; ++i) layers.append(links::Linear(256, 256));
  }
  Variable operator()(const Variable& x) {
    Variable h = x;
    for (size_t i = 0; i < layers.size(); ++i) h = functions::relu(layers[i](h));
    return out(h);
  }

  Child<ChainList<links::Linear>> layers;
  Child<links::Linear> out;
};

// Without buckets an exchange would hold the gradients of the whole model once more: 6 MiB.
TEST_CASE("multi-node optimizer: an exchange holds little more than a bucket") {
  constexpr int64_t kBucket = 1 << 20, kMore = 1 << 20;
  const auto peak = [](bool exchanges) {
    int64_t most = 0;
    run_ranks(2, [&](Communicator& comm) {
      auto model = links::classifier(TestDeepMlp());
      optimizers::SGD optimizer;
      if (exchanges) create_multi_node_optimizer(optimizer, comm, {.bucket_bytes = kBucket});
      optimizer.setup(model);
      const TestBatch batch = test_batch(4, {256}, 0);
      const auto step = [&] {
        optimizer.update([&] { return model(Variable(batch.x, false), Variable(batch.t, false)); });
      };
      for (int i = 0; i < 3; ++i) step();
      comm.barrier();
      memory::reset_max_allocated();
      comm.barrier();
      for (int i = 0; i < 3; ++i) step();
      comm.barrier();
      if (comm.is_root()) most = memory::statistics().max_allocated;
    });
    return most;
  };
  CHECK(peak(true) - peak(false) <= 2 * (kBucket + kMore));  // of two ranks
}

TEST_CASE("multi-node optimizer: buckets of any size give the same bits") {
  const auto sgd = [] { return optimizers::MomentumSGD(0.1, 0.9); };
  const auto with = [&](const std::string& name) {
    return train<TestMlp, optimizers::MomentumSGD>(3, 12, 5, {8}, sgd, name)[0];
  };
  const Values reference = with("auto");
  for (const char* name : {"naive", "flat", "pure_nccl", "non_cuda_aware"}) {
    CAPTURE(name);
    CHECK(with(name) == reference);
  }
  const std::vector<Values> alone = train<TestMlp, optimizers::MomentumSGD>(2, 12, 5, {8}, sgd, "dummy");
  CHECK(alone[0] != alone[1]);  // it exchanges nothing
}

TEST_CASE("multi-node optimizer: gradients that travel in 16 bits are sums in float32") {
  const auto sgd = [] { return optimizers::SGD(0.1); };
  const Values exact = train<TestMlp, optimizers::SGD>(4, 12, 10, {8}, sgd)[0];
  for (const Dtype wire : {Dtype::float16, Dtype::bfloat16}) {
    const std::vector<Values> all =
        train<TestMlp, optimizers::SGD>(4, 12, 10, {8}, sgd, "auto", {.allreduce_grad_dtype = wire});
    for (const Values& values : all) CHECK(values == all[0]);
    CHECK(all[0] != exact);
    CHECK(difference(exact, all[0]) < (wire == Dtype::float16 ? 1e-3 : 1e-2));
  }
  // Sums of what float16 just holds would overflow.
  run_ranks(4, [](Communicator& world) {
    const Communicator comm(world.shared_group(), "auto", {.allreduce_grad_dtype = Dtype::float16});
    TestMlp model;
    model(Variable(test_batch(2, {3}, 0).x, false));
    for (Parameter* parameter : model.params()) parameter->set_grad(full_like(parameter->array(), 60000));
    comm.multi_node_mean_grad(model);
    for (Parameter* parameter : model.params()) {
      for (const double g : parameter->grad().to_vector<double>()) REQUIRE(g == 60000);
    }
  });
}

TEST_CASE("multi-node optimizer: all ranks begin with the root's values, and no gradient is lost") {
  // Each rank has made other parameters, in the optimizer's setup or by hand.
  for (const bool is_late : {false, true}) {
    CAPTURE(is_late);
    std::vector<Values> begun(3), stepped(3);
    run_ranks(3, [&](Communicator& comm) {
      const auto rank = static_cast<size_t>(comm.rank());
      random::seed(100 + rank);
      auto model = links::classifier(TestMlp());
      const TestBatch batch = test_batch(12, {8}, 0).part(comm.rank(), comm.size());
      const Variable x(batch.x, false), t(batch.t, false);
      if (!is_late) model(x, t);
      optimizers::SGD optimizer(0.1);
      optimizer.setup(model);
      create_multi_node_optimizer(optimizer, comm);
      if (is_late) {
        random::seed(100 + rank);  // as if a program had drawn other numbers
        model(x, t);
      }
      begun[rank] = values_of(model);
      optimizer.update(model, x, t);
      stepped[rank] = values_of(model);
      CHECK(optimizer.t() == 1);
    });
    CHECK(stepped[1] == stepped[0]);
    CHECK(stepped[2] == stepped[0]);
    CHECK(stepped[0] != begun[0]);
    CHECK((begun[1] == begun[0]) == !is_late);
    // The step from the root's values with the root's part, or with the whole batch.
    random::seed(100);
    auto model = links::classifier(TestMlp());
    const TestBatch whole = test_batch(12, {8}, 0);
    const TestBatch batch = is_late ? whole.part(0, 3) : whole;
    const Variable x(batch.x, false), t(batch.t, false);
    if (is_late) random::seed(100);
    model(x, t);
    CHECK(values_of(model) == begun[0]);
    optimizers::SGD optimizer(0.1);
    optimizer.setup(model);
    optimizer.update(model, x, t);
    CHECK(difference(values_of(model), stepped[0]) < 1e-6);
  }
}

TEST_CASE("multi-node optimizer: what one rank loads, all have") {
  run_ranks(2, [](Communicator& comm) {
    auto model = links::classifier(TestMlp());
    auto optimizer = create_multi_node_optimizer(optimizers::Adam(), comm);
    optimizer.setup(model);
    const auto step = [&](int number) {
      const TestBatch batch = test_batch(8, {5}, number).part(comm.rank(), 2);
      optimizer.update(model, Variable(batch.x, false), Variable(batch.t, false));
    };
    step(0);
    serializers::DictionarySerializer saved;
    model.serialize(*saved.child("model"));
    optimizer.serialize(*saved.child("optimizer"));
    const serializers::Dictionary kept = serializers::copied(saved.dictionary());
    step(1);
    const Values once = values_of(model);
    step(2);
    if (comm.is_root()) {
      serializers::EntryDeserializer reader("test", serializers::entries_in_memory("memory", kept), {});
      model.serialize(*reader.child("model"));
      optimizer.serialize(*reader.child("optimizer"));
    }
    step(1);
    CHECK(optimizer.t() == 2);
    const std::vector<Array> all = comm.allgather(array<double>(values_of(model)));
    CHECK(all[0].to_vector<double>() == all[1].to_vector<double>());
    // Of that step only the root's gradient was one of the loaded values.
    CHECK(difference(once, values_of(model)) < 0.05);
  });
}

TEST_CASE("multi-node optimizer: a parameter that some ranks have no gradient for") {
  run_ranks(2, [](Communicator& comm) {
    TestMlp model;
    const Variable x(test_batch(4, {3}, 0).x, false);
    model(x);
    auto optimizer = create_multi_node_optimizer(optimizers::SGD(1), comm);
    optimizer.setup(model);
    model.cleargrads();  // a new parameter's gradient is NaN
    const Values before = model.l1.W.array().to_vector<double>();
    const Values other = model.l2.W.array().to_vector<double>();
    if (comm.rank() == 1) model.l1.W.set_grad(full_like(model.l1.W.array(), 4));
    optimizer.update();
    const Values after = model.l1.W.array().to_vector<double>();
    for (size_t i = 0; i < before.size(); ++i) CHECK(after[i] == doctest::Approx(before[i] - 2));
    CHECK(model.l2.W.array().to_vector<double>() == other);
  });
}

TEST_CASE("multi-node optimizer: gradients of more examples weigh more") {
  run_ranks(3, [](Communicator& comm) {
    TestMlp model;
    model(Variable(test_batch(4, {3}, 0).x, false));
    auto optimizer = create_multi_node_optimizer(optimizers::SGD(1), comm);
    optimizer.setup(model);
    const double before = model.l2.b.array().to_vector<double>()[0];
    // Examples 2, 4, 0: a rank without any gives zeros.
    const int64_t examples[] = {2, 4, 0};
    if (comm.rank() != 2) model.l2.b.set_grad(full_like(model.l2.b.array(), comm.rank() == 0 ? 3 : 6));
    distributed::note_examples(optimizer, examples[comm.rank()]);
    optimizer.update();
    CHECK(model.l2.b.array().to_vector<double>()[0] == doctest::Approx(before - (2 * 3 + 4 * 6) / 6.0));
  });
}

TEST_CASE("multi-node optimizer: hooks see the mean") {
  run_ranks(2, [](Communicator& comm) {
    TestMlp model;
    model(Variable(test_batch(4, {3}, 0).x, false));
    auto optimizer = create_multi_node_optimizer(optimizers::SGD(1), comm);
    optimizer.setup(model);
    optimizer.add_hook(optimizer_hooks::GradientClipping(1));
    const double before = model.l2.b.array().to_vector<double>()[0];
    // The mean has norm 0: what each rank has alone would be clipped.
    model.l2.b.set_grad(full_like(model.l2.b.array(), comm.rank() == 0 ? 50 : -50));
    optimizer.update();
    CHECK(model.l2.b.array().to_vector<double>()[0] == before);
  });
}

TEST_CASE("multi-node optimizer: an overflow on one rank is a skipped step on all") {
  run_ranks(2, [](Communicator& comm) {
    for (const bool is_scaler : {false, true}) {
      TestMlp model;
      const Variable x(test_batch(4, {3}, 0).x, false);
      model(x);
      auto optimizer = create_multi_node_optimizer(optimizers::SGD(1), comm);
      optimizer.setup(model);
      amp::GradScaler scaler;
      if (!is_scaler) optimizer.loss_scaling();
      const Values before = values_of(model);
      const auto step = [&](double factor) {
        model.cleargrads();
        const Variable loss = functions::sum(model(x)) * factor;
        if (is_scaler) {
          scaler.scale(loss).backward();
          scaler.step(optimizer);
          scaler.update();
        } else {
          optimizer.backward(loss);
          optimizer.update();
        }
      };
      const double first = is_scaler ? scaler.get_scale() : optimizer.loss_scale();
      step(comm.rank() == 1 ? std::numeric_limits<double>::infinity() : 1);
      CHECK(values_of(model) == before);
      CHECK((is_scaler ? scaler.get_scale() : optimizer.loss_scale()) < first);
      step(1e-3);
      CHECK(values_of(model) != before);
      CHECK(optimizer.t() == 1);
      const std::vector<Array> all = comm.allgather(array<double>(values_of(model)));
      CHECK(all[0].to_vector<double>() == all[1].to_vector<double>());
    }
  });
}

TEST_CASE("multi-node optimizer: gradients of several backward passes are exchanged once") {
  const auto run = [](int ranks, bool accumulates) {
    Values result;
    random::seed(5);
    run_ranks(ranks, [&](Communicator& comm) {
      auto model = links::classifier(TestMlp());
      auto optimizer = create_multi_node_optimizer(optimizers::MomentumSGD(0.1), comm);
      optimizer.setup(model);
      for (int step = 0; step < 4; ++step) {
        optimizer.target().cleargrads();
        const auto loss_of = [&](int part) {
          const TestBatch batch = test_batch(8, {5}, 2 * step + part).part(comm.rank(), comm.size());
          return model(Variable(batch.x, false), Variable(batch.t, false));
        };
        if (accumulates) {
          for (const int part : {0, 1}) optimizer.accumulate([&] { return loss_of(part); }, 0.5);
        } else {
          for (const int part : {0, 1}) optimizer.backward(loss_of(part) * 0.5);
        }
        optimizer.update();
      }
      if (comm.is_root()) result = values_of(model);
    });
    return result;
  };
  const Values one = run(1, true);
  CHECK(difference(one, run(2, true)) < 1e-5);
  CHECK(difference(one, run(2, false)) < 1e-5);
}

TEST_CASE("multi-node optimizer: each rank drops other units, in the same way in each run") {
  const auto masks = [] {
    std::vector<Values> drawn(2);
    random::seed(11);
    run_ranks(2, [&](Communicator& comm) {
      TestMlp model;
      const Variable x(test_batch(4, {3}, 0).x, false);
      model(x);
      auto optimizer = create_multi_node_optimizer(optimizers::SGD(1), comm);
      optimizer.setup(model);
      optimizer.update([&] {
        const Variable dropped = functions::dropout(Variable(ones({64}), false));
        drawn[static_cast<size_t>(comm.rank())] = dropped.to_vector<double>();
        return functions::sum(model(x));
      });
    });
    return drawn;
  };
  const std::vector<Values> first = masks();
  CHECK(first[0] != first[1]);
  CHECK(masks() == first);
}

TEST_CASE("multi-node optimizer: double buffering takes each step with the gradients before") {
  run_ranks(2, [](Communicator& comm) {
    TestMlp model;
    model(Variable(test_batch(4, {3}, 0).x, false));
    auto optimizer = create_multi_node_optimizer(optimizers::SGD(1), comm, {.double_buffering = true});
    optimizer.setup(model);
    const auto bias = [&] { return model.l2.b.array().to_vector<double>()[0]; };
    const auto step = [&](double mean) {
      model.cleargrads();
      model.l2.b.set_grad(full_like(model.l2.b.array(), comm.rank() == 0 ? mean - 1 : mean + 1));
      optimizer.update();
    };
    const double before = bias();
    step(2);
    CHECK(bias() == before);
    CHECK(optimizer.t() == 0);
    step(5);
    CHECK(bias() == doctest::Approx(before - 2));
    step(7);
    CHECK(bias() == doctest::Approx(before - 7));
    CHECK(optimizer.t() == 2);
  });
  CHECK_THROWS_AS(create_multi_node_optimizer(optimizers::SGD(), distributed::create_communicator(),
                                              {.overlap = true, .double_buffering = true}),
                  ValueError);
}

TEST_CASE("multi-node optimizer: double buffering follows a model that moves") {
  const auto run = [](bool moves) {
    std::vector<Values> results(2);
    run_ranks(2, [&](Communicator& comm) {
      auto model = std::make_unique<TestMlp>();
      (*model)(Variable(test_batch(4, {3}, 0).x, false));
      for (Parameter* const parameter : model->params()) parameter->array().fill(0.1);
      auto optimizer = create_multi_node_optimizer(optimizers::SGD(0.1), comm, {.double_buffering = true});
      optimizer.setup(*model);
      for (int step = 0; step < 4; ++step) {
        if (moves) model = std::make_unique<TestMlp>(std::move(*model));
        optimizer.update([&](const Variable& x) { return functions::sum((*model)(x)); },
                         Variable(test_batch(4, {3}, step + comm.rank()).x, false));
      }
      results[static_cast<size_t>(comm.rank())] = values_of(*model);
    });
    return results;
  };
  CHECK(run(true) == run(false));
}

TEST_CASE("multi-node optimizer: ranks go on alike where one computes more losses than another, fewer, or in vain") {
  std::vector<Values> results(2);
  random::seed(3);
  run_ranks(2, [&](Communicator& comm) {
    TestMlp model;
    model(Variable(test_batch(4, {3}, 0).x, false));
    auto optimizer = create_multi_node_optimizer(optimizers::SGD(0.1), comm);
    optimizer.setup(model);
    optimizer.add_hook(optimizer_hooks::GradientNoise(0.01));
    const bool is_first = comm.rank() == 0;
    std::vector<Values> masks;
    const auto loss = [&] {
      const Variable mask = functions::dropout(Variable(ones({64}), false));
      masks.push_back(mask.to_vector<double>());
      return functions::sum(model(Variable(test_batch(2, {3}, 1).x, false))) + functions::sum(mask);
    };
    for (int step = 0; step < 3; ++step) {
      model.cleargrads();
      for (int i = 0; i < (is_first ? 2 : step); ++i) optimizer.accumulate(loss);
      optimizer.update();
    }
    for (size_t i = 0; i < masks.size(); ++i) CHECK(std::count(masks.begin(), masks.end(), masks[i]) == 1);
    if (!is_first) {
      const auto failing = [&]() -> Variable { throw std::runtime_error("a bad batch"); };
      CHECK_THROWS_AS(optimizer.update(failing), std::runtime_error);
    }
    optimizer.update(loss);
    Values& result = results[static_cast<size_t>(comm.rank())] = values_of(model);
    result.push_back(static_cast<double>(random::bits()));
  });
  CHECK(results[0] == results[1]);
}

TEST_CASE("multi-node optimizer: examples of a batch that failed do not count") {
  const auto run = [](bool fails, int64_t accumulate) {
    std::vector<Values> results(2);
    run_ranks(2, [&](Communicator& comm) {
      TestMlp model;
      model(Variable(test_batch(4, {3}, 0).x, false));
      for (Parameter* const parameter : model.params()) parameter->array().fill(0.1);
      auto optimizer = create_multi_node_optimizer(optimizers::SGD(0.1), comm);
      optimizer.setup(model);
      int calls = 0;
      const auto loss = [&](const Variable& x) {
        if (fails && comm.rank() == 1 && ++calls == 4) throw std::runtime_error("a bad batch");
        return functions::mean(functions::square(model(x)));
      };
      const Array x = test_batch(comm.rank() == 0 ? 4 : 6, {3}, comm.rank()).x;
      const auto try_twice = [&](const auto& update) {
        try {
          update();
        } catch (const std::runtime_error&) {
          update();
        }
      };
      if (accumulate == 0) {
        for (int step = 0; step < 4; ++step) try_twice([&] { optimizer.update(loss, Variable(x, false)); });
      } else {
        iterators::SerialIterator batches(datasets::TupleDataset(x), x.shape(0), {.shuffle = false});
        updaters::StandardUpdater updater(batches, optimizer, {.loss_func = loss, .accumulate = accumulate});
        for (int step = 0; step < 4; ++step) try_twice([&] { updater.update(); });
      }
      results[static_cast<size_t>(comm.rank())] = values_of(model);
    });
    return results;
  };
  for (const int64_t accumulate : {0, 1, 2}) {
    CAPTURE(accumulate);
    CHECK(run(true, accumulate) == run(false, accumulate));
  }
}

TEST_CASE("multi-node optimizer: with overlap, a backward that fails ends the step of the others") {
  const auto run = [](Communicator& comm) {
    TestMlp model;
    auto optimizer = create_multi_node_optimizer(optimizers::SGD(0.1), comm, {.overlap = true});
    optimizer.setup(model);
    for (int step = 0; step < 4; ++step) {
      const Variable x(test_batch(4, {3}, step).x, false);
      if (step == 2 && comm.rank() == 1) {
        CHECK_THROWS_AS(optimizer.update([&] { return functions::sum(model(x)) * Variable(ones({3})); }), Error);
      }
      optimizer.update([&] { return functions::sum(model(x)); });
    }
  };
  CHECK_THROWS_WITH_AS(run_ranks(2, run, {.stall_warning = 5, .timeout = 20}),
                       doctest::Contains("the other ranks have been told that this one failed"), StateError);
}

}  // namespace
}  // namespace kusari::testing
