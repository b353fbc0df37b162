#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/optimizers/adam.h"

// Several threads, each with a graph, a model, an optimizer and a reporter of its own: what they share are pools of
// memory, threads of kernels, and counters.
namespace kusari::testing {
namespace {

namespace F = functions;
namespace L = links;

constexpr int kThreads = 4;

Array values(const Shape& shape, uint64_t seed) {
  std::vector<float> numbers(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(philox_word(seed, i)) * 0x1p-31f - 1;
  return array(numbers, shape);
}

/// What `compute(i)` gives in thread i; the same must come from one thread after the other.
template <class Compute>
void check_threads(const Compute& compute) {
  std::vector<decltype(compute(0))> together(kThreads);
  std::vector<std::string> problems(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      try {
        for (int round = 0; round < 3; ++round) together[static_cast<size_t>(i)] = compute(i);
      } catch (const std::exception& error) {
        problems[static_cast<size_t>(i)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) {
    CAPTURE(i);
    CHECK(problems[static_cast<size_t>(i)] == "");
    CHECK(together[static_cast<size_t>(i)] == compute(i));
  }
}

class Net : public Chain {
 public:
  Net() : l1{*this, "l1", 20, 40}, bn{*this, "bn", 40}, l2{*this, "l2", 40, 5} {
    uint64_t seed = 0;
    for (Parameter* p : params()) p->array().copy_from(values(p->shape(), ++seed));
  }
  Variable operator()(const Variable& x, const Variable& t) {
    const Variable loss = F::softmax_cross_entropy(l2(F::relu(bn(l1(x)))), t);
    report({{"loss", loss}}, *this);
    return loss;
  }

  Child<L::Linear> l1;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> l2;
};

std::vector<float> flatten(Link& model) {
  std::vector<float> all;
  for (Parameter* p : model.params()) {
    const std::vector<float> part = p->to_vector<float>();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

TEST_CASE("threads: a graph each, differentiated twice") {
  check_threads([](int i) {
    Variable x(values({64, 33}, static_cast<uint64_t>(i))), w(values({17, 33}, 100));
    const Variable y = F::sum(F::relu(F::linear(x, w)) * 2.0);
    y.backward({.enable_double_backprop = true});
    const Variable penalty = F::sum(x.grad_var() * x.grad_var());
    w.cleargrad();
    penalty.backward();
    return std::pair(x.to_vector<float>(), w.grad().to_vector<float>());
  });
}

TEST_CASE("threads: models that share parameters' values with each other") {
  const Net original;
  check_threads([&](int i) {
    Net shared = copy(original, CopyMode::share);  // reads what others read
    const Variable loss =
        shared(Variable(values({6, 20}, static_cast<uint64_t>(i)), false), Variable(zeros({6}, Dtype::int32), false));
    shared.cleargrads();
    loss.backward();
    return shared.l1.W.grad().to_vector<float>();
  });
}

TEST_CASE("threads: a training each, with reports") {
  check_threads([](int i) {
    Net net;
    optimizers::Adam optimizer({.alpha = 0.01});
    optimizer.setup(net);
    optimizer.loss_scaling({.initial_scale = 256});
    Reporter reporter;
    reporter.add_observer("net" + std::to_string(i), net);
    double sum = 0;
    for (int step = 0; step < 5; ++step) {
      Observation observation;
      const ReportScope scope = reporter.scope(observation);
      const auto seed = static_cast<uint64_t>(10 * i + step);
      optimizer.update(net, Variable(values({12, 20}, seed), false), Variable(zeros({12}, Dtype::int32), false));
      sum += observation.at("net" + std::to_string(i) + "/loss");
      if (step == 2) {  // structures change while others look at theirs
        const Net copied(net);
        net = copied;
      }
    }
    return std::pair(flatten(net), sum);
  });
}

TEST_CASE("threads: a graph that one thread made is used up by another") {
  for (int round = 0; round < 20; ++round) {
    Variable x(values({40, 40}, 1));
    Variable loss;
    std::thread forward([&] { loss = F::sum(F::relu(x * 3.0)); });
    forward.join();
    std::thread backward([&] {
      loss.backward();
      loss = Variable();
    });
    backward.join();
    CHECK(x.grad().to_vector<float>()[0] == (x.to_vector<float>()[0] > 0 ? 3.0f : 0.0f));
  }
}

TEST_CASE("threads: kernels that ask for many threads at once") {
  const int before = num_threads();
  set_num_threads(3);
  check_threads([](int i) {
    const Array a = values({300, 200}, static_cast<uint64_t>(i));
    const Variable x(a);
    F::sum(F::linear(x, Variable(values({150, 200}, 7), false))).backward();
    return x.grad().to_vector<float>();
  });
  set_num_threads(before);
}

}  // namespace kusari::testing
