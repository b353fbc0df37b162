#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include <kusari/kusari.h>

// A pendulum that is to be swung up and held upright by a motor too weak to lift it at once: the constants, the steps
// and the costs of OpenAI Gym's Pendulum-v0 (gym/envs/classic_control/pendulum.py).
class Pendulum {
 public:
  // Cosine and sine of the angle from upright, and the angular velocity (rad/s).
  using Observation = std::array<float, 3>;
  static constexpr int64_t kObservationSize = 3;
  static constexpr double kMaxTorque = 2;  // N m, either way
  static constexpr int64_t kMaxSteps = 200;

  struct Outcome {
    Observation observation;
    double reward;
  };

  explicit Pendulum(uint64_t seed) : random_(seed) {}

  // Begins an episode, at any angle.
  Observation reset() {
    theta_ = random_.uniform(-std::numbers::pi, std::numbers::pi);
    theta_dot_ = random_.uniform(-1, 1);
    return observation();
  }

  Outcome step(double torque) {
    const double u = std::clamp(torque, -kMaxTorque, kMaxTorque);
    const double angle = std::remainder(theta_, 2 * std::numbers::pi);
    const double cost = angle * angle + 0.1 * theta_dot_ * theta_dot_ + 0.001 * u * u;
    const double acceleration = 3 * kGravity / (2 * kLength) * std::sin(theta_) + 3 / (kMass * kLength * kLength) * u;
    theta_dot_ = std::clamp(theta_dot_ + acceleration * kStep, -kMaxSpeed, kMaxSpeed);
    theta_ += theta_dot_ * kStep;
    return {observation(), -cost};
  }

 private:
  static constexpr double kGravity = 10;           // m/s^2
  static constexpr double kMass = 1, kLength = 1;  // kg, m
  static constexpr double kStep = 0.05;            // s
  static constexpr double kMaxSpeed = 8;           // rad/s

  Observation observation() const {
    return {static_cast<float>(std::cos(theta_)), static_cast<float>(std::sin(theta_)), static_cast<float>(theta_dot_)};
  }

  kusari::datasets::ExampleRandom random_;
  double theta_ = 0, theta_dot_ = 0;
};
