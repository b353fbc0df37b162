#include "kusari/framework/static_graph/passes/fuse_gelu.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/static_graph/passes/constants.h"
#include "kusari/framework/static_graph/passes/dependencies.h"
#include "kusari/framework/static_graph/passes/pointwise_step.h"

namespace kusari::graphs {

namespace {

/// As files of float32 numbers have it.
bool is_number(double value, double expected) { return std::abs(value - expected) <= 1e-6 * expected; }

class Gelus {
 public:
  explicit Gelus(Program& program) : program_{program}, dependencies_{program}, is_dropped_(program.steps.size()) {}

  int run() {
    int count = 0;
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      steps_ = {static_cast<int32_t>(i)};
      const Step& inner = program_.steps[i];
      if (inner.phase != Phase::forward) continue;
      const bool is_erf = computes<kernels::Erf>(inner);
      if (!is_erf && !computes<kernels::Tanh>(inner)) continue;
      const std::optional<View> x = is_erf ? argument_of_erf(steps_[0]) : argument_of_tanh(steps_[0]);
      if (!x || !take_rest(*x)) continue;
      replace(*x, is_erf);
      ++count;
    }
    erase_steps(program_, is_dropped_);
    return count;
  }

 private:
  const Step& step(int32_t index) const { return program_.steps[static_cast<size_t>(index)]; }
  const View& input(int32_t index, size_t i = 1) const { return step(index).operands[i].views[0]; }
  const View& output(int32_t index) const { return step(index).operands.back().views[0]; }

  /// The step that makes v for `reader` alone, in the same order; -1 for none.
  int32_t maker_of(const View& v, int32_t reader) const {
    if (dependencies_.only_reader(v.slot) != reader) return -1;
    const int32_t maker = dependencies_.last_write_before(v.slot, reader);
    const Step& found = step(maker);
    return !found.is_code() && found.phase == Phase::forward && output(maker) == v ? maker : -1;
  }
  /// The only step that reads what `maker` makes; -1 for none.
  int32_t reader_of(int32_t maker) const {
    const int32_t reader = dependencies_.only_reader(output(maker).slot);
    return reader >= 0 && !step(reader).is_code() && step(reader).phase == Phase::forward ? reader : -1;
  }
  template <class Op>
  bool multiplies_by(int32_t index, double c) const {
    return index >= 0 && computes<Op>(step(index)) && is_number(step(index).params<Op>(0).c, c);
  }

  /// x of x / sqrt 2.
  std::optional<View> argument_of_erf(int32_t erf) {
    const int32_t scaled = maker_of(input(erf), erf);
    if (!multiplies_by<kernels::MulConst>(scaled, std::sqrt(0.5)) &&
        !multiplies_by<kernels::DivConst>(scaled, std::sqrt(2.0)))
      return std::nullopt;
    steps_.push_back(scaled);
    return input(scaled);
  }
  /// x of sqrt(2 / pi) (x + 0.044715 x^3).
  std::optional<View> argument_of_tanh(int32_t tanh) {
    const int32_t scaled = maker_of(input(tanh), tanh);
    if (!multiplies_by<kernels::MulConst>(scaled, 0.79788456080286536)) return std::nullopt;
    const int32_t sum = maker_of(input(scaled), scaled);
    if (sum < 0 || !computes<kernels::Add>(step(sum))) return std::nullopt;
    for (const size_t i : {1, 2}) {
      const int32_t part = maker_of(input(sum, i), sum);
      const View& x = input(sum, 3 - i);
      if (!multiplies_by<kernels::MulConst>(part, 0.044715)) continue;
      steps_.insert(steps_.end(), {scaled, sum, part});
      if (!take_cube(maker_of(input(part), part), x)) return std::nullopt;
      return x;
    }
    return std::nullopt;
  }
  bool take_cube(int32_t cube, const View& x) {
    if (cube < 0) return false;
    steps_.push_back(cube);
    if (computes<kernels::PowConst>(step(cube))) {
      return step(cube).params<kernels::PowConst>(0).exponent == 3 && input(cube) == x;
    }
    if (!computes<kernels::Mul>(step(cube))) return false;
    for (const size_t i : {1, 2}) {
      const int32_t square = maker_of(input(cube, i), cube);
      if (input(cube, 3 - i) != x || square < 0) continue;
      const bool is_square = (computes<kernels::Square>(step(square)) && input(square) == x) ||
                             (computes<kernels::Mul>(step(square)) && input(square, 1) == x && input(square, 2) == x);
      if (is_square) steps_.push_back(square);
      return is_square;
    }
    return false;
  }

  /// From the inner function: plus 1, times x and one half, in any order.
  bool take_rest(const View& x) {
    int32_t at = reader_of(steps_[0]);
    if (at < 0 || !computes<kernels::AddConst>(step(at)) || step(at).params<kernels::AddConst>(0).c != 1) return false;
    if (input(at) != output(steps_[0])) return false;
    bool is_halved = false, is_multiplied = false;
    while (!is_halved || !is_multiplied) {
      steps_.push_back(at);
      const int32_t next = reader_of(at);
      if (next < 0) return false;
      if (!is_halved && multiplies_by<kernels::MulConst>(next, 0.5) && input(next) == output(at)) {
        is_halved = true;
      } else if (!is_multiplied && computes<kernels::Mul>(step(next))) {
        const bool is_first = input(next, 1) == output(at);
        if (!is_first && input(next, 2) != output(at)) return false;
        const View& other = input(next, is_first ? 2 : 1);
        if (other != x) {
          const int32_t half = is_halved ? -1 : maker_of(other, next);
          if (!multiplies_by<kernels::MulConst>(half, 0.5) || input(half) != x) return false;
          is_halved = true;
          steps_.push_back(half);
        }
        is_multiplied = true;
      } else {
        return false;
      }
      at = next;
    }
    steps_.push_back(at);
    return output(at).shape == x.shape && output(at).dtype == x.dtype && x_stays(x, at);
  }
  /// Whether x is as it was when the first of the steps read it.
  bool x_stays(const View& x, int32_t last) const {
    for (const int32_t at : steps_) {
      if (dependencies_.is_written_between(x.slot, at, last)) return false;
    }
    return true;
  }

  void replace(const View& x, bool is_erf) {
    Step& last = program_.steps[static_cast<size_t>(steps_.back())];
    const std::vector<Operand> arrays = {operand_of(LaunchArgument::Kind::in, x), last.operands.back()};
    const Device device = last.device;
    last = is_erf ? make_step<kernels::Pointwise<kernels::Gelu>>(device, Phase::forward,
                                                                 {params_of(kernels::Gelu{}), arrays[0], arrays[1]})
                  : make_step<kernels::Pointwise<kernels::GeluTanh>>(
                        device, Phase::forward, {params_of(kernels::GeluTanh{}), arrays[0], arrays[1]});
    steps_.pop_back();
    for (const int32_t at : steps_) is_dropped_[static_cast<size_t>(at)] = true;
  }

  Program& program_;
  Dependencies dependencies_;  // of the program as it came
  std::vector<int32_t>
      steps_;  // of the function that is looked at; the first is erf or tanh, the last gives the result
  std::vector<bool> is_dropped_;
};

}  // namespace

int fuse_gelu(Program& program, PassLog& log) {
  if (!is_inference(program)) return 0;
  const int count = Gelus(program).run();
  if (count > 0) log.entries.push_back({"fuse_gelu", "made " + std::to_string(count) + " GELUs one kernel each"});
  return count;
}

}  // namespace kusari::graphs
