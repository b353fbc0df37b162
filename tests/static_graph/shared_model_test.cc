#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/kusari.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/static_graph/static_graph_testing.h"

// Threads that call one model, or one static graph, at the same time.
namespace kusari {
namespace {

using testing::uniform_like;

constexpr int kThreads = 8;

/// Calls of each thread: KUSARI_TEST_CALLS, for a long run.
int calls_of_a_thread() {
  const char* const value = std::getenv("KUSARI_TEST_CALLS");
  return value == nullptr ? 6 : std::max(1, std::atoi(value) / kThreads);
}

/// Convolutions of two algorithms, normalization, dropout, rows of a table, and matrices.
class ImageNet : public Chain {
 public:
  explicit ImageNet(bool lazy = false)
      : conv1{*this, "conv1", lazy ? kInfer : 3, 16, 3, {.pad = 1}},
        bn{*this, "bn", lazy ? kInfer : int64_t{16}},
        conv2{*this, "conv2", lazy ? kInfer : 16, 16, 3, {.stride = 2, .pad = 1}},
        embed{*this, "embed", 11, 16},
        fc1{*this, "fc1", lazy ? kInfer : int64_t{16}, 24},
        norm{*this, "norm", lazy ? kInfer : int64_t{24}},
        fc2{*this, "fc2", 24, 10} {}

  Variable operator()(const Variable& x, const Variable& ids) {
    Variable h = F::relu(conv2(F::relu(bn(conv1(x)))));
    h = F::average(h, {{2, 3}}) + F::sum(embed(ids), {{1}});
    return F::softmax(fc2(F::dropout(F::tanh(norm(fc1(h))))));
  }

