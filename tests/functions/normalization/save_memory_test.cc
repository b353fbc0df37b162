#include <vector>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/normalization/batch_normalization.h"
#include "kusari/tests/functions/testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

constexpr int64_t kChannels = 32;

struct Outcome {
  std::vector<std::vector<float>> gradients;
  int64_t bytes_for_backward;
};

int64_t allocated_bytes() {
  const Device& device = test_device();
  return device.backend().memory_statistics(device.index()).allocated;
}

/// Blocks of convolution, normalization and ReLU around shortcuts, as in a ResNet; the first shortcut is normalized
/// itself.
Outcome train_step(bool save_memory, bool fixed) {
  const auto guard = using_config(&Config::save_memory, save_memory);
  const auto numbers = [](const Shape& shape, uint64_t seed) {
    return Variable(uniform(shape, -1, 1, seed).astype(Dtype::float32).channels_last());
  };
  const Variable x = numbers({8, kChannels, 16, 16}, 1), gamma = numbers({kChannels}, 2),
                 beta = numbers({kChannels}, 3);
  const Variable mean(zeros({kChannels}, Dtype::float32, test_device()), false),
      var(ones({kChannels}, Dtype::float32, test_device()), false);
  const auto relu = [&](const Variable& h) {
    return fixed ? F::fixed_batch_normalization_relu(h, gamma, beta, mean, var)
                 : F::batch_normalization_relu(h, gamma, beta);
  };
  const auto add_relu = [&](const Variable& h, const Variable& shortcut) {
    return fixed ? F::fixed_batch_normalization_add_relu(h, shortcut, gamma, beta, mean, var)
                 : F::batch_normalization_add_relu(h, shortcut, gamma, beta);
  };
  const int64_t before = allocated_bytes();
  std::vector<Variable> leaves = {x, gamma, beta};
  Variable h = x;
  for (uint64_t block = 0; block < 3; ++block) {
    const Variable W = numbers({kChannels, kChannels, 3, 3}, 10 + block),
                   V = numbers({kChannels, kChannels, 1, 1}, 20 + block);
    leaves.insert(leaves.end(), {W, V});
    Variable shortcut = h;
    if (block == 0) shortcut = F::batch_normalization(F::convolution_2d(h, V), gamma, beta);
    h = F::convolution_2d(relu(F::convolution_2d(h, W, Variable(), {.pad = 1})), V);
    h = add_relu(h, shortcut);
  }
  const Variable loss = F::sum(h * h);
  h = Variable();
  Outcome outcome;
  outcome.bytes_for_backward = allocated_bytes() - before;
  loss.backward({.release_graph = true});
  for (const Variable& leaf : leaves) outcome.gradients.push_back(leaf.grad().to_vector<float>());
  return outcome;
}

}  // namespace

TEST_CASE("save_memory: the same gradients from fewer kept arrays") {
  for (const bool fixed : {false, true}) {
    CAPTURE(fixed);
    const auto same_bits = using_config(&Config::cudnn_deterministic, true);
    const Outcome kept = train_step(false, fixed), saved = train_step(true, fixed);
    CHECK(kept.gradients == saved.gradients);
#if !defined(__SANITIZE_ADDRESS__)  // whose builds do not use the pool that counts
    CHECK(saved.bytes_for_backward < kept.bytes_for_backward * 0.7);
#endif
  }
}
