#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/gpu/testing.h"

// Several host threads at once, on one device and on two: what they share is the pools of memory, the streams and the
// caches of plans.
namespace kusari::testing {
namespace {

namespace F = functions;
namespace L = links;

class ThreadNet : public Chain {
 public:
  ThreadNet()
      : conv{*this, "conv", 3, 8, 3, L::Convolution2D::Options{.pad = 1}},
        norm{*this, "norm", 8},
        fc{*this, "fc", 8 * 6 * 6, 10} {}
  Variable operator()(const Variable& x, const Variable& t) {
    return F::softmax_cross_entropy(fc(F::relu(norm(conv(x)))), t);
  }

  Child<L::Convolution2D> conv;
  Child<L::BatchNormalization> norm;
  Child<L::Linear> fc;
};

/// The parameters after some steps, which depend on the seed alone. Batches arrive as a prefetcher sends them.
std::vector<float> trained_in_thread(const Device& device, unsigned seed) {
  const auto deterministic = using_config(&Config::cudnn_deterministic, true);
  ThreadNet net;
  uint64_t at = 100 * seed;
  for (Parameter* p : net.params()) p->array().copy_from(uniform_array(p->shape(), -0.3, 0.3, Dtype::float32, ++at));
  net.to(device);
  optimizers::MomentumSGD optimizer(0.05, 0.9);
  optimizer.setup(net);
  for (int step = 0; step < 6; ++step) {
    const int64_t batch = 4 + step % 2;
    const Array images = uniform_array({batch, 3, 6, 6}, -1, 1, Dtype::float32, ++at);
    const Array pinned = empty_pinned(images.shape(), Dtype::float32, device);
    std::memcpy(pinned.raw_data(), images.contiguous().raw_data(), static_cast<size_t>(images.size()) * sizeof(float));
    const Array labels = uniform_array({batch}, 0, 10, Dtype::float32, ++at).astype(Dtype::int32).to_device(device);
    optimizer.update(net, Variable(pinned.to_device_beside(device), false), Variable(labels, false));
  }
  std::vector<float> values;
  for (Parameter* p : net.params()) {
    const std::vector<float> part = p->array().to_vector<float>();
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

/// What each of the threads computed; the message of the first exception, if any.
std::vector<std::vector<float>> in_threads(const std::vector<Device>& devices, int rounds, bool autotune = false) {
  std::vector<std::vector<float>> results(devices.size());
  std::vector<std::string> problems(devices.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < devices.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        const auto tuned = using_config(&Config::autotune, autotune);
        for (int round = 0; round < rounds; ++round)
          results[i] = trained_in_thread(devices[i], static_cast<unsigned>(i));
      } catch (const std::exception& error) {
        problems[i] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) CHECK(problem == "");
  return results;
}

TEST_CASE("four threads train on one device as one after the other") {
  const auto device = gpu_device();
  if (!device) return;
  const std::vector<std::vector<float>> results = in_threads({*device, *device, *device, *device}, 2);
  for (unsigned i = 0; i < results.size(); ++i) {
    CAPTURE(i);
    CHECK(results[i] == trained_in_thread(*device, i));
  }
}

TEST_CASE("four threads train on two devices, none of which the thread has set") {
  const auto first = gpu_device(0), second = gpu_device(1);
  if (!first || !second) return;
  const std::vector<std::vector<float>> results = in_threads({*first, *second, *second, *first}, 2);
  for (unsigned i = 0; i < results.size(); ++i) {
    CAPTURE(i);
    CHECK(results[i] == trained_in_thread(*first, i));
  }
}

TEST_CASE("four threads look for the fastest algorithms at once") {
  const auto device = gpu_device();
  if (!device) return;
  const std::vector<std::vector<float>> results = in_threads({*device, *device, *device, *device}, 1, true);
  for (unsigned i = 0; i < results.size(); ++i) {  // which differ in rounding
    const std::vector<float> expected = trained_in_thread(*device, i);
    REQUIRE(results[i].size() == expected.size());
    int64_t wrong = 0;
    for (size_t k = 0; k < expected.size(); ++k) wrong += !(std::abs(results[i][k] - expected[k]) < 1e-2f);
    CHECK(wrong == 0);
  }
}

TEST_CASE("an array made by one thread is used and given back by others") {
  const auto device = gpu_device();
  if (!device) return;
  for (int round = 0; round < 5; ++round) {
    Array shared = full({3000}, round, Dtype::int32, *device);
    std::vector<int> wrong(3, 0);
    std::vector<std::thread> threads;
    for (int& count : wrong) {
      threads.emplace_back([&count, round, copy = shared]() mutable {
        const Array sum = copy.copy();
        copy = Array();
        const std::vector<int> got = sum.to_vector<int>();
        count = static_cast<int>(std::count_if(got.begin(), got.end(), [round](int v) { return v != round; }));
      });
    }
    shared = Array();
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<int>(3, 0));
  }
}

TEST_CASE("a step that finds no memory leaves a model that trains on") {
  const auto device = gpu_device();
  if (!device) return;
  ThreadNet net;
  net.to(*device);
  optimizers::MomentumSGD optimizer(0.05, 0.9);
  optimizer.setup(net);
  const Array labels = zeros({4}, Dtype::int32, *device);
  const auto step = [&](const Array& x) { optimizer.update(net, Variable(x, false), Variable(labels, false)); };
  step(ones({4, 3, 6, 6}, Dtype::float32, *device));
  const int64_t before = device->backend().memory_statistics(0).allocated;
  // One element that is seen so often that what is computed of it has no room on any card.
  const Array huge = ones({1}, Dtype::float32, *device).broadcast_to({int64_t{1} << 40});
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_AS(F::relu(F::relu(Variable(huge))), OutOfMemoryError);
    CHECK(device->backend().memory_statistics(0).allocated <= before + 512);
  }
  step(ones({4, 3, 6, 6}, Dtype::float32, *device));
  for (Parameter* p : net.params()) {
    const std::vector<float> values = p->array().to_vector<float>();
    CHECK(std::none_of(values.begin(), values.end(), [](float v) { return v != v; }));
  }
}

}  // namespace
}  // namespace kusari::testing
