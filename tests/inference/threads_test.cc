#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/tests/inference/inference_testing.h"

// Threads that call one InferenceSession at the same time.
namespace kusari {
namespace {

using testing::numbers;
using testing::same_bits;
using testing::words;

constexpr int kThreads = 8;

/// Calls of each thread: KUSARI_TEST_CALLS, for a long run.
int calls_of_each_thread() {
  const char* const value = std::getenv("KUSARI_TEST_CALLS");
  return value == nullptr ? 20 : std::max(1, std::atoi(value) / kThreads);
}

// Each thread runs through all inputs, from another one on, and finds what a session that is called alone gives.
template <class Model>
void check_threads(const Model& model, const std::vector<Arrays>& inputs, const InferenceSessionOptions& options) {
  const InferenceSession alone(model, options), session(model, options);
  std::vector<Arrays> expected;
  for (const Arrays& input : inputs) expected.push_back(alone.run(input));
  std::atomic<int> wrong{0}, failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      try {
        for (int call = 0; call < calls_of_each_thread(); ++call) {
          const size_t which = static_cast<size_t>(t + call) % inputs.size();
          const Arrays& right = expected[which];
          Arrays results;
          if (call % 2 == 0) {
            results = session.run(inputs[which]);
          } else {
            for (const Array& result : right) results.push_back(empty_like(result));
            session.run(inputs[which], results);
          }
          for (size_t i = 0; i < right.size(); ++i) wrong += same_bits(results[i], right[i]) ? 0 : 1;
        }
      } catch (const Error&) {
        ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(failed == 0);
  CHECK(session.plan_count() <= options.max_plans);
}

TEST_CASE("threads get the bits of a session that is called alone") {
  random::seed(21);
  SUBCASE("images of several sizes") {
    const testing::TwoHeads model;
    std::vector<Arrays> inputs;
    for (int64_t n = 1; n <= 4; ++n) {
      inputs.push_back({numbers({n, 3, 8 + n, 9}, static_cast<int>(n)), words({n, 3}, 11, static_cast<int>(n))});
    }
    check_threads(model, inputs, {});
    check_threads(model, inputs, {.max_plans = 2});  // which come and go
  }
  SUBCASE("batches that are padded") {
    const testing::InferenceMlp model;
    std::vector<Arrays> inputs;
    for (int64_t n = 1; n <= 9; ++n) inputs.push_back({numbers({n, 6}, static_cast<int>(n))});
    check_threads(model, inputs, {.batch_sizes = {1, 4}});
  }
  SUBCASE("a residual network in 16 bits") {
    L::ResNet18 model({.n_classes = 10, .stem = L::ResNetStem::cifar});
    check_threads(model, {{numbers({1, 3, 16, 16}, 1)}, {numbers({2, 3, 16, 16}, 2)}}, {.dtype = Dtype::bfloat16});
  }
  SUBCASE("a transformer") {
    const L::TransformerLM model(23, {.block = 16, .layers = 2, .heads = 2, .width = 16});
    check_threads(model, {{words({1, 5}, 23)}, {words({2, 9}, 23)}, {words({1, 16}, 23)}}, {});
  }
  SUBCASE("a model that cannot be recorded") {
    check_threads(testing::Decider(), {{full({2, 6}, 1, Dtype::float32)}, {full({3, 6}, -1, Dtype::float32)}}, {});
  }
}

TEST_CASE("a kind of inputs is recorded once, whoever comes first") {
  const testing::InferenceMlp model;
  const InferenceSession session(model);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&] { session.run({numbers({3, 6})}); });
  for (std::thread& thread : threads) thread.join();
  CHECK(session.summary().find("recordings for 1 kinds of inputs (at most 8), 1 made") != std::string::npos);
}

}  // namespace
}  // namespace kusari