  Child<L::Convolution2D> conv1;
  Child<L::BatchNormalization> bn;
  Child<L::Convolution2D> conv2;
  Child<L::EmbedID> embed;
  Child<L::Linear> fc1;
  Child<L::LayerNormalization> norm;
  Child<L::Linear> fc2;
};

struct Mode {
  const char* name;
  Dtype dtype = Dtype::float32;
  bool autocast = false;
  bool keeps_graph = false;  ///< forward passes with a graph that nobody goes back through
};
constexpr Mode kModes[] = {{"float32"},
                           {"float16", Dtype::float16},
                           {"bfloat16", Dtype::bfloat16},
                           {"autocast", Dtype::float32, true},
                           {"float32 with a graph", Dtype::float32, false, true}};

struct Inputs {
  Variable x, ids;
};

/// Batches of several sizes; the threads share these very variables.
std::vector<Inputs> inputs_of(const Mode& mode) {
  std::vector<Inputs> inputs;
  for (int i = 0; i < 4; ++i) {
    const int64_t n = 1 + i;
    std::vector<int32_t> ids;
    for (int64_t k = 0; k < 3 * n; ++k) ids.push_back(static_cast<int32_t>((k * 5 + i) % 11));
    inputs.push_back({Variable(uniform_like(empty({n, 3, 10, 10}, mode.autocast ? Dtype::float32 : mode.dtype), i)),
                      Variable(array(ids, {n, 3}), false)});
  }
  return inputs;
}

/// The settings of a thread that infers.
struct Inference {
  explicit Inference(const Mode& mode) {
    if (!mode.keeps_graph) no_graph.emplace(&Config::enable_backprop, false);
    if (mode.autocast) autocast.emplace(amp::AutocastOptions{.dtype = Dtype::bfloat16});
  }
  ScopedSetting<bool> train{&Config::train, false};
  std::optional<ScopedSetting<bool>> no_graph;
  std::optional<amp::Autocast> autocast;
};

/// What each of the batches may give: in a static graph the recorded call and its replays round differently.
template <class Call>
std::vector<std::vector<std::vector<float>>> alone(Call&& call, const std::vector<Inputs>& inputs, const Mode& mode) {
  const Inference settings(mode);
  std::vector<std::vector<std::vector<float>>> results;
  for (const Inputs& each : inputs) {
    auto& accepted = results.emplace_back();
    for (int i = 0; i < 3; ++i) accepted.push_back(call(each.x, each.ids).array().template to_vector<float>());
  }
  return results;
}

/// Runs work(i) in thread i, all at once; the first problem, or "".
template <class Work>
std::string in_threads(const Work& work) {
  std::vector<std::string> problems(kThreads);
  std::vector<std::thread> threads;
  std::atomic<int> waiting{kThreads};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      try {
        work(i);
      } catch (const std::exception& error) {
        problems[static_cast<size_t>(i)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) {
    if (!problem.empty()) return problem;
  }
  return {};
}

/// What eight threads get that call at once must be what came alone.
template <class Call>
void check_together(Call&& call, const std::vector<Inputs>& inputs, const Mode& mode,
                    const std::vector<std::vector<std::vector<float>>>& accepted) {
  std::atomic<int64_t> wrong{0};
  const int calls = calls_of_a_thread();
  const std::string problem = in_threads([&](int thread) {
    const Inference settings(mode);
    for (int i = 0; i < calls; ++i) {
      const size_t which = static_cast<size_t>(thread + i) % inputs.size();
      const auto got = call(inputs[which].x, inputs[which].ids).array().template to_vector<float>();
      bool is_right = false;
      for (const auto& expected : accepted[which]) is_right = is_right || got == expected;
      if (!is_right) ++wrong;
    }
  });
  CHECK(problem.empty());
  INFO(problem);
  CHECK(wrong == 0);
}

void change_weights(ImageNet& net) {
  int seed = 100;
  for (Parameter* parameter : net.params()) {
    const Array& array = parameter->array();
    array.copy_from(uniform_like(array, ++seed));
  }
  net.bn.avg_mean.copy_from(uniform_like(net.bn.avg_mean, ++seed));
}

}  // namespace

TEST_CASE("shared model: eight threads infer with one model, with the bits of one alone") {
  for (const Mode& mode : kModes) {
    CAPTURE(mode.name);
    ImageNet net;
    if (mode.dtype != Dtype::float32) net.to(mode.dtype);
    const std::vector<Inputs> inputs = inputs_of(mode);
    for (int round = 0; round < 2; ++round) {
      CAPTURE(round);
      ImageNet copy = net;
      check_together(net, inputs, mode, alone(copy, inputs, mode));
      change_weights(net);  // packed forms of the old ones must not be used again
    }
  }
}

TEST_CASE("shared model: eight threads call one static graph") {
  const testing::QuietLog quiet;  // of the graphs without a backward
  for (const Mode& mode : kModes) {
    CAPTURE(mode.name);
    ImageNet net;
    if (mode.dtype != Dtype::float32) net.to(mode.dtype);
    const std::vector<Inputs> inputs = inputs_of(mode);
    auto graph = static_graph(net);
    for (int round = 0; round < 2; ++round) {
      CAPTURE(round);
      ImageNet copy = net;
      auto own = static_graph(copy);
      check_together(graph, inputs, mode, alone(own, inputs, mode));
      change_weights(net);
    }
  }
}

TEST_CASE("shared model: threads make a static graph each of one model") {
  ImageNet net;
  const Mode& mode = kModes[0];
  const std::vector<Inputs> inputs = inputs_of(mode);
  ImageNet copy = net;
  auto own = static_graph(copy);
  const auto accepted = alone(own, inputs, mode);
  const std::string problem = in_threads([&](int) {
    auto graph = static_graph(net);
    const Inference settings(mode);
    for (int i = 0; i < 6; ++i) {
      const size_t which = static_cast<size_t>(i) % inputs.size();
      const auto got = graph(inputs[which].x, inputs[which].ids).array().to_vector<float>();
      if (got != accepted[which][0] && got != accepted[which][1]) throw std::runtime_error("other numbers");
    }
  });
  CHECK(problem == "");
}

TEST_CASE("shared model: the first call may come from eight threads at once") {
  const Mode& mode = kModes[0];
  const std::vector<Inputs> inputs = inputs_of(mode);
  for (int round = 0; round < 5; ++round) {
    ImageNet net(true);
    std::vector<std::vector<float>> got(kThreads);
    const std::string problem = in_threads([&](int i) {
      const Inference settings(mode);
      const Inputs& given = inputs[static_cast<size_t>(i) % inputs.size()];
      got[static_cast<size_t>(i)] = net(given.x, given.ids).array().to_vector<float>();
    });
    CHECK(problem == "");
    const auto accepted = alone(net, inputs, mode);
    for (size_t i = 0; i < kThreads; ++i) CHECK(got[i] == accepted[i % inputs.size()][0]);
  }
}

TEST_CASE("shared model: all parameters are there after the first call of any of eight threads") {
  const Variable x(uniform_like(empty({2, 3, 6, 6}), 1), false);
  for (int round = 0; round < 20; ++round) {
    L::DepthwiseConvolution2D depthwise(kInfer, 2, 3);
    L::Deconvolution2D deconvolution(kInfer, 4, 3);
    L::LocalConvolution2D local(3, 4, kInfer, 3);
    const std::string problem = in_threads([&](int) {
      const auto mode = no_backprop_mode();
      depthwise(x), deconvolution(x), local(x);
    });
    CHECK(problem == "");
  }
}

TEST_CASE("shared model: an array beside the parameters that is replaced between rounds is seen by all threads") {
  struct Scaled {
    Array factor = full({4}, 2, Dtype::float32);
    L::Linear linear{4, 4};
    Variable operator()(const Variable& x) { return linear(x) * Variable(factor, false); }
  } scaled;
  auto graph = static_graph([&](const Variable& x) { return scaled(x); });
  const Variable x(uniform_like(empty({3, 4}), 1), false);
  for (const double factor : {2.0, 3.0, -1.0}) {
    scaled.factor = full({4}, factor, Dtype::float32);
    const std::vector<float> expected = scaled(x).to_vector<float>();
    const std::string problem = in_threads([&](int) {
      const auto mode = no_backprop_mode();
      for (int i = 0; i < 10; ++i) {
        if (graph(x).to_vector<float>() != expected) throw std::runtime_error("other numbers");
      }
    });
    CHECK(problem == "");
  }
}

TEST_CASE("shared model: threads train models of their own through static graphs") {
  const auto train = [](int seed) {
    testing::Cell cell(3, 4);
    int parameter_seed = seed;
    for (Parameter* parameter : cell.params()) {
      parameter->array().copy_from(uniform_like(parameter->array(), ++parameter_seed));
    }
    optimizers::SGD optimizer(0.1);
    optimizer.setup(cell);
    auto graph = static_graph(cell);
    for (int step = 0; step < 5; ++step) {
      Variable h(zeros({2, 4}), false);
      for (int t = 0; t < 3; ++t) h = graph(Variable(testing::batch(2, 3, seed + t), false), h);
      const Variable loss = F::sum(h * h);
      cell.cleargrads();
      loss.backward();
      optimizer.update();
    }
    std::vector<float> numbers;
    for (Parameter* parameter : cell.params()) testing::append(numbers, parameter->array());
    return numbers;
  };
  std::vector<std::vector<float>> together(kThreads);
  CHECK(in_threads([&](int i) { together[static_cast<size_t>(i)] = train(i); }) == "");
  for (int i = 0; i < kThreads; ++i) CHECK(together[static_cast<size_t>(i)] == train(i));
}

TEST_CASE("shared model: gradients of each thread's own input go through the model of all") {
  ImageNet net;
  const auto saliency = [&](int seed) {
    const auto testing = using_config(&Config::train, false);
    const Variable x(uniform_like(empty({2, 3, 8, 8}), seed));
    const Variable ids(array<int32_t>({1, 2, 3, 4, 5, 6}, {2, 3}), false);
    const Variables gx = grad({F::sum(net(x, ids) * net(x, ids))}, {x});
    return gx[0].to_vector<float>();
  };
  std::vector<std::vector<float>> together(kThreads);
  CHECK(in_threads([&](int i) {
          for (int k = 0; k < 4; ++k) together[static_cast<size_t>(i)] = saliency(i);
        }) == "");
  for (int i = 0; i < kThreads; ++i) CHECK(together[static_cast<size_t>(i)] == saliency(i));
  for (Parameter* parameter : net.params()) parameter->cleargrad();
}

namespace {

/// Waits in backward for what another thread does meanwhile.
class Pause final : public FunctionNode {
 public:
  explicit Pause(std::function<void()> meanwhile) : meanwhile_{std::move(meanwhile)} {}
  const char* name() const override { return "pause"; }

