#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/wavenet/net.h"

// Computes the scores of one sample after another: each block keeps what it has seen last, as much as its dilation, so
// that a sample costs what one place of a whole sound costs.
class Player {
 public:
  // spectrum: (1, bands, frames), of `hop` samples each.
  Player(const WaveNet& net, const kusari::Variable& spectrum, int64_t hop) : net_{net}, hop_{hop} {
    using namespace kusari;
    const Variable c = net.encode(spectrum);
    for (const ResidualBlock& block : net.blocks) {
      known_.push_back(block.condition(c));
      const Variable nothing(zeros({1, c.shape(1), 1}, c.dtype(), c.device()), false);
      seen_.emplace_back(static_cast<size_t>(block.dilation()), nothing);
    }
  }

  // Scores of what follows, (a_channels), given the next sample.
  kusari::Variable operator()(int32_t level) {
    using namespace kusari;
    const Variable x(array<int32_t>({level}, {1, 1}).to_device(net_.device()), false);
    const int64_t frame = place_++ / hop_;
    Variable h = net_.embedded(x), sum;
    for (size_t i = 0; i < seen_.size(); ++i) {
      const Variable known = F::get_item(known_[i], {kEllipsis, Slice{frame, frame + 1}});
      const auto [on, out] = net_.blocks[i].step(h, seen_[i].front(), known);
      seen_[i].pop_front();
      seen_[i].push_back(h);
      h = on;
      sum = sum.is_defined() ? sum + out : out;
    }
    return F::flatten(net_.scores(sum));
  }

 private:
  const WaveNet& net_;
  int64_t hop_, place_ = 0;
  std::vector<kusari::Variable> known_;             // of each block: what the spectrum says
  std::vector<std::deque<kusari::Variable>> seen_;  // of each block: what it needs later, the oldest first
};
