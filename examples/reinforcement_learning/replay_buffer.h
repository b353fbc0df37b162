#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/reinforcement_learning/cart_pole.h"

struct Transition {
  CartPole::Observation obs;
  int32_t action;
  float reward;
  bool done;
  CartPole::Observation next_obs;
};

// The columns of n transitions.
struct TransitionBatch {
  kusari::Variable obs;       // (n, 4)
  kusari::Variable action;    // (n), int32
  kusari::Variable reward;    // (n)
  kusari::Variable done;      // (n), 1 where the episode ended, otherwise 0
  kusari::Variable next_obs;  // (n, 4)
};

// The newest `capacity` transitions.
class ReplayBuffer {
 public:
  explicit ReplayBuffer(size_t capacity) : capacity_{capacity} {}

  size_t size() const { return transitions_.size(); }

  void append(const Transition& transition) {
    if (size() < capacity_) {
      transitions_.push_back(transition);
    } else {
      transitions_[oldest_] = transition;
      oldest_ = (oldest_ + 1) % capacity_;
    }
  }

  // `n` of them, each drawn from all.
  TransitionBatch sample(int64_t n, kusari::datasets::ExampleRandom& random, const kusari::Device& device) const {
    std::vector<float> obs, reward, done, next_obs;
    std::vector<int32_t> action;
    for (int64_t i = 0; i < n; ++i) {
      const auto& t = transitions_[static_cast<size_t>(random.integer(static_cast<int64_t>(size())))];
      obs.insert(obs.end(), t.obs.begin(), t.obs.end());
      action.push_back(t.action);
      reward.push_back(t.reward);
      done.push_back(t.done ? 1.f : 0.f);
      next_obs.insert(next_obs.end(), t.next_obs.begin(), t.next_obs.end());
    }
    const auto numbers = [&](const std::vector<float>& values, const kusari::Shape& shape) {
      return kusari::array(values, shape, device).astype(kusari::get_dtype());
    };
    const int64_t width = CartPole::kObservationSize;
    return {numbers(obs, {n, width}), kusari::array(action, {n}, device), numbers(reward, {n}), numbers(done, {n}),
            numbers(next_obs, {n, width})};
  }

 private:
  size_t capacity_;
  size_t oldest_ = 0;
  std::vector<Transition> transitions_;
};
