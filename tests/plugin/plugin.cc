// A plugin that computes with the library: loaded by programs that do not know it.

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "kusari/framework/kusari.h"

namespace {

using namespace kusari;

/// A step of training, convolutions, matrices, and a call under autocast: what has variables of threads.
float computed() {
  L::Convolution2D conv(2, 4, 3, {.pad = 1, .initial_w = Initializer(0.1)});
  L::Linear linear(4, 3, {.initial_w = Initializer(0.2)});
  optimizers::SGD optimizer(0.1);
  optimizer.setup(linear);
  const Variable x(ones({2, 2, 6, 6}));
  Variable loss;
  for (int step = 0; step < 2; ++step) {
    loss = F::sum(linear(F::average(F::relu(conv(x)), {{2, 3}})));
    linear.cleargrads();
    loss.backward();
    optimizer.update();
  }
  const auto mode = no_backprop_mode();
  const amp::Autocast autocast;
  return F::sum(linear(ones({1, 4}))).array().item<float>() + loss.item<float>();
}

}  // namespace

/// Computes in `threads` threads of its own, or in the caller's for 0: how many got other numbers than the first call
/// of the process, or failed.
extern "C" __attribute__((visibility("default"))) int kusari_plugin_compute(int threads) {
  static const float expected = computed();
  std::atomic<int> wrong{0};
  const auto work = [&] {
    try {
      if (computed() != expected) ++wrong;
    } catch (const std::exception&) {
      ++wrong;
    }
  };
  if (threads == 0) work();
  std::vector<std::thread> started;
  for (int i = 0; i < threads; ++i) started.emplace_back(work);
  for (std::thread& thread : started) thread.join();
  return wrong;
}