 private:
  Arrays forward(const ArrayRefs& in) override { return {in[0].copy()}; }
  Variables backward(const Variables& gy) override {
    meanwhile_();
    return {gy[0]};
  }
  std::function<void()> meanwhile_;
};

std::string state_error_of(const std::function<void()>& work) {
  std::string text;
  std::thread([&] {
    try {
      work();
    } catch (const StateError& error) {
      text = error.what();
    } catch (const std::exception& error) {
      text = std::string("another error: ") + error.what();
    }
  }).join();
  return text;
}

}  // namespace

TEST_CASE("shared model: a backward pass beside that of another thread is refused, and later it is not") {
  Parameter w(array<float>({1, 2, 3}));
  w.set_name("w");
  w.cleargrad();
  const Variable x(array<float>({4, 5, 6}));
  const auto other = [&] { F::sum(w * w).backward(); };
  std::string refused, to_x, by_grad;
  const Variable inner = apply<Pause>({x}, [&] {
    refused = state_error_of(other);
    by_grad = state_error_of([&] { grad({F::sum(w * w)}, {w}); });
    to_x = state_error_of([&] {
      const Variable own(array<float>({1, 1, 1}));
      F::sum(own * Variable(w.array(), false)).backward();
    });
  });
  F::sum(inner * w).backward();
  CHECK(refused.find("another thread is adding to the gradient of 'w'") != std::string::npos);
  CHECK(by_grad.find("another thread") != std::string::npos);
  CHECK(to_x == "");
  CHECK(w.grad().to_vector<float>() == std::vector<float>{4, 5, 6});
  CHECK(state_error_of(other) == "");
  CHECK(w.grad().to_vector<float>() == std::vector<float>{4 + 2, 5 + 4, 6 + 6});
}

TEST_CASE("shared model: a link whose members a call sets refuses another thread's call") {
  std::string refused;
  std::function<void()> other;
  auto model = L::classifier(L::Linear(3, 2), {.lossfun = [&](const Variable& y, const Variable& t) {
                               if (other) refused = state_error_of(std::exchange(other, nullptr));
                               return F::softmax_cross_entropy(y, t);
                             }});
  const Variable x(uniform_like(empty({2, 3}), 1), false), t(array<int32_t>({0, 1}), false);
  const float expected = model(x, t).item<float>();
  other = [&] { model(x, t); };
  CHECK(model(x, t).item<float>() == expected);
  CHECK(refused.find("Classifier is being called by another thread") != std::string::npos);
  CHECK(state_error_of([&] { model(x, t); }) == "");
}

TEST_CASE("shared model: a hook that takes a parameter's place refuses another thread's call") {
  L::Linear link(3, 2);
  link.add_hook(link_hooks::SpectralNormalization());
  const Variable x(uniform_like(empty({2, 3}), 1), false);
  const auto testing = using_config(&Config::train, false);
  const std::vector<float> expected = link(x).to_vector<float>();
  // Calls of several threads either give the same numbers or are refused; afterwards the link is as it was.
  struct Meanwhile final : LinkHook {
    explicit Meanwhile(std::function<void()> given) : work{std::move(given)} {}
    const char* name() const override { return "Meanwhile"; }
    void forward_preprocess(Link&) override {
      if (work) std::exchange(work, nullptr)();
    }
    std::function<void()> work;
  };
  std::string refused;
  link.add_hook(Meanwhile([&] { refused = state_error_of([&] { link(x); }); }));
  CHECK(link(x).to_vector<float>() == expected);
  CHECK(refused.find("is being called by another thread") != std::string::npos);
  CHECK(link(x).to_vector<float>() == expected);
}

TEST_CASE("shared model: handles of one variable, and outputs of one function, go in several threads") {
  const Variable x(uniform_like(empty({8, 400}), 1));
  Variables parts = F::split_axis(x * x, kThreads, 0);
  CHECK(in_threads([&](int i) {
          const Variable own = std::move(parts[static_cast<size_t>(i)]);
          for (int k = 0; k < 2000; ++k) {
            const Variable copy = x, part = own;
            if (k % 100 == 0) F::sum(copy * copy);
          }
        }) == "");
  CHECK(x.node()->handles() == 1);
  parts.clear();
  CHECK(x.node()->references() == 1);
}

}  // namespace kusari
