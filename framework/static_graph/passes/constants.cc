#include "kusari/framework/static_graph/passes/constants.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace kusari::graphs {

namespace {

using Kind = LaunchArgument::Kind;

class Constants {
 public:
  explicit Constants(Program& program) : program_{program}, dependencies_{program}, steps_(program.steps.size()) {}

  int run() {
    std::vector<State> states(program_.slots.size());
    for (size_t slot = 0; slot < states.size(); ++slot) {
      if (is_constant(program_, dependencies_, static_cast<SlotIndex>(slot))) states[slot] = State::constant;
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = program_.steps[i];
      if (step.phase != Phase::forward || !is_repeatable(program_, dependencies_, step)) continue;
      State result = State::sourceless;
      for_each_read(step, [&](const View& view) { result = std::min(result, states[index(view)]); });
      steps_[i] = result;
      for_each_write(step, [&](const View& view) { states[index(view)] = result; });
    }
    drop_sourceless();
    return move();
  }

 private:
  /// Of a slot, or of what a step computes. Sourceless: from nothing at all, like an array of zeros.
  enum class State : uint8_t { varying, constant, sourceless };

  static size_t index(const View& view) { return static_cast<size_t>(view.slot); }

  // To fill an array again costs less than memory that is never free, unless a constant needs it.
  void drop_sourceless() {
    std::vector<bool> is_needed(program_.slots.size());
    for (size_t i = steps_.size(); i-- > 0;) {
      const Step& step = program_.steps[i];
      if (steps_[i] == State::sourceless) {
        bool is_read = false;
        for_each_write(step, [&](const View& view) { is_read |= is_needed[index(view)]; });
        steps_[i] = is_read ? State::constant : State::varying;
      }
      if (steps_[i] == State::constant) for_each_read(step, [&](const View& view) { is_needed[index(view)] = true; });
    }
  }

  int move() {
    std::vector<Step> moved, others;
    for (size_t i = 0; i < steps_.size(); ++i) {
      Step& step = program_.steps[i];
      if (steps_[i] != State::constant) {
        (step.phase == Phase::constant ? moved : others).push_back(std::move(step));
        continue;
      }
      step.phase = Phase::constant;
      for_each_write(step, [&](const View& view) { program_.slots[index(view)].kind = Slot::Kind::constant; });
      moved.push_back(std::move(step));
    }
    const auto count = std::ranges::count(steps_, State::constant);
    program_.steps = std::move(moved);
    std::ranges::move(others, std::back_inserter(program_.steps));
    return static_cast<int>(count);
  }

  Program& program_;
  Dependencies dependencies_;
  std::vector<State> steps_;
};

}  // namespace

bool is_inference(const Program& program) {
  for (const Step& step : program.steps) {
    if (step.phase == Phase::backward) return false;
    bool writes_leaf = false;
    for_each_write(step, [&](const View& view) {
      writes_leaf |= program.slots[static_cast<size_t>(view.slot)].kind == Slot::Kind::leaf;
    });
    if (writes_leaf) return false;
  }
  return true;
}

bool is_constant(const Program& program, const Dependencies& dependencies, SlotIndex slot) {
  const Slot::Kind kind = program.slots[static_cast<size_t>(slot)].kind;
  if (kind == Slot::Kind::constant) return true;
  // static_code counts as a write of both.
  return (kind == Slot::Kind::leaf || kind == Slot::Kind::external) && dependencies.count_writes(slot) == 0;
}

int constants(Program& program, PassLog& log) {
  if (!is_inference(program)) return 0;
  const int moved = Constants(program).run();
  if (moved > 0) {
    log.entries.push_back(
        {"constants", "left " + std::to_string(moved) + " that depend on parameters alone to when these change"});
  }
  return moved;
}

}  // namespace kusari::graphs
