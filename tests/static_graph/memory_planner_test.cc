#include "kusari/framework/static_graph/memory_planner.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/memory.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kusari.h"
#include "kusari/tests/static_graph/program_testing.h"
#include "kusari/tests/static_graph/traced_call.h"

namespace kusari::graphs {
namespace {

using kernels::Add;
using kernels::Neg;

constexpr size_t kAlignment = 64;

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

/// Whether no two blocks that are in use at one step share a byte, and all lie inside the arena where they may begin.
bool is_sound(const std::vector<Lifetime>& blocks, const Packing& packing, size_t alignment) {
  if (packing.offsets.size() != blocks.size()) return false;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].bytes == 0) continue;
    if (packing.offsets[i] % alignment != 0 || packing.offsets[i] + blocks[i].bytes > packing.bytes) return false;
    for (size_t j = 0; j < i; ++j) {
      if (blocks[j].bytes > 0 && meet(blocks[i], blocks[j]) &&
          packing.offsets[i] < packing.offsets[j] + blocks[j].bytes &&
          packing.offsets[j] < packing.offsets[i] + blocks[i].bytes) {
        return false;
      }
    }
  }
  return true;
}

double excess(const Packing& packing) {
  return static_cast<double>(packing.bytes) / static_cast<double>(packing.lower_bound);
}

/// The smallest arena there is: some order in which each block is put as low as it goes leads to it.
size_t smallest_arena(const std::vector<Lifetime>& blocks) {
  std::vector<size_t> order(blocks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  size_t smallest = std::numeric_limits<size_t>::max();
  do {
    std::vector<size_t> offsets(blocks.size());
    size_t bytes = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const Lifetime& block = blocks[order[i]];
      size_t offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t j = 0; j < i; ++j) {
          const Lifetime& other = blocks[order[j]];
          if (meet(block, other) && offset < offsets[order[j]] + other.bytes &&
              offsets[order[j]] < offset + block.bytes) {
            offset = offsets[order[j]] + other.bytes;
            moved = true;
          }
        }
      }
      offsets[order[i]] = offset;
      bytes = std::max(bytes, offset + block.bytes);
    }
    smallest = std::min(smallest, bytes);
  } while (std::ranges::next_permutation(order).found);
  return smallest;
}

std::vector<Lifetime> random_blocks(std::mt19937& random, int count, int steps, int longest, size_t largest) {
  std::vector<Lifetime> blocks;
  for (int i = 0; i < count; ++i) {
    const int first = static_cast<int>(random() % static_cast<unsigned>(steps));
    const int last = std::min(steps - 1, first + static_cast<int>(random() % static_cast<unsigned>(longest)));
    blocks.push_back({(1 + random() % largest) * kAlignment, first, last});
  }
  return blocks;
}

TEST_CASE("pack: nothing, one block, blocks without bytes or steps") {
  CHECK(pack({}, kAlignment).bytes == 0);
  const std::vector<Lifetime> blocks{{0, 0, 9}, {100, 3, 3}, {50, 5, 4}};
  const Packing packing = pack(blocks, kAlignment);
  CHECK(packing.bytes == 128);
  CHECK(packing.lower_bound == 100);
  CHECK(packing.offsets == std::vector<size_t>{0, 0, 0});
}

TEST_CASE("pack: blocks that meet at one step do not share bytes, others do") {
  const std::vector<Lifetime> blocks{{64, 0, 1}, {64, 1, 2}, {64, 2, 3}, {64, 3, 4}};
  const Packing packing = pack(blocks, kAlignment);
  CHECK(is_sound(blocks, packing, kAlignment));
  CHECK(packing.bytes == 128);
  CHECK(packing.lower_bound == 128);
  const std::vector<Lifetime> one_after_the_other{{64, 0, 1}, {64, 2, 2}, {64, 3, 9}};
  CHECK(pack(one_after_the_other, kAlignment).bytes == 64);
}

