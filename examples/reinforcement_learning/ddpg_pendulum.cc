// Learns to swing a pendulum up by DDPG (Lillicrap et al. 2016): actions that are numbers.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/reinforcement_learning/pendulum.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string env = choice("--env", {"Pendulum-v0"}, "Pendulum-v0", "Name of the environment");
  int64_t batch_size = count("-b,--batch-size", 64, "Number of transitions in each mini-batch");
  int64_t episodes = count("-e,--episodes", 1000, "Number of episodes to run");
  std::string device = device_flag();
  int64_t unit = count("-u,--unit", 100, "Number of units");
  double reward_scale = real("--reward-scale", 1e-3, "Reward scale factor");
  int64_t replay_start_size = count("--replay-start-size", 500, "Number of iterations after which replay is started");
  double tau = real("--tau", 1e-2, "Softness of soft target update (0, 1]", between(1e-9, 1.0));
  double noise_scale = real("--noise-scale", 0.4, "Scale of additive Gaussian noises");
  bool test = flag("--test", "Run 3 episodes for a quick test");
  int64_t seed = number("--seed", 0, "Seed of the random numbers; runs with the same one are the same");

  Arguments() {
    if (test) episodes = 3, replay_start_size = 20;
  }
};

// Q-function represented by a MLP
class QFunction : public Chain {
 public:
  explicit QFunction(int64_t n_units)
      : l0{*this, "l0", Pendulum::kObservationSize + 1, n_units},
        l1{*this, "l1", n_units, n_units},
        l2{*this, "l2", n_units, 1, {.initial_w = initializers::HeNormal(1e-3)}} {}

  // Q-values of pairs of observations (n, 3) and actions (n, 1)
  Variable operator()(const Variable& obs, const Variable& action) const {
    return l2(F::relu(l1(F::relu(l0(F::concat({obs, action}))))));
  }

 private:
  Child<L::Linear> l0, l1, l2;
};

// Policy represented by a MLP
class Policy : public Chain {
 public:
  explicit Policy(int64_t n_units)
      : l0{*this, "l0", Pendulum::kObservationSize, n_units},
        l1{*this, "l1", n_units, n_units},
        l2{*this, "l2", n_units, 1, {.initial_w = initializers::HeNormal(1e-3)}} {}

  // Actions for observations, squashed to what the motor can do
  Variable operator()(const Variable& obs) const {
    return F::tanh(l2(F::relu(l1(F::relu(l0(obs)))))) * Pendulum::kMaxTorque;
  }

 private:
  Child<L::Linear> l0, l1, l2;
};

struct Transition {
  Pendulum::Observation obs;
  float action, reward;
  Pendulum::Observation next_obs;
};

double get_action(const Policy& policy, const Pendulum::Observation& obs) {
  const auto no_graph = no_backprop_mode();
  return policy(array<float>(obs, {1, Pendulum::kObservationSize}, policy.device())).item<double>();
}

// Brings the parameters of a link a little nearer to those of another.
void soft_copy_params(Link& source, Link& target, double tau) {
  const auto from = source.params();
  const auto to = target.params();
  for (size_t i = 0; i < to.size(); ++i) {
    to[i]->array().copy_from(to[i]->array() * (1 - tau) + from[i]->array() * tau);
  }
}

void run(const Arguments& args) {
  random::seed(static_cast<uint64_t>(args.seed));
  datasets::ExampleRandom draw(static_cast<uint64_t>(args.seed));  // of samples and noise
  const auto device = get_device(args.device);
  std::printf("Device: %s\n", device.name().c_str());
  std::printf(
      "%s is an unsolved environment, which means it does not have a specified reward threshold at which it's "
      "considered solved.\n",
      args.env.c_str());

  Pendulum env(static_cast<uint64_t>(args.seed) + 1);
  QFunction q(args.unit);
  Policy policy(args.unit);
  q.to(device);
  policy.to(device);
  QFunction target_q = q;
  Policy target_policy = policy;
  optimizers::Adam q_optimizer, policy_optimizer({.alpha = 1e-4});
  q_optimizer.setup(q);
  policy_optimizer.setup(policy);

  // Learns from a few transitions of the past
  std::deque<Transition> replay;
  const auto update = [&] {
    std::vector<float> obs, action, reward, next_obs;
    for (int64_t i = 0; i < args.batch_size; ++i) {
      const Transition& t = replay[static_cast<size_t>(draw.integer(static_cast<int64_t>(replay.size())))];
      obs.insert(obs.end(), t.obs.begin(), t.obs.end());
      next_obs.insert(next_obs.end(), t.next_obs.begin(), t.next_obs.end());
      action.push_back(t.action);
      reward.push_back(t.reward);
    }
    const int64_t n = args.batch_size, width = Pendulum::kObservationSize;
    const Variable s = array(obs, {n, width}, device), next = array(next_obs, {n, width}, device);
    const Variable a = array(action, {n, 1}, device), r = array(reward, {n, 1}, device);

    // Target values: r + gamma * Q(s', policy(s')). An episode that is over goes on in the pendulum.
    const Variable target = [&] {
      const auto no_graph = no_backprop_mode();
      return r + 0.99 * target_q(next, target_policy(next));
    }();
    q_optimizer.update([&] { return F::mean_squared_error(q(s, a), target); });
    // Maximize Q(s, policy(s))
    policy_optimizer.update([&] { return -F::mean(q(s, policy(s))); });
    soft_copy_params(q, target_q, args.tau);
    soft_copy_params(policy, target_policy, args.tau);
  };

  std::deque<double> returns;  // of the last 100 episodes
  int64_t iteration = 0;
  for (int64_t episode = 0; episode < args.episodes; ++episode) {
    auto obs = env.reset();
    double episode_return = 0;
    for (int64_t step = 0; step < Pendulum::kMaxSteps; ++step, ++iteration) {
      // Select an action with additive noises for exploration, and execute it
      const double action = get_action(policy, obs) + args.noise_scale * draw.normal();
      const auto outcome = env.step(action);
      episode_return += outcome.reward;

      // Store a transition, and replay some
      replay.push_back({obs, static_cast<float>(action), static_cast<float>(outcome.reward * args.reward_scale),
                        outcome.observation});
      if (replay.size() > 1'000'000) replay.pop_front();
      obs = outcome.observation;
      if (static_cast<int64_t>(replay.size()) >= args.replay_start_size) update();
    }
    returns.push_back(episode_return);
    if (returns.size() > 100) returns.pop_front();
    const double average = std::accumulate(returns.begin(), returns.end(), 0.0) / static_cast<double>(returns.size());
    std::cout << "episode: " << episode << " iteration: " << iteration << " R:" << episode_return
              << " average_R:" << average << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: DDPG", run); }
