// Learns to balance a pole by DQN (Mnih et al. 2015) or Double DQN (van Hasselt et al. 2016).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <numeric>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/reinforcement_learning/cart_pole.h"
#include "kusari/examples/reinforcement_learning/replay_buffer.h"

using namespace kusari;

namespace {

// Gym's two variants of the task: when an episode ends at the latest, and the average return of 100 episodes in a row
// that counts as a solution.
struct Task {
  int64_t max_steps;
  double threshold;
};
const std::map<std::string, Task> kTasks{{"CartPole-v0", {200, 195}}, {"CartPole-v1", {500, 475}}};

struct Arguments : Flags {
  std::string env =
      text("--env", "CartPole-v0", "CartPole-v0, of 200 steps at most, or CartPole-v1, of 500", key_of(kTasks));
  int64_t batch_size = count("-b,--batch-size", 64, "Number of transitions in each mini-batch");
  int64_t episodes = count("-e,--episodes", 1000, "Number of episodes to run");
  std::string device = device_flag();
  int64_t unit = count("-u,--unit", 100, "Number of units");
  std::string target_type = choice("--target-type", {"dqn", "double_dqn"}, "dqn", "Target type: dqn or double_dqn");
  double gamma = real("--gamma", 0.99, "Discount of rewards one step later");
  double reward_scale = real("--reward-scale", 1e-2, "Reward scale factor");
  int64_t replay_start_size = count("--replay-start-size", 500, "Number of iterations after which replay is started");
  int64_t iterations_to_decay_epsilon =
      count("--iterations-to-decay-epsilon", 5000, "Number of steps used to linearly decay epsilon");
  double min_epsilon = real("--min-epsilon", 0.01, "Minimum value of epsilon");
  int64_t target_update_freq = count("--target-update-freq", 100, "Frequency of target network update");
  bool test = flag("--test", "Run 5 episodes for a quick test");
  int64_t seed = number("--seed", 0, "Seed of the random numbers; runs with the same one are the same");

  Arguments() {
    if (test) episodes = 5, replay_start_size = 20;
  }
};

// Q-function represented by a MLP
class QFunction : public Chain {
 public:
  QFunction(int64_t obs_size, int64_t n_actions, int64_t n_units)
      : l0{*this, "l0", obs_size, n_units}, l1{*this, "l1", n_units, n_units}, l2{*this, "l2", n_units, n_actions} {}

  // Q-values of actions for given observations
  Variable operator()(const Variable& x) const { return l2(F::relu(l1(F::relu(l0(x))))); }

 private:
  Child<L::Linear> l0, l1, l2;
};

int64_t get_greedy_action(const QFunction& q, const CartPole::Observation& obs) {
  const auto no_graph = no_backprop_mode();
  const Variable x = array<float>(obs, {1, CartPole::kObservationSize}, q.device()).astype(get_dtype());
  return F::argmax(q(x)).item<int64_t>();
}

// Updates a Q-function with given transitions and a target Q-function.
void update(const QFunction& q, const QFunction& target_q, Optimizer& optimizer, const TransitionBatch& batch,
            const Arguments& args) {
  // Target values: r + gamma * max_b Q(s', b)
  const auto target = [&]() -> Variable {
    const auto no_graph = no_backprop_mode();
    const auto values = target_q(batch.next_obs);
    const auto next_q =
        args.target_type == "double_dqn" ? F::select_item(values, F::argmax(q(batch.next_obs), 1)) : F::max(values, 1);
    return batch.reward + args.gamma * (1 - batch.done) * next_q;
  }();
  optimizer.update([&] {
    // Predicted values: Q(s, a)
    const auto y = F::select_item(q(batch.obs), batch.action);
    return F::mean(F::huber_loss(y, target, 1.0, F::HuberReduce::no));
  });
}

// The probability of a random action, which decays linearly.
double epsilon_at(int64_t iteration, const Arguments& args) {
  const double progress = static_cast<double>(iteration) / static_cast<double>(args.iterations_to_decay_epsilon);
  return std::max(args.min_epsilon, 1.0 + progress * (args.min_epsilon - 1.0));
}

void run(const Arguments& args) {
  random::seed(static_cast<uint64_t>(args.seed));
  datasets::ExampleRandom random(static_cast<uint64_t>(args.seed));  // of actions and samples
  const auto device = get_device(args.device);
  std::printf("Device: %s\n", device.name().c_str());

  // Initialize an environment
  CartPole env(static_cast<uint64_t>(args.seed) + 1);
  const Task task = kTasks.at(args.env);
  std::printf("%s defines \"solving\" as getting average reward of %g over 100 consecutive trials.\n", args.env.c_str(),
              task.threshold);

  // Initialize variables
  ReplayBuffer replay(1'000'000);
  std::deque<double> returns;  // of the last 100 episodes
  int64_t iteration = 0;

  // Initialize a model and its optimizer
  QFunction q(CartPole::kObservationSize, CartPole::kActions, args.unit);
  q.to(device);
  QFunction target_q = q;
  optimizers::Adam optimizer({.eps = 1e-2});
  optimizer.setup(q);

  for (int64_t episode = 0; episode < args.episodes; ++episode) {
    auto obs = env.reset();
    bool done = false;
    double episode_return = 0;

    for (int64_t step = 0; !done && step < task.max_steps; ++step) {
      const bool is_replaying = static_cast<int64_t>(replay.size()) >= args.replay_start_size;

      // Select an action epsilon-greedily
      const bool is_random = !is_replaying || random.chance(epsilon_at(iteration, args));
      const int64_t action = is_random ? random.integer(CartPole::kActions) : get_greedy_action(q, obs);

      // Execute an action
      const auto outcome = env.step(action);
      done = outcome.done;
      episode_return += outcome.reward;

      // Store a transition
      replay.append({obs, static_cast<int32_t>(action), static_cast<float>(outcome.reward * args.reward_scale), done,
                     outcome.observation});
      obs = outcome.observation;

      // Sample a random minibatch of transitions and replay
      if (is_replaying) update(q, target_q, optimizer, replay.sample(args.batch_size, random, device), args);

      // Update the target network
      if (iteration % args.target_update_freq == 0) target_q = q;
      ++iteration;
    }

    returns.push_back(episode_return);
    if (returns.size() > 100) returns.pop_front();
    const double average = std::accumulate(returns.begin(), returns.end(), 0.0) / static_cast<double>(returns.size());
    std::printf("episode: %lld iteration: %lld R: %g average_R: %g\n", static_cast<long long>(episode),
                static_cast<long long>(iteration), episode_return, average);
    if (returns.size() == 100 && average >= task.threshold) {
      std::printf("Solved %s by getting average reward of %g >= %g over 100 consecutive episodes.\n", args.env.c_str(),
                  average, task.threshold);
      break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: DQN", run); }