TEST_CASE("pack respects the alignment") {
  std::mt19937 random(3);
  for (const size_t alignment : {size_t{1}, size_t{64}, size_t{512}}) {
    for (int n = 0; n < 50; ++n) {
      std::vector<Lifetime> blocks = random_blocks(random, 20, 20, 10, 100);
      for (Lifetime& block : blocks) block.bytes -= random() % 64;
      const Packing packing = pack(blocks, alignment);
      CHECK(is_sound(blocks, packing, alignment));
      CHECK(packing.lower_bound == largest_live_bytes(blocks));
    }
  }
}

TEST_CASE("pack finds the smallest arena of a few blocks, with few exceptions") {
  std::mt19937 random(1);
  int smallest = 0;
  for (int n = 0; n < 300; ++n) {
    const std::vector<Lifetime> blocks = random_blocks(random, 7, 8, 6, 10);
    const Packing packing = pack(blocks, kAlignment);
    CHECK(is_sound(blocks, packing, kAlignment));
    smallest += packing.bytes == smallest_arena(blocks);
  }
  CHECK(smallest >= 297);
}

TEST_CASE("pack: thousands of random sets of lifetimes") {
  std::mt19937 random(2);
  int count = 0, within = 0;
  double worst = 1;
  for (int n = 0; n < 3000; ++n) {
    const int blocks_count = 1 + static_cast<int>(random() % 60);
    const int steps = 1 + static_cast<int>(random() % 60);
    const int longest = 1 + static_cast<int>(random() % 60);
    const std::vector<Lifetime> blocks = random_blocks(random, blocks_count, steps, longest, 1 + random() % 1000);
    const Packing packing = pack(blocks, kAlignment);
    REQUIRE(is_sound(blocks, packing, kAlignment));
    REQUIRE(packing.bytes >= packing.lower_bound);
    ++count;
    within += excess(packing) <= 1.05;
    worst = std::max(worst, excess(packing));
  }
  CHECK(within >= count * 99 / 100);
  CHECK(worst < 1.2);  // there may be nothing better: three blocks can need more than any two of them together
}

TEST_CASE("pack: lives nested like those of a training step") {
  std::mt19937 random(4);
  for (const int layers : {1, 10, 100, 400}) {
    std::vector<Lifetime> blocks;
    for (int i = 0; i < layers; ++i) {
      const int back = 2 * layers - 1 - i;
      const size_t bytes = (1 + random() % 1000) * (random() % 4 == 0 ? 8 * kAlignment : kAlignment);
      blocks.push_back({bytes, i, back});                                   // kept for the backward pass
      blocks.push_back({bytes, back, std::min(back + 1, 2 * layers - 1)});  // its gradient
      blocks.push_back({(1 + random() % 2000) * kAlignment, i, i});
      blocks.push_back({(1 + random() % 500) * kAlignment, back, back});
    }
    const Packing packing = pack(blocks, kAlignment);
    CHECK(is_sound(blocks, packing, kAlignment));
    CHECK(excess(packing) <= 1.02);
  }
}

TEST_CASE("pack gives the same blocks the same places") {
  std::mt19937 random(5);
  const std::vector<Lifetime> blocks = random_blocks(random, 200, 200, 50, 100);
  CHECK(pack(blocks, kAlignment).offsets == pack(blocks, kAlignment).offsets);
}

