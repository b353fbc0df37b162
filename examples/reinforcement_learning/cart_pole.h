#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include <kusari/kusari.h>

// A pole that is to be balanced on a cart by pushing the cart to the left or to the right. Barto, Sutton and Anderson
// 1983, with the constants, the Euler steps and the rewards of OpenAI Gym's CartPole (gym/envs/classic_control/
// cartpole.py).
class CartPole {
 public:
  // Position (m) and velocity (m/s) of the cart, angle from upright (rad) and angular velocity (rad/s) of the pole.
  using Observation = std::array<float, 4>;
  static constexpr int64_t kObservationSize = 4;
  static constexpr int64_t kActions = 2;  // 0 pushes to the left, 1 to the right

  struct Outcome {
    Observation observation;
    double reward;
    bool done;  // the pole fell or the cart left the track
  };

  explicit CartPole(uint64_t seed) : random_(seed) {}

  // Begins an episode, almost upright.
  Observation reset() {
    for (double* const value : {&x_, &x_dot_, &theta_, &theta_dot_}) *value = random_.uniform(-0.05, 0.05);
    return observation();
  }

  Outcome step(int64_t action) {
    const double force = action == 1 ? kForce : -kForce;
    const double sine = std::sin(theta_), cosine = std::cos(theta_);
    const double push = (force + kPoleMass * kHalfLength * theta_dot_ * theta_dot_ * sine) / kTotalMass;
    const double theta_acc =
        (kGravity * sine - cosine * push) / (kHalfLength * (4.0 / 3.0 - kPoleMass * cosine * cosine / kTotalMass));
    const double x_acc = push - kPoleMass * kHalfLength * theta_acc * cosine / kTotalMass;
    x_ += kStep * x_dot_;
    x_dot_ += kStep * x_acc;
    theta_ += kStep * theta_dot_;
    theta_dot_ += kStep * theta_acc;
    return {observation(), 1.0, std::abs(x_) > kTrackEnd || std::abs(theta_) > kFallen};
  }

 private:
  static constexpr double kGravity = 9.8;                             // m/s^2
  static constexpr double kCartMass = 1.0, kPoleMass = 0.1;           // kg
  static constexpr double kTotalMass = kCartMass + kPoleMass;         // kg
  static constexpr double kHalfLength = 0.5;                          // of the pole, m
  static constexpr double kForce = 10.0;                              // N
  static constexpr double kStep = 0.02;                               // s
  static constexpr double kTrackEnd = 2.4;                            // m
  static constexpr double kFallen = 12.0 / 180.0 * std::numbers::pi;  // rad

  Observation observation() const {
    return {static_cast<float>(x_), static_cast<float>(x_dot_), static_cast<float>(theta_),
            static_cast<float>(theta_dot_)};
  }

  kusari::datasets::ExampleRandom random_;
  double x_ = 0, x_dot_ = 0, theta_ = 0, theta_dot_ = 0;
};