TEST_CASE("lifetimes: from the first use to the last, for what the arena holds") {
  ProgramBuilder b;
  const View x = b.input({4}), w = b.leaf({4}), running = b.external({4}), y = b.result({4});
  const View c = b.array(Slot::Kind::constant, {4});
  const View shown = b.array(Slot::Kind::intermediate, {4}, Dtype::float32, Export::arena);
  const View untouched = b.array(Slot::Kind::intermediate, {8}, Dtype::float32, Export::arena);
  const View unused = b.temporary({4}), halves = b.temporary({8});
  View half = halves;
  half.shape = {4};
  b.phase = Phase::constant;
  b.pointwise_to(c, Neg{}, w);  // 0
  b.phase = Phase::forward;
  const View a = b.pointwise(Add{}, x, c);  // 1
  b.pointwise_to(half, Neg{}, a);           // 2
  half.offset = 16;
  b.pointwise_to(half, Neg{}, x);   // 3
  b.pointwise_to(y, Neg{}, a);      // 4
  b.code([] {});                    // 5
  b.pointwise_to(shown, Neg{}, x);  // 6
  b.phase = Phase::backward;
  b.pointwise_to(running, Add{}, running, x);     // 7
  b.pointwise_to(half, Add{}, half, x);           // 8, in place
  b.pointwise_to(running, Add{}, running, half);  // 9
  b.pointwise_to(running, Add{}, running, x);     // 10
  const std::vector<Lifetime> lives = lifetimes(b.program);
  REQUIRE(lives.size() == b.program.slots.size());
  for (const View& view : {x, w, running, y, c, unused}) CHECK(lives[static_cast<size_t>(view.slot)].bytes == 0);
  const auto check = [&](const View& view, size_t bytes, int32_t first, int32_t last) {
    const Lifetime& life = lives[static_cast<size_t>(view.slot)];
    CHECK(life.bytes == bytes);
    CHECK(life.first == first);
    CHECK(life.last == last);
  };
  check(a, 16, 1, 4);
  check(halves, 32, 2, 9);
  check(shown, 16, 6, 10);
  check(untouched, 32, 0, 10);
}

/// Records the call, and compares what its arena needs with what define-by-run holds at its peak.
void check_arena(const Callable& call, const std::vector<Variable>& inputs) {
  const auto define_by_run = [&] {
    Variable loss = call(inputs)[0];
    loss.backward();
  };
  define_by_run();  // whatever is made once
  memory::reset_max_allocated();
  const int64_t before = memory::statistics().allocated;
  define_by_run();
  const auto held = static_cast<size_t>(memory::statistics().max_allocated - before);

  const TracedCall recorded(call, inputs);
  const std::vector<Lifetime> lives = lifetimes(recorded.recording.program);
  const Packing packing = pack(lives, kAlignment);
  CAPTURE(packing.lower_bound);
  CAPTURE(packing.bytes);
  CAPTURE(recorded.recording.program.steps.size());
  CHECK(is_sound(lives, packing, kAlignment));
  CHECK(excess(packing) <= 1.05);
  CHECK(packing.lower_bound <= held);
}

TEST_CASE("the arena of a ResNet-50's training step") {
  L::ResNet50 model({.n_classes = 10});
  check_arena([&](const std::vector<Variable>& x) { return Variables{F::softmax_cross_entropy(model(x[0]), x[1])}; },
              {Variable(ones({2, 3, 64, 64}), false), Variable(zeros({2}, Dtype::int32), false)});
}

TEST_CASE("the arena of an LSTM made of functions") {
  constexpr int64_t kUnits = 50, kBatch = 20, kSteps = 35;
  L::Linear in(100, 4 * kUnits), across(kUnits, 4 * kUnits, {.nobias = true});
  const auto call = [&](const std::vector<Variable>& x) {
    Variable c(zeros({kBatch, kUnits}), false), h = c, sum;
    for (int64_t step = 0; step < kSteps; ++step) {
      const Variables gates = F::split_axis(in(x[0]) + across(h), 4, 1);
      c = F::sigmoid(gates[1]) * c + F::sigmoid(gates[0]) * F::tanh(gates[2]);
      h = F::sigmoid(gates[3]) * F::tanh(c);
      const Variable loss = F::softmax_cross_entropy(h, x[1]);
      sum = step == 0 ? loss : sum + loss;
    }
    return Variables{sum};
  };
  check_arena(call, {Variable(ones({kBatch, 100}), false), Variable(zeros({kBatch}, Dtype::int32), false)});
}

TEST_CASE("the arenas of multilayer perceptrons") {
  for (const int64_t units : {100, 1000}) {
    L::Linear l1(784, units), l2(units, units), l3(units, 10);
    const auto call = [&](const std::vector<Variable>& x) {
      return Variables{F::softmax_cross_entropy(l3(F::relu(l2(F::relu(l1(x[0]))))), x[1])};
    };
    check_arena(call, {Variable(ones({100, 784}), false), Variable(zeros({100}, Dtype::int32), false)});
  }
}

}  // namespace
}  // namespace kusari::graphs
